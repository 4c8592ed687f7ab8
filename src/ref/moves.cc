#include "ref/moves.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/thread/poll_throttle.h"
#include "ir/op/axis.h"
#include "ops/core/move.h"
#include "tensor/strided.h"

namespace frazil::ref {
namespace {

constexpr std::int64_t kFill = INT64_MIN;

Result<Sizes> numbers(const Shape& shape) {
  Sizes sizes;
  for (Dim d : shape) {
    FRAZIL_TRY(const std::int64_t n, number(d));
    sizes.push_back(n);
  }
  return sizes;
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

/// Returns the position that index `i` into an axis of `size` elements reads: kFill for the fill value, nullopt if the
/// index is invalid.
std::optional<std::int64_t> at_edge(Edge edge, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  if (edge == Edge::fill) return kFill;
  if (edge == Edge::none || size == 0) return std::nullopt;
  if (edge == Edge::clamp) return std::clamp<std::int64_t>(i, 0, size - 1);
  if (edge == Edge::wrap) return modulo(i, size);
  if (size == 1) return 0;
  const std::int64_t folded = modulo(i, 2 * (size - 1));
  return std::min(folded, 2 * (size - 1) - folded);
}

/// Element offsets contributed by the positions of one output axis; kFill for the fill value.
using Table = std::vector<std::int64_t>;

Status add_axis(Table& table, const ViewMap::AxisMap& map, std::int64_t size, std::int64_t stride) {
  FRAZIL_TRY(const std::int64_t offset, number(map.offset));
  FRAZIL_TRY(const std::int64_t step, number(map.step));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t index = offset + (map.axis < 0 ? 0 : step * static_cast<std::int64_t>(i));
    const auto at = at_edge(map.edge, index, size);
    if (!at) return fail(Code::internal, "a view reads index {} of an axis of extent {}", index, size);
    if (*at == kFill || table[i] == kFill) {
      table[i] = kFill;
    } else {
      table[i] += *at * stride;
    }
  }
  return {};
}

/// Returns one table per output axis, and one with a single entry for constant indices.
Result<std::vector<Table>> offset_tables(const ViewMap& map, const Sizes& sizes, const Tensor& from) {
  std::vector<Table> tables;
  for (const std::int64_t size : sizes) tables.emplace_back(static_cast<std::size_t>(size));
  tables.emplace_back(1);
  const Sizes strides = contiguous_strides(from.sizes());
  if (map.axes.size() != from.rank())
    return fail(Code::internal, "a view of rank {} reads {}", map.axes.size(), from.type_str());
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const int axis = map.axes[d].axis;
    Table& table = axis < 0 ? tables.back() : tables[static_cast<std::size_t>(axis)];
    FRAZIL_CHECK(add_axis(table, map.axes[d], from.sizes()[d], strides[d]));
  }
  return tables;
}

/// Returns the fill value as a tensor of one element.
Result<Tensor> fill_value(const ViewMap& map, std::span<const Tensor> inputs, Elem elem) {
  const auto k = static_cast<std::size_t>(map.fill);
  if (map.fill >= 0 && k < inputs.size() && inputs[k].defined()) {
    if (inputs[k].count() == 1 && inputs[k].elem() == elem) return inputs[k];
    return fail(Code::bad_input, "the fill value must be one {}, got {}", name_of(elem), inputs[k].type_str());
  }
  FRAZIL_TRY(Tensor zero, Tensor::make(elem, {}));
  if (elem != Elem::string) std::memset(zero.mutable_data(), 0, zero.bytes());
  return zero;
}

Result<Tensor> run_affine(const ViewMap& map, std::span<const Tensor> inputs) {
  const Tensor& from = inputs[static_cast<std::size_t>(map.source)];
  FRAZIL_TRY(Sizes sizes, numbers(map.shape));
  FRAZIL_TRY(Tensor out, Tensor::make(from.elem(), sizes));
  if (out.count() == 0) return out;
  const auto entries = static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}));
  FRAZIL_TRY(const MemoryCharge charge, MemoryCharge::make(entries * sizeof(std::int64_t)));
  FRAZIL_TRY(const auto tables, offset_tables(map, sizes, from));
  FRAZIL_TRY(const Tensor fill, fill_value(map, inputs, from.elem()));
  Sizes index(sizes.size(), 0);
  PollThrottle throttle;
  for (std::int64_t to = 0; to < out.count() && !throttle.stop(4); ++to) {
    std::int64_t at = tables.back()[0];
    for (std::size_t d = 0; d < sizes.size() && at != kFill; ++d) {
      const std::int64_t part = tables[d][static_cast<std::size_t>(index[d])];
      at = part == kFill ? kFill : at + part;
    }
    copy_elements(at == kFill ? fill : from, at == kFill ? 0 : at, out, to, 1);
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return out;
}

Result<Tensor> run_concat(const ViewMap& map, std::span<const Tensor> inputs) {
  const auto axis = static_cast<std::size_t>(map.axis);
  FRAZIL_TRY(Sizes sizes, numbers(map.shape));
  FRAZIL_TRY(Tensor out, Tensor::make(inputs[static_cast<std::size_t>(map.source)].elem(), sizes));
  const std::int64_t inner = element_count(std::span(sizes).subspan(axis + 1)), row = sizes[axis] * inner;
  std::int64_t begin = 0;
  PollThrottle throttle;
  for (const Tensor& part : inputs.subspan(static_cast<std::size_t>(map.source))) {
    if (!part.defined()) continue;
    const std::int64_t length = part.sizes()[axis] * inner;
    if (begin + length > row) return fail(Code::internal, "the parts of a concatenation exceed its extent");
    for (std::int64_t o = 0; length > 0 && o * length < part.count() && !throttle.stop(length); ++o) {
      copy_elements(part, o * length, out, o * row + begin, length);
    }
    begin += length;
  }
  return out;
}

}  // namespace

Result<std::int64_t> number(Dim d) {
  if (!d.is_const()) return fail(Code::internal, "the index map of a node with given extents has a symbol");
  return d.value();
}

Result<Tensor> ready(const Tensor& tensor) {
  if (tensor.contiguous() && is_aligned(tensor)) return tensor;
  if (!tensor.contiguous()) return tensor.packed();
  FRAZIL_TRY(Tensor copy, Tensor::make(tensor.elem(), tensor.sizes()));
  copy_elements(tensor, 0, copy, 0, tensor.count());
  return copy;
}

void copy_elements(const Tensor& src, std::int64_t from, Tensor& dst, std::int64_t to, std::int64_t count) {
  const auto width = static_cast<std::int64_t>(byte_size(src.elem()));
  ops::move_elements(src.elem(), dst.mutable_data() + to * width, src.data() + from * width, count);
}

Result<Tensor> run_view(const ViewMap& map, std::span<const Tensor> inputs) {
  switch (map.kind) {
    case ViewMap::Kind::affine: return run_affine(map, inputs);
    case ViewMap::Kind::concat: return run_concat(map, inputs);
    case ViewMap::Kind::reshape: break;
  }
  FRAZIL_TRY(Sizes sizes, numbers(map.shape));
  const Tensor& from = inputs[static_cast<std::size_t>(map.source)];
  if (element_count(sizes) == from.count()) return reshaped(from, std::move(sizes));
  return fail(Code::internal, "{} cannot have the shape {}", from.type_str(), type_str(from.elem(), sizes));
}

Result<Tensor> slice(const Tensor& tensor, std::int64_t axis, std::int64_t at, bool reversed) {
  const std::size_t d = from_front(axis, tensor.rank());
  if (d >= tensor.rank() || at < 0 || at >= tensor.sizes()[d]) {
    return fail(Code::bad_input, "no slice {} along axis {} of {}", at, axis, tensor.type_str());
  }
  if (reversed) at = tensor.sizes()[d] - 1 - at;
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  const auto offset =
      tensor.data() - tensor.buffer().data() + at * strides[d] * static_cast<std::int64_t>(byte_size(tensor.elem()));
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(d));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(d));
  return Tensor(tensor.elem(), std::move(sizes), std::move(strides), tensor.buffer(), static_cast<std::size_t>(offset))
      .packed();
}

Status Gathered::add(const Tensor& part) {
  if (!parts_.empty() && parts_[0].sizes() != part.sizes()) {
    return fail(Code::bad_input, "gathers {} after {}: all iterations must give equal extents", part.type_str(),
                parts_[0].type_str());
  }
  constexpr std::size_t kExtents = 64;  // approximate bytes of a tensor's extents and strides
  FRAZIL_CHECK(charge_.grow(sizeof(Tensor) + kExtents));
  parts_.push_back(part);
  return {};
}

Result<Tensor> Gathered::stack(std::int64_t axis, bool reversed) const {
  const Tensor& first = parts_.front();
  const auto n = static_cast<std::int64_t>(parts_.size());
  const std::size_t d = from_front(axis, first.rank() + 1);
  if (d > first.rank()) return fail(Code::bad_input, "scan output axis {} of {}", axis, first.type_str());
  Sizes sizes = first.sizes();
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(d), n);
  const std::int64_t inner = element_count(std::span(sizes).subspan(d + 1));
  FRAZIL_TRY(Tensor out, Tensor::make(first.elem(), std::move(sizes)));
  PollThrottle throttle;
  for (std::int64_t k = 0; k < n && !throttle.stop(first.count()); ++k) {
    FRAZIL_TRY(const Tensor part, ready(parts_[static_cast<std::size_t>(reversed ? n - 1 - k : k)]));
    if (part.elem() != first.elem() || part.sizes() != first.sizes()) {
      return fail(Code::bad_input, "{} and {} cannot be gathered into one tensor", first.type_str(), part.type_str());
    }
    for (std::int64_t o = 0; o * inner < part.count(); ++o)
      copy_elements(part, o * inner, out, (o * n + k) * inner, inner);
  }
  return out;
}

}  // namespace frazil::ref
