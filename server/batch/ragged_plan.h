#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/batch/batch_plan.h"

namespace frazil::server {

/// The layout of joined requests of different lengths for Model::ragged(): the rows of all requests one after the
/// other, without padding. Immutable.
class RaggedPlan {
 public:
  /// Returns the plan if the configuration pads axes of one extent, which all outputs have, and the model neither
  /// receives lengths nor keeps states; nullopt otherwise.
  static std::optional<RaggedPlan> of(const BatchPlan::ModelView& of);

  /// The extent that is the length of a request.
  const std::string& extent() const { return extent_; }
  /// Returns the key and the length of a request, whose count is 1; nullopt if it has to run alone.
  std::optional<BatchPlan::Shape> shape_of(std::span<const api::Array> inputs) const;
  /// Joins the inputs of requests with equal keys into the inputs of one run of the ragged model.
  std::vector<api::Array> join(const std::vector<std::span<const api::Array>>& requests,
                               std::span<const BatchPlan::Shape> shapes) const;
  /// Returns the results of each request. Throws api::Error if an output does not have the required extents.
  std::vector<std::vector<api::Array>> split(std::span<const api::Array> results,
                                             std::span<const BatchPlan::Shape> shapes) const;
  /// As BatchPlan::mate().
  std::vector<api::Array> mate(std::span<const api::Array> request, const BatchPlan::Shape& shape) const {
    return rows_.mate(request, {.key = "", .count = shape.length, .length = 0});
  }
  /// Returns the inputs of a run of one request, for the model itself.
  static std::vector<api::Array> alone(std::span<const api::Array> request, const BatchPlan::Shape&) {
    return {request.begin(), request.end()};
  }
  /// Returns inputs for a test of the plan, as BatchPlan::sample(). Extents other than the length are `other`.
  std::vector<api::Array> sample(std::int64_t, std::int64_t length, std::int64_t other, unsigned seed) const {
    return rows_.sample(length, 0, other, seed);
  }

 private:
  RaggedPlan(BatchPlan rows, std::string extent) : rows_(std::move(rows)), extent_(std::move(extent)) {}

  BatchPlan rows_;  ///< joins and splits rows
  std::string extent_;
};

}  // namespace frazil::server
