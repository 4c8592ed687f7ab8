#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <frazil/model.h>

#include "server/model_config.h"

// States that get longer from turn to turn, as the keys and values that a model of sequences attends to.
namespace frazil::server {

struct Growth {
  std::size_t value = 0;  ///< which state
  std::size_t axis = 0;   ///< along which it gets longer
  std::size_t group = 0;  ///< states of one group have equal lengths, for the model's inputs name them alike
};
using Growing = std::vector<Growth>;

/// The states that grow: those whose axis is configured, and those whose output has, along one axis, the input's symbol
/// and something added to it. They are tensors of the model's ports.
Growing growing_states(const std::vector<StateLink>& links, const std::vector<api::Port>& inputs,
                       const std::vector<api::Port>& outputs);

}  // namespace frazil::server
