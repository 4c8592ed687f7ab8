#include "ops/control/sequence.h"

#include <algorithm>
#include <utility>

#include "ops/core/move.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

using Items = std::vector<Datum>;

// ---- types ----

/// Returns the item type of sequence input i.
Result<Type> item_type(InferCx& cx, std::size_t i) {
  const Type& type = cx.type(i);
  if (type.kind == Type::Kind::sequence) return *type.item;
  return cx.error("input {} must be a sequence, got {}", i, cx.type_str(i));
}

/// Returns the dim if both are equal, else a new symbol without a value.
Dim join_dims(InferCx& cx, Dim a, Dim b) { return a == b ? a : cx.data_extent(0, 0); }

/// Returns the common type of both items, unranked if the ranks differ.
Result<Type> join_items(InferCx& cx, const Type& a, const Type& b) {
  if (a.kind != b.kind || a.elem != b.elem) {
    return cx.error("a sequence cannot hold both {} and {}", str(a, cx.scope()), str(b, cx.scope()));
  }
  if (!a.is_tensor() || a == b) return a;
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) return Type::unranked(a.elem);
  Type type = a;
  for (std::size_t d = 0; d < a.rank(); ++d) type.shape[d] = join_dims(cx, a.shape[d], b.shape[d]);
  return type;
}

/// Returns true if every symbol of d has one value, so that d does not represent extents that differ between items.
bool has_value(InferCx& cx, Dim d) {
  return std::ranges::all_of(cx.scope().symbols_of(d), [&](SymbolId s) {
    return !is_unbacked(cx.scope(), s) || cx.graph().origin(s) || cx.graph().extent_origin(s);
  });
}

/// Returns the type of output 0 if it is one item.
Type one_item(InferCx& cx, Type item) {
  for (std::size_t d = 0; d < item.shape.size(); ++d) {
    if (!has_value(cx, item.shape[d]))
      item.shape[d] = cx.data_extent(0, static_cast<int>(d), cx.scope().bounds(item.shape[d]));
  }
  return item;
}

// ---- values ----

Status put_sequence(OpaqueCall& call, Items items) {
  FRAZIL_TRY(Datum sequence, make_sequence(std::move(items)));
  return call.put(0, std::move(sequence));
}

Items items_of(const OpaqueCall& call, std::size_t i) { return call.datum(i).sequence().items; }

/// Sets output 0 to a value of any kind.
Status give(OpaqueCall& call, const Datum& value) {
  if (!value.is_tensor()) return call.put(0, value);
  FRAZIL_TRY(const Tensor t, value.tensor().packed());
  FRAZIL_TRY(std::byte * out, call.out(0, t.sizes()));
  move_elements(t.elem(), out, t.data(), t.count());
  return {};
}

/// Returns input 'position' as an index from the front into `count` positions, or `otherwise` if it is absent.
Result<std::ptrdiff_t> position_of(const OpaqueCall& call, std::size_t input, std::int64_t count,
                                   std::int64_t otherwise, std::int64_t low) {
  if (!call.has(input)) return static_cast<std::ptrdiff_t>(otherwise);
  const TensorView view = call.in(input);
  if (view.count() != 1) return fail(Code::bad_input, "input 'position' must have one element, got {}", view.count());
  const std::int64_t at = view.integer(0);
  if (at < low || at >= count) {
    return fail(Code::bad_input, "input 'position': {} is outside [{}, {}]", at, low, count - 1);
  }
  return static_cast<std::ptrdiff_t>(at < 0 ? at - low : at);
}

std::int64_t length_of(const Items& items) { return static_cast<std::int64_t>(items.size()); }

}  // namespace

Status sequence_construct_types(InferCx& cx) {
  if (cx.input_count() == 0) return cx.error("needs at least one input; SequenceEmpty makes an empty sequence");
  Type item = cx.type(0);
  for (std::size_t i = 1; i < cx.input_count(); ++i) {
    FRAZIL_TRY(item, join_items(cx, item, cx.type(i)));
  }
  cx.out(0, Type::sequence(std::move(item)));
  return {};
}

Status sequence_construct_run(OpaqueCall& call) {
  Items items;
  for (std::size_t i = 0; i < call.input_count(); ++i) items.push_back(call.datum(i));
  return put_sequence(call, std::move(items));
}

Status sequence_empty_types(InferCx& cx) {
  cx.out(0, Type::sequence(Type::unranked(cx.attrs<SequenceEmptyAttrs>().dtype)));
  return {};
}

Status sequence_empty_run(OpaqueCall& call) { return put_sequence(call, {}); }

Status sequence_insert_types(InferCx& cx) {
  FRAZIL_TRY(const Type item, item_type(cx, 0));
  FRAZIL_TRY(Type joined, join_items(cx, item, cx.type(1)));
  cx.out(0, Type::sequence(std::move(joined)));
  return {};
}

Status sequence_insert_run(OpaqueCall& call) {
  Items items = items_of(call, 0);
  const std::int64_t length = length_of(items);
  FRAZIL_TRY(const auto at, position_of(call, 2, length + 1, length, -length));
  items.insert(items.begin() + at, call.datum(1));
  return put_sequence(call, std::move(items));
}

Status sequence_at_types(InferCx& cx) {
  FRAZIL_TRY(Type item, item_type(cx, 0));
  cx.out(0, one_item(cx, std::move(item)));
  return {};
}

Status sequence_at_run(OpaqueCall& call) {
  const Datum value = call.datum(0);
  const Items& items = value.sequence().items;
  FRAZIL_TRY(const auto at, position_of(call, 1, length_of(items), 0, -length_of(items)));
  return give(call, items[static_cast<std::size_t>(at)]);
}

Status sequence_erase_types(InferCx& cx) {
  FRAZIL_TRY(const Type item, item_type(cx, 0));
  (void)item;
  cx.out(0, cx.type(0));
  return {};
}

Status sequence_erase_run(OpaqueCall& call) {
  Items items = items_of(call, 0);
  if (items.empty()) return fail(Code::bad_input, "input 'input_sequence' is empty");
  const std::int64_t length = length_of(items);
  FRAZIL_TRY(const auto at, position_of(call, 1, length, length - 1, -length));
  items.erase(items.begin() + at);
  return put_sequence(call, std::move(items));
}

Status sequence_length_types(InferCx& cx) {
  FRAZIL_TRY(const Type item, item_type(cx, 0));
  (void)item;
  cx.out(0, Type::tensor(Elem::i64));
  return {};
}

Status sequence_length_run(OpaqueCall& call) {
  FRAZIL_TRY(std::byte * out, call.out(0, {}));
  *reinterpret_cast<std::int64_t*>(out) = length_of(call.datum(0).sequence().items);
  return {};
}

// ---- SplitToSequence ----

namespace {

/// Returns the extent of the split axis if it is the same for all items.
std::optional<Dim> even_part(InferCx& cx, Dim extent) {
  if (!cx.has(1)) return Dim(1);
  const auto* sizes = cx.known_value(1);
  if (!sizes || sizes->empty() || std::ranges::any_of(*sizes, [&](Dim d) { return d != sizes->front(); })) return {};
  const Dim part = sizes->front();
  if (cx.rank(1) == 1) return part;
  const bool divides = part.is_const() && part.value() > 0 && mod(cx.scope(), extent, part) == Dim(0);
  return divides ? std::optional(part) : std::nullopt;
}

/// The maximal number of items of a sequence. More items are rejected before they take memory.
constexpr std::int64_t kMaxItems = std::int64_t{1} << 24;

/// Returns the number of positions along the axis for each item.
Result<std::vector<std::int64_t>> part_sizes(const OpaqueCall& call, std::int64_t extent) {
  const auto too_many = [](std::int64_t items) {
    return fail(Code::limit, "a sequence of {} items; at most {}", items, kMaxItems);
  };
  if (!call.has(1)) {
    if (extent > kMaxItems) return too_many(extent);
    return std::vector<std::int64_t>(static_cast<std::size_t>(extent), 1);
  }
  const TensorView split = call.in(1);
  std::vector<std::int64_t> parts;
  if (split.rank() == 0) {
    const std::int64_t part = split.integer(0);
    if (part < 1) return fail(Code::bad_input, "input 'split' must be positive, got {}", part);
    if (extent / part > kMaxItems) return too_many(extent / part);
    for (std::int64_t at = 0; at < extent; at += std::min(part, extent - at))
      parts.push_back(std::min(part, extent - at));
    return parts;
  }
  std::int64_t rest = extent;
  for (std::int64_t i = 0; i < split.count(); ++i) {
    parts.push_back(split.integer(i));
    if (parts.back() < 0 || parts.back() > rest) {
      return fail(Code::bad_input, "input 'split': {} at [{}] is outside [0, {}]", parts.back(), i, rest);
    }
    rest -= parts.back();
  }
  if (rest != 0) return fail(Code::bad_input, "input 'split' leaves {} of {} steps over", rest, extent);
  return parts;
}

bool drops_axis(bool has_split, const SplitToSequenceAttrs& a) { return !has_split && a.keepdims == 0; }

}  // namespace

Status split_to_sequence_types(InferCx& cx) {
  const auto& a = cx.attrs<SplitToSequenceAttrs>();
  FRAZIL_TRY(const int axis, cx.axis(a.axis, cx.rank(0)));
  if (cx.has(1) && cx.rank(1) > 1) return cx.error("input 'split' must be a scalar or 1-D, got {}", cx.type_str(1));
  Shape shape = cx.shape(0);
  Dim& extent = shape[static_cast<std::size_t>(axis)];
  const auto part = even_part(cx, extent);
  extent = part ? *part : cx.data_extent(0, axis, {0, cx.scope().bounds(extent).max});
  if (drops_axis(cx.has(1), a)) shape.erase(shape.begin() + axis);
  cx.out(0, Type::sequence(Type::tensor(cx.elem(0), std::move(shape))));
  return {};
}

Status split_to_sequence_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<SplitToSequenceAttrs>();
  const std::size_t axis = from_front(a.axis, x.rank());
  const AxisSplit split(x.sizes, axis);
  const auto width = static_cast<std::int64_t>(byte_size(x.elem)) * split.inner;
  FRAZIL_TRY(const auto parts, part_sizes(call, split.extent));
  Items items;
  FRAZIL_TRY(MemoryCharge room, MemoryCharge::make(parts.size() * sizeof(Datum)));
  items.reserve(parts.size());
  std::int64_t at = 0;
  PollThrottle throttle;
  for (std::int64_t part : parts) {
    if (throttle.stop(64)) {
      free_items(std::move(items));
      return {};
    }
    Sizes sizes(x.sizes.begin(), x.sizes.end());
    sizes[axis] = part;
    if (drops_axis(call.has(1), a)) sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    FRAZIL_TRY(Tensor item, Tensor::make(x.elem, std::move(sizes)));
    for (std::int64_t o = 0; o < (part == 0 ? 0 : split.outer); ++o) {
      move_elements(x.elem, item.mutable_data() + o * part * width, x.data + (o * split.extent + at) * width,
                    part * split.inner);
    }
    items.emplace_back(std::move(item));
    at += part;
  }
  room.release();
  return put_sequence(call, std::move(items));
}

// ---- ConcatFromSequence ----

Status concat_from_sequence_types(InferCx& cx) {
  const auto& a = cx.attrs<ConcatFromSequenceAttrs>();
  FRAZIL_TRY(Type item, item_type(cx, 0));
  if (!item.is_tensor()) return cx.error("the items must be tensors, got {}", str(item, cx.scope()));
  if (!item.ranked) {
    cx.out(0, std::move(item));
    return {};
  }
  FRAZIL_TRY(const int axis, cx.axis(a.axis, item.rank() + (a.new_axis != 0 ? 1 : 0)));
  if (a.new_axis != 0) item.shape.insert(item.shape.begin() + axis, Dim(0));
  for (std::size_t d = 0; d < item.shape.size(); ++d) {
    const bool joined = static_cast<int>(d) == axis;
    if (joined || !has_value(cx, item.shape[d])) item.shape[d] = cx.data_extent(0, static_cast<int>(d));
  }
  cx.out(0, std::move(item));
  return {};
}

namespace {

/// Returns the sizes of the item, with the new axis inserted if one is requested.
Sizes item_sizes(const Tensor& item, const ConcatFromSequenceAttrs& a) {
  Sizes sizes = item.sizes();
  if (a.new_axis != 0) {
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(from_front(a.axis, sizes.size() + 1)), 1);
  }
  return sizes;
}

/// Returns the sizes of the result. The sizes of all items except along the axis must agree.
Result<Sizes> joined_sizes(const Items& items, const ConcatFromSequenceAttrs& a) {
  if (items.empty()) return fail(Code::bad_input, "input 'sequence' is empty");
  const Tensor& first = items[0].tensor();
  const auto rank = static_cast<std::int64_t>(first.rank()) + (a.new_axis != 0 ? 1 : 0);
  if (a.axis < -rank || a.axis >= rank)
    return fail(Code::bad_input, "axis {} is outside [{}, {})", a.axis, -rank, rank);
  Sizes total = item_sizes(first, a);
  const std::size_t axis = from_front(a.axis, total.size());
  PollThrottle throttle;
  for (std::size_t i = 1; i < items.size() && !throttle.stop(64); ++i) {
    const Tensor& item = items[i].tensor();
    Sizes sizes = item.rank() == first.rank() ? item_sizes(item, a) : Sizes();
    const std::int64_t extent = sizes.empty() ? 0 : std::exchange(sizes[axis], total[axis]);
    if (sizes != total) {
      return fail(Code::bad_input, "items 0 and {} of input 'sequence' do not fit: {} and {}", i, first.type_str(),
                  item.type_str());
    }
    total[axis] += extent;
  }
  return total;
}

}  // namespace

Status concat_from_sequence_run(OpaqueCall& call) {
  const auto& a = call.attrs<ConcatFromSequenceAttrs>();
  const Datum value = call.datum(0);
  const Items& items = value.sequence().items;
  FRAZIL_TRY(const Sizes sizes, joined_sizes(items, a));
  if (stop_requested()) return {};  // some items have not been checked
  const std::size_t axis = from_front(a.axis, sizes.size());
  const AxisSplit split(sizes, axis);
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  const auto width = static_cast<std::int64_t>(byte_size(call.out_elem(0)));
  std::int64_t at = 0;
  PollThrottle throttle;
  for (const Datum& datum : items) {
    if (throttle.stop(64)) return {};
    FRAZIL_TRY(const Tensor item, datum.tensor().packed());
    const std::int64_t part = item_sizes(item, a)[axis] * split.inner;
    for (std::int64_t o = 0; o < (part == 0 ? 0 : split.outer); ++o) {
      move_elements(item.elem(), out + (o * split.extent * split.inner + at) * width, item.data() + o * part * width,
                    part);
    }
    at += part;
  }
  return {};
}

// ---- optionals: at run time an optional is its value or the empty Datum ----

Status optional_types(InferCx& cx) {
  if (cx.has(0)) {
    cx.out(0, Type::optional(cx.type(0)));
    return {};
  }
  const auto& a = cx.attrs<OptionalAttrs>();
  const Type held = Type::unranked(a.elem_type);
  cx.out(0, Type::optional(a.sequence != 0 ? Type::sequence(held) : held));
  return {};
}

Status optional_run(OpaqueCall& call) { return call.put(0, call.has(0) ? call.datum(0) : Datum{}); }

Status optional_has_element_types(InferCx& cx) {
  cx.out(0, Type::tensor(Elem::boolean));
  return {};
}

Status optional_has_element_run(OpaqueCall& call) {
  FRAZIL_TRY(std::byte * out, call.out(0, {}));
  *out = std::byte{call.has(0) && !call.datum(0).empty()};
  return {};
}

Status optional_get_element_types(InferCx& cx) {
  const Type& type = cx.type(0);
  cx.out(0, type.kind == Type::Kind::optional ? one_item(cx, *type.item) : type);
  return {};
}

Status optional_get_element_run(OpaqueCall& call) {
  const Datum value = call.datum(0);
  return value.empty() ? fail(Code::bad_input, "input 'input' is an empty optional") : give(call, value);
}

}  // namespace frazil::ops
