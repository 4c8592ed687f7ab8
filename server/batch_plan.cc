#include "server/batch_plan.h"

#include <algorithm>
#include <charconv>

#include <frazil/error.h>

namespace frazil::server {
namespace {

using api::Array;
using api::Port;

constexpr std::size_t kMostSharedBytes = 256;  // of an input that all requests of a batch share

[[noreturn]] void refuse(const std::string& model, const std::string& why) {
  throw api::Error(api::Code::bad_input, "model '" + model + "': batching: " + why);
}

bool is_symbol(const std::string& dim) {
  return !dim.empty() &&
         std::ranges::none_of(dim, [](char c) { return c == ' ' || c == '*' || c == '+' || c == '-'; }) &&
         (dim.front() < '0' || dim.front() > '9');
}

std::optional<std::size_t> axis_of(const Port& port, const std::string& symbol) {
  const auto at = std::ranges::find(port.dims, symbol);
  if (at == port.dims.end()) return std::nullopt;
  return static_cast<std::size_t>(at - port.dims.begin());
}

/// The free extent that the first output begins with, or has somewhere, and that an input has, too.
std::string batch_symbol(const std::string& model, const std::vector<Port>& inputs, const std::vector<Port>& outputs) {
  if (!outputs.empty()) {
    for (const std::string& dim : outputs.front().dims) {
      const bool found =
          is_symbol(dim) && std::ranges::any_of(inputs, [&](const Port& p) { return axis_of(p, dim).has_value(); });
      if (found) return dim;
    }
  }
  refuse(model, "no free extent is common to an input and the first output; set max_batch_size to 0");
}

void expect_exact(const std::string& model, const Port& port, const std::string& symbol) {
  for (const std::string& dim : port.dims) {
    if (dim != symbol && !is_symbol(dim) && dim.find(symbol) != std::string::npos) {
      refuse(model, "output '" + port.name + "' has the extent " + dim + ", which cannot be cut back to a request's");
    }
  }
}

std::size_t position_of(const std::string& model, const std::vector<Port>& inputs, const std::string& name) {
  const auto at = std::ranges::find(inputs, name, &Port::name);
  if (at == inputs.end()) refuse(model, "there is no input '" + name + "'");
  return static_cast<std::size_t>(at - inputs.begin());
}

bool can_be_padded(api::Dtype dtype) {
  using enum api::Dtype;
  constexpr api::Dtype kTypes[] = {boolean, i8, i16, i32, i64, u8, f32, f64};
  return std::ranges::find(kTypes, dtype) != std::end(kTypes);
}

}  // namespace

BatchPlan::BatchPlan(const std::string& model, const std::vector<Port>& inputs, const std::vector<Port>& outputs,
                     const Batching& config)
    : ports_(inputs) {
  const std::string batch = batch_symbol(model, inputs, outputs);
  const auto axes_of = [&](const Port& port) -> Axes {
    const auto axis = port.kind == Array::Kind::tensor ? axis_of(port, batch) : std::nullopt;
    return axis ? Axes({.batch = *axis}) : std::nullopt;
  };
  std::ranges::transform(inputs, std::back_inserter(inputs_), axes_of);
  std::ranges::transform(outputs, std::back_inserter(outputs_), axes_of);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    expect_exact(model, outputs[i], batch);
    if (!outputs_[i]) refuse(model, "output '" + outputs[i].name + "' has no extent '" + batch + "'");
  }
  for (const Padding& padding : config.paddings) {
    const std::size_t i = position_of(model, inputs, padding.input);
    if (!inputs_[i] || padding.axis >= inputs[i].dims.size() || padding.axis == inputs_[i]->batch ||
        !is_symbol(inputs[i].dims[padding.axis])) {
      refuse(model,
             "input '" + padding.input + "' has no free extent at axis " + std::to_string(padding.axis) + " to pad");
    }
    if (!can_be_padded(inputs[i].dtype)) refuse(model, "input '" + padding.input + "': its type cannot be padded");
    inputs_[i]->padded = padding.axis;
    inputs_[i]->padding = padding.value;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      expect_exact(model, outputs[k], inputs[i].dims[padding.axis]);
      if (const auto axis = axis_of(outputs[k], inputs[i].dims[padding.axis])) outputs_[k]->padded = axis;
    }
  }
  if (config.lengths.empty()) return;
  lengths_ = position_of(model, inputs, config.lengths);
  const bool integers = inputs[*lengths_].dtype == api::Dtype::i32 || inputs[*lengths_].dtype == api::Dtype::i64;
  if (!integers || inputs[*lengths_].dims.size() != 1 || !inputs_[*lengths_]) {
    refuse(model, "input '" + config.lengths + "' cannot take lengths: expected i32 or i64 [" + batch + "]");
  }
}

bool BatchPlan::append_key(std::string& key, const Array& value, std::size_t input) const {
  const auto append = [&](std::int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  if (value.empty()) return append(-1), true;
  if (!value.is_tensor() || value.dtype() == api::Dtype::string) return false;
  const Port& port = ports_[input];
  if (value.dtype() != port.dtype || (port.ranked && value.sizes().size() != port.dims.size())) return false;
  for (std::size_t axis = 0; axis < value.sizes().size(); ++axis) {
    const bool free = inputs_[input] && (axis == inputs_[input]->batch || axis == inputs_[input]->padded);
    append(free ? -1 : value.sizes()[axis]);
  }
  if (inputs_[input]) return true;
  if (value.bytes() > kMostSharedBytes) return false;
  key.append(static_cast<const char*>(value.data()), value.bytes());
  return true;
}

std::optional<BatchPlan::Shape> BatchPlan::shape_of(std::span<const Array> inputs) const {
  Shape shape{.key = {}, .count = -1, .length = -1};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i == lengths_ && inputs[i].empty()) continue;
    if (!append_key(shape.key, inputs[i], i)) return std::nullopt;
    if (!inputs_[i] || inputs[i].empty()) continue;
    const std::int64_t count = inputs[i].sizes()[inputs_[i]->batch];
    if (count < 1 || (shape.count >= 0 && shape.count != count)) return std::nullopt;
    shape.count = count;
    if (!inputs_[i]->padded) continue;
    const std::int64_t length = inputs[i].sizes()[*inputs_[i]->padded];
    if (shape.length >= 0 && shape.length != length) return std::nullopt;
    shape.length = length;
  }
  if (shape.count < 0) return std::nullopt;
  shape.length = std::max<std::int64_t>(shape.length, 0);
  return shape;
}

std::vector<Array> BatchPlan::join(const std::vector<std::span<const Array>>& requests,
                                   std::span<const Shape> shapes) const {
  std::vector<Array> joined;
  std::vector<Array> parts(requests.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (i == lengths_ && requests.front()[i].empty()) {
      joined.push_back(lengths_of(shapes));
      continue;
    }
    if (!inputs_[i] || requests.front()[i].empty()) {
      joined.push_back(requests.front()[i]);
      continue;
    }
    std::ranges::transform(requests, parts.begin(), [&](std::span<const Array> r) { return r[i]; });
    joined.push_back(parts.size() == 1 ? parts.front() : stacked(parts, *inputs_[i]));
  }
  return joined;
}

Array BatchPlan::lengths_of(std::span<const Shape> shapes) const {
  std::int64_t count = 0;
  for (const Shape& shape : shapes) count += shape.count;
  Array lengths(ports_[*lengths_].dtype, {count});
  std::int64_t at = 0;
  for (const Shape& shape : shapes) {
    for (std::int64_t i = 0; i < shape.count; ++i, ++at) {
      const auto to = static_cast<std::size_t>(at);
      if (lengths.dtype() == api::Dtype::i64)
        lengths.mutable_values<std::int64_t>()[to] = shape.length;
      else
        lengths.mutable_values<std::int32_t>()[to] = static_cast<std::int32_t>(shape.length);
    }
  }
  return lengths;
}

std::vector<Array> BatchPlan::part(std::span<const Array> results, std::int64_t begin, const Shape& shape) const {
  std::vector<Array> parts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool tensor = results[i].is_tensor() && results[i].dtype() != api::Dtype::string;
    if (!tensor) throw api::Error(api::Code::unsupported, "a batch's results are no numbers");
    parts.push_back(part_of(results[i], *outputs_[i], begin, shape.count, shape.length));
  }
  return parts;
}

}  // namespace frazil::server
