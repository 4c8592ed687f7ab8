#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "server/model_config.h"
#include "server/stack.h"

namespace frazil::server {

/// How requests for a model are joined and their results parted: the axis of its inputs and outputs whose extent is
/// the same free symbol is the batch. Immutable.
class BatchPlan {
 public:
  /// Throws api::Error (bad_input) that names the model's input or output which does not allow what `config` asks for.
  BatchPlan(const std::string& model, const std::vector<api::Port>& inputs, const std::vector<api::Port>& outputs,
            const Batching& config);

  /// What must agree for requests to run together, and how large they are.
  struct Shape {
    std::string key;          ///< of equal requests equal
    std::int64_t count = 0;   ///< along the batch axis
    std::int64_t length = 0;  ///< along the padded axis; 0 without one
  };
  /// Nothing for a request that has to run alone, also because it will be refused.
  std::optional<Shape> shape_of(std::span<const api::Array> inputs) const;

  /// The inputs of requests of one key as those of one run.
  std::vector<api::Array> join(const std::vector<std::span<const api::Array>>& requests,
                               std::span<const Shape> shapes) const;
  /// The results of the request at `begin` along the batch axis.
  std::vector<api::Array> part(std::span<const api::Array> results, std::int64_t begin, const Shape& shape) const;

 private:
  using Axes = std::optional<StackAxes>;  ///< nothing: all requests share the value
  api::Array lengths_of(std::span<const Shape> shapes) const;
  bool append_key(std::string& key, const api::Array& value, std::size_t input) const;

  std::vector<Axes> inputs_, outputs_;
  std::vector<api::Port> ports_;
  std::optional<std::size_t> lengths_;  ///< the input that takes lengths
};

}  // namespace frazil::server
