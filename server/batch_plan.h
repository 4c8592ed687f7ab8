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

/// How requests for a model are joined and their results parted: the axes of its inputs and outputs whose extent is
/// the same free symbol are the batch. Immutable.
class BatchPlan {
 public:
  struct Of {
    const std::string& model;  ///< its name
    const std::vector<api::Port>&inputs, &outputs;
    const ModelConfig& config;
  };
  /// The symbols that may be the batch: the one of the configured axis, or those that an input and all outputs have.
  /// Throws api::Error (bad_input) where there is none.
  static std::vector<std::string> symbols(const Of& of);

  /// Throws api::Error (bad_input) that names the model's input or output which does not allow what the configuration
  /// asks for.
  BatchPlan(const Of& of, const std::string& symbol);

  /// What must agree for requests to run together, and how large they are.
  struct Shape {
    std::string key;          ///< of equal requests equal
    std::int64_t count = 0;   ///< along the batch axis
    std::int64_t length = 0;  ///< along the padded axis; 0 without one
  };
  /// Nothing for a request that has to run alone, also because it will be refused.
  std::optional<Shape> shape_of(std::span<const api::Array> inputs) const;

  /// The batch axis; nothing: all requests share the value.
  std::optional<std::size_t> axis_of_input(std::size_t i) const { return batch_of(inputs_[i]); }
  std::optional<std::size_t> axis_of_output(std::size_t i) const { return batch_of(outputs_[i]); }

  /// The inputs of requests of one key as those of one run.
  std::vector<api::Array> join(const std::vector<std::span<const api::Array>>& requests,
                               std::span<const Shape> shapes) const;
  /// The results of the request at `begin` along the batch axis. `longest`: the length that all were filled up to.
  /// Throws api::Error where an output does not have the extents that this needs.
  std::vector<api::Array> part(std::span<const api::Array> results, std::int64_t begin, const Shape& shape,
                               std::int64_t longest) const;

  /// Inputs for trying the plan out: `count` along the batch, `length` along padded axes, `other` along other free
  /// ones. Floats are random, other numbers 0 or 1.
  std::vector<api::Array> sample(std::int64_t count, std::int64_t length, std::int64_t other, unsigned seed) const;

 private:
  using Axes = std::optional<StackAxes>;  ///< nothing: all requests share the value
  static std::optional<std::size_t> batch_of(const Axes& axes) {
    return axes ? std::optional(axes->batch) : std::nullopt;
  }
  void pad(const Of& of, const Padding& padding);
  void set_lengths(const Of& of, const std::string& symbol);
  api::Array lengths_of(std::span<const Shape> shapes) const;
  bool append_key(std::string& key, const api::Array& value, std::size_t input) const;

  std::vector<Axes> inputs_, outputs_;
  std::vector<api::Port> ports_;
  std::vector<std::string> output_names_;
  std::optional<std::size_t> lengths_;  ///< the input that takes lengths
};

}  // namespace frazil::server
