#include "server/batch/batch_plan.h"

#include <algorithm>
#include <cctype>
#include <random>

#include <frazil/error.h>

#include "server/core/port.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Port;

constexpr std::size_t kMaxSharedBytes = 256;  // limit for an input that all requests of a batch share

[[noreturn]] void refuse_batching(const std::string& model, const std::string& why) {
  throw api::Error(api::Code::bad_input, "model '" + model + "': batching: " + why);
}

std::optional<std::size_t> axis_of(const Port& port, const std::string& symbol) {
  const auto at = std::ranges::find(port.dims, symbol);
  if (at == port.dims.end()) return std::nullopt;
  return static_cast<std::size_t>(at - port.dims.begin());
}

/// Returns true if an extent contains a symbol: "2*N + 1" contains N.
bool contains(const std::string& dim, const std::string& symbol) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  for (std::size_t at = 0; (at = dim.find(symbol, at)) != std::string::npos; ++at) {
    const std::size_t end = at + symbol.size();
    if ((at == 0 || !word(dim[at - 1])) && (end == dim.size() || !word(dim[end]))) return true;
  }
  return false;
}

/// Returns the axis that depends on a symbol, including extents that are formulas of it.
std::optional<std::size_t> axis_with(const Port& port, const std::string& symbol) {
  const auto at = std::ranges::find_if(port.dims, [&](const std::string& dim) { return contains(dim, symbol); });
  if (at == port.dims.end()) return std::nullopt;
  return static_cast<std::size_t>(at - port.dims.begin());
}

std::size_t input_index(const BatchPlan::ModelView& of, const std::string& name) {
  if (const auto at = position_of(of.inputs, name)) return *at;
  refuse_batching(of.model, "there is no input '" + name + "'");
}

}  // namespace

std::vector<std::string> BatchPlan::symbols(const ModelView& of) {
  if (const auto& axis = of.config.batching.batch_axis) {
    const Port& port = of.inputs[input_index(of, axis->first)];
    if (axis->second >= port.dims.size() || !is_symbol(port.dims[axis->second])) {
      refuse_batching(of.model, "input '" + port.name + "' has no free extent at axis " + std::to_string(axis->second));
    }
    return {port.dims[axis->second]};
  }
  std::vector<std::string> found;
  for (const Port& port : of.inputs) {
    for (const std::string& dim : port.dims) {
      const bool everywhere =
          std::ranges::all_of(of.outputs, [&](const Port& p) { return axis_of(p, dim).has_value(); });
      if (is_symbol(dim) && everywhere && std::ranges::find(found, dim) == found.end()) found.push_back(dim);
    }
  }
  if (found.empty())
    refuse_batching(of.model, "no free extent is common to an input and all outputs; set max_batch_size to 0");
  return found;
}

BatchPlan::BatchPlan(const ModelView& of, const std::string& symbol) : ports_(of.inputs) {
  const auto axes_of = [&](const Port& port) -> Axes {
    const auto axis = port.kind == Array::Kind::tensor ? axis_of(port, symbol) : std::nullopt;
    return axis ? Axes({.batch = *axis}) : std::nullopt;
  };
  std::ranges::transform(of.inputs, std::back_inserter(inputs_), axes_of);
  std::ranges::transform(of.outputs, std::back_inserter(outputs_), axes_of);
  std::ranges::transform(of.outputs, std::back_inserter(output_names_), &Port::name);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i]) refuse_batching(of.model, "output '" + of.outputs[i].name + "' has no extent '" + symbol + "'");
  }
  for (const StateLink& link : of.config.sequences.states) {  // the input has the axes of the output
    inputs_[input_index(of, link.input)] = outputs_[*position_of(of.outputs, link.output)];
  }
  for (const Padding& padding : of.config.batching.paddings) pad(of, padding);
  if (!of.config.batching.lengths.empty()) set_lengths(of, symbol);
}

void BatchPlan::pad(const ModelView& of, const Padding& padding) {
  const std::size_t i = input_index(of, padding.input);
  const Port& port = of.inputs[i];
  const bool free = padding.axis < port.dims.size() && is_symbol(port.dims[padding.axis]);
  if (!inputs_[i] || !free || padding.axis == inputs_[i]->batch) {
    refuse_batching(of.model,
                    "input '" + port.name + "' has no free extent at axis " + std::to_string(padding.axis) + " to pad");
  }
  if (!can_be_padded(port.dtype)) refuse_batching(of.model, "input '" + port.name + "': its type cannot be padded");
  inputs_[i]->padded = padding.axis;
  inputs_[i]->padding = padding.value;
  for (std::size_t k = 0; k < of.outputs.size(); ++k) {
    if (const auto axis = axis_with(of.outputs[k], port.dims[padding.axis])) outputs_[k]->padded = axis;
  }
}

void BatchPlan::set_lengths(const ModelView& of, const std::string& symbol) {
  const std::string& name = of.config.batching.lengths;
  lengths_ = input_index(of, name);
  const Port& port = of.inputs[*lengths_];
  const bool integers = port.dtype == api::Dtype::i32 || port.dtype == api::Dtype::i64;
  if (integers && port.dims.size() == 1 && inputs_[*lengths_]) return;
  refuse_batching(of.model, "input '" + name + "' cannot take lengths: expected i32 or i64 [" + symbol + "]");
}

bool BatchPlan::append_key(std::string& key, const Array& value, std::size_t input) const {
  const auto append = [&](std::int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  if (value.empty()) return append(-1), true;
  if (!value.is_tensor() || value.dtype() == api::Dtype::string) return false;
  const Port& port = ports_[input];
  if (value.dtype() != port.dtype || (port.ranked && value.sizes().size() != port.dims.size())) return false;
  append(static_cast<std::int64_t>(value.sizes().size()));
  for (std::size_t axis = 0; axis < value.sizes().size(); ++axis) {
    const bool free = inputs_[input] && (axis == inputs_[input]->batch || axis == inputs_[input]->padded);
    append(free ? -1 : value.sizes()[axis]);
  }
  if (inputs_[input]) return true;
  if (value.bytes() > kMaxSharedBytes) return false;
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

std::vector<Array> BatchPlan::mate(std::span<const Array> request, const Shape& shape) const {
  std::vector<Array> mate(request.begin(), request.end());
  for (std::size_t i = 0; i < mate.size(); ++i) {
    if (!inputs_[i] || mate[i].empty()) continue;
    api::Sizes sizes = mate[i].sizes();
    sizes[inputs_[i]->batch] = shape.count;
    if (inputs_[i]->padded) sizes[*inputs_[i]->padded] = shape.length;
    mate[i] = Array(mate[i].dtype(), std::move(sizes));
  }
  return mate;
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

std::vector<std::vector<Array>> BatchPlan::split(std::span<const Array> results, std::span<const Shape> shapes) const {
  std::int64_t at = 0, longest = 0;
  for (const Shape& shape : shapes) longest = std::max(longest, shape.length);
  std::vector<std::vector<Array>> parts;
  for (const Shape& shape : shapes) {
    parts.push_back(slice(results, at, shape, longest));
    at += shape.count;
  }
  return parts;
}

/// Returns the results of the request that starts at `begin` along the batch axis. `longest` is the padded length.
std::vector<Array> BatchPlan::slice(std::span<const Array> results, std::int64_t begin, const Shape& shape,
                                    std::int64_t longest) const {
  std::vector<Array> parts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool tensor = results[i].is_tensor() && results[i].dtype() != api::Dtype::string;
    const StackAxes& axes = *outputs_[i];
    const bool fits = tensor && results[i].sizes()[axes.batch] >= begin + shape.count &&
                      (!axes.padded || results[i].sizes()[*axes.padded] == longest);
    if (!fits)
      throw api::Error(api::Code::unsupported,
                       "output '" + output_names_[i] + "' cannot be split among the requests of a batch");
    parts.push_back(part_of(results[i], axes, begin, shape.count, shape.length));
  }
  return parts;
}

std::vector<Array> BatchPlan::sample(std::int64_t count, std::int64_t length, std::int64_t other, unsigned seed) const {
  std::vector<Array> values;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = ports_[i];
    std::mt19937 random(inputs_[i] ? seed : 0);  // shared inputs get equal values
    std::normal_distribution<float> normal;
    if (port.kind != Array::Kind::tensor || port.optional || i == lengths_) {
      values.emplace_back();
      continue;
    }
    api::Sizes sizes;
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      const bool batch = inputs_[i] && axis == inputs_[i]->batch, padded = inputs_[i] && axis == inputs_[i]->padded;
      sizes.push_back(batch ? count : padded ? length : fixed_extent(port.dims[axis]).value_or(other));
    }
    Array value(port.dtype, std::move(sizes));
    if (port.dtype == api::Dtype::f32)
      std::ranges::generate(value.mutable_values<float>(), [&] { return normal(random); });
    if (port.dtype == api::Dtype::i64)
      std::ranges::generate(value.mutable_values<std::int64_t>(), [&] { return random() % 2; });
    if (port.dtype == api::Dtype::i32) {
      std::ranges::generate(value.mutable_values<std::int32_t>(),
                            [&] { return static_cast<std::int32_t>(random() % 2); });
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace frazil::server
