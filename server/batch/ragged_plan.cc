#include "server/batch/ragged_plan.h"

#include <algorithm>
#include <utility>

#include <frazil/error.h>

#include "server/core/port.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Port;

/// Returns the extent of all padded axes; nullopt if they differ.
std::optional<std::string> padded_extent(const BatchPlan::ModelView& of) {
  std::optional<std::string> extent;
  for (const Padding& padding : of.config.batching.paddings) {
    const auto at = position_of(of.inputs, padding.input);
    if (!at || padding.axis >= of.inputs[*at].dims.size()) return std::nullopt;
    const std::string& dim = of.inputs[*at].dims[padding.axis];
    if (!is_symbol(dim) || (extent && *extent != dim)) return std::nullopt;
    extent = dim;
  }
  return extent;
}

bool has_extent(const Port& port, const std::string& extent) {
  return port.kind == Array::Kind::tensor && std::ranges::find(port.dims, extent) != port.dims.end();
}

}  // namespace

std::optional<RaggedPlan> RaggedPlan::of(const BatchPlan::ModelView& of) {
  const auto extent = padded_extent(of);
  const auto with_extent = [&](const Port& port) { return has_extent(port, *extent); };
  if (!extent || !of.config.batching.lengths.empty() || !of.config.sequences.states.empty()) return std::nullopt;
  if (!std::ranges::all_of(of.outputs, with_extent)) return std::nullopt;
  const ModelConfig plain;
  return RaggedPlan(
      BatchPlan({.model = of.model, .inputs = of.inputs, .outputs = of.outputs, .config = plain}, *extent), *extent);
}

std::optional<BatchPlan::Shape> RaggedPlan::shape_of(std::span<const Array> inputs) const {
  auto shape = rows_.shape_of(inputs);
  if (shape) shape->length = std::exchange(shape->count, 1);
  return shape;
}

std::vector<Array> RaggedPlan::join(const std::vector<std::span<const Array>>& requests,
                                    std::span<const BatchPlan::Shape> shapes) const {
  std::vector<Array> joined = rows_.join(requests, shapes);
  Array lengths(api::Dtype::i64, {static_cast<std::int64_t>(shapes.size())});
  std::ranges::transform(shapes, lengths.mutable_values<std::int64_t>().begin(), &BatchPlan::Shape::length);
  joined.push_back(std::move(lengths));
  return joined;
}

std::vector<std::vector<Array>> RaggedPlan::split(std::span<const Array> results,
                                                  std::span<const BatchPlan::Shape> shapes) const {
  std::vector<BatchPlan::Shape> rows(shapes.begin(), shapes.end());
  for (BatchPlan::Shape& shape : rows) shape.count = std::exchange(shape.length, 0);
  return rows_.split(results, rows);
}

}  // namespace frazil::server
