#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "server/batch/stack.h"
#include "server/config/model_config.h"

namespace frazil::server {

/// The layout of batches for a model: how inputs of requests are joined and results split. The batch axis of each port
/// is the one whose extent is a common free symbol. Immutable.
class BatchPlan {
 public:
  struct ModelView {
    const std::string& model;  ///< the model's name
    const std::vector<api::Port>&inputs, &outputs;
    const ModelConfig& config;
  };
  /// Returns the candidate symbols for the batch: that of the configured axis, or those of an input that all outputs
  /// have. Throws api::Error (bad_input) if there is none.
  static std::vector<std::string> symbols(const ModelView& of);

  /// Throws api::Error (bad_input) that names the input or output which the configuration does not fit.
  BatchPlan(const ModelView& of, const std::string& symbol);

  /// The compatibility key of a request and its size.
  struct Shape {
    std::string key;          ///< equal for requests that can run together
    std::int64_t count = 0;   ///< along the batch axis
    std::int64_t length = 0;  ///< along the padded axis; 0 without one
  };
  /// Returns nullopt for a request that has to run alone, including an invalid one.
  std::optional<Shape> shape_of(std::span<const api::Array> inputs) const;

  /// Returns the batch axis of an input or output, or nullopt if all requests share the value.
  std::optional<std::size_t> axis_of_input(std::size_t i) const { return batch_of(inputs_[i]); }
  std::optional<std::size_t> axis_of_output(std::size_t i) const { return batch_of(outputs_[i]); }

  /// Joins the inputs of requests with equal keys into the inputs of one run.
  std::vector<api::Array> join(const std::vector<std::span<const api::Array>>& requests,
                               std::span<const Shape> shapes) const;
  /// Returns the inputs of a run of one request.
  std::vector<api::Array> alone(std::span<const api::Array> request, const Shape& shape) const {
    return join({request}, {&shape, 1});
  }
  /// Returns a request of zeros with this shape that can be joined with `request`, whose shared values it has.
  std::vector<api::Array> mate(std::span<const api::Array> request, const Shape& shape) const;
  /// Returns the results of each request of a run. Throws api::Error if an output does not have the required extents.
  std::vector<std::vector<api::Array>> split(std::span<const api::Array> results, std::span<const Shape> shapes) const;

  /// Returns inputs for a test of the plan. The extent is `count` along the batch, `length` along padded axes and
  /// `other` along other free axes. Floats are random, integers 0 or 1.
  std::vector<api::Array> sample(std::int64_t count, std::int64_t length, std::int64_t other, unsigned seed) const;

 private:
  using Axes = std::optional<StackAxes>;  ///< nullopt: all requests share the value
  static std::optional<std::size_t> batch_of(const Axes& axes) {
    return axes ? std::optional(axes->batch) : std::nullopt;
  }
  void pad(const ModelView& of, const Padding& padding);
  void set_lengths(const ModelView& of, const std::string& symbol);
  api::Array lengths_of(std::span<const Shape> shapes) const;
  std::vector<api::Array> slice(std::span<const api::Array> results, std::int64_t begin, const Shape& shape,
                                std::int64_t longest) const;
  bool append_key(std::string& key, const api::Array& value, std::size_t input) const;

  std::vector<Axes> inputs_, outputs_;
  std::vector<api::Port> ports_;
  std::vector<std::string> output_names_;
  std::optional<std::size_t> lengths_;  ///< index of the input that receives lengths
};

}  // namespace frazil::server
