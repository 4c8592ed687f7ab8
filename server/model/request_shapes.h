#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "server/config/model_config.h"

namespace frazil::server {

/// The inputs and outputs of a model as declared in config.pbtxt. Thread-safe.
class RequestShapes {
 public:
  RequestShapes() = default;
  /// Throws api::Error (bad_input) that names the model and the input or output. Reasons are an unknown name, another
  /// datatype, rank or extent, and a batch axis that is constant in the model.
  RequestShapes(const std::string& model, const ModelConfig& config, const std::vector<api::Port>& inputs,
                const std::vector<api::Port>& outputs);

  /// Throws Refusal (bad_request) for inputs, by position, that differ from the declaration or have a larger batch.
  void check(std::span<const api::Array> inputs) const;

 private:
  struct Rule {
    std::size_t input;
    std::string name;
    api::Sizes extents;  ///< -1: any; extents after the last one are arbitrary
    bool batched;        ///< the first extent is a batch
  };
  void check(const Rule& rule, const api::Array& value) const;

  std::vector<Rule> rules_;
  std::uint64_t most_ = 0;  ///< largest batch
};

}  // namespace frazil::server
