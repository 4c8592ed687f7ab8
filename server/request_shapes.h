#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "server/model_config.h"

namespace frazil::server {

/// What config.pbtxt declares of a model's inputs and outputs. Thread-safe.
class RequestShapes {
 public:
  RequestShapes() = default;
  /// Throws api::Error (bad_input) that names the model and the input or output: for one that the model does not have,
  /// for another datatype, number of extents or extent, and for a batch axis that the model fixes.
  RequestShapes(const std::string& model, const ModelConfig& config, const std::vector<api::Port>& inputs,
                const std::vector<api::Port>& outputs);

  /// Throws Refusal (bad_request) for inputs, by position, that are not as declared, or of a larger batch.
  void check(std::span<const api::Array> inputs) const;

 private:
  struct Rule {
    std::size_t input;
    std::string name;
    api::Sizes extents;  ///< -1: any; shorter than the shape: further ones are any
    bool batched;        ///< the first extent is a batch
  };
  void check(const Rule& rule, const api::Array& value) const;

  std::vector<Rule> rules_;
  std::uint64_t most_ = 0;  ///< in a batch
};

}  // namespace frazil::server
