#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <frazil/model.h>

#include "server/config/model_config.h"

// States that grow from turn to turn, such as the keys and values of an attention model.
namespace frazil::server {

struct Growth {
  std::size_t value = 0;  ///< index of the state
  std::size_t axis = 0;   ///< the axis that grows
  std::size_t group = 0;  ///< states of one group have equal lengths, as the model's inputs use the same symbol
};
using Growing = std::vector<Growth>;

/// Returns the growing states: those with a configured axis, and those whose output extent is the input's symbol plus
/// something along one axis. The links must refer to tensors of the model's ports.
Growing growing_states(const std::vector<StateLink>& links, const std::vector<api::Port>& inputs,
                       const std::vector<api::Port>& outputs);

}  // namespace frazil::server
