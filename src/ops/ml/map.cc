#include "ops/ml/map.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/value/text.h"
#include "ops/core/move.h"
#include "ops/core/numbers.h"
#include "ops/text/text.h"

namespace frazil::ops {
namespace {

using Entry = std::pair<Tensor, Datum>;

/// Returns the element type of the values of a map with keys of type `key`.
Result<Elem> value_elem(InferCx& cx, Elem key, ElemSet values) {
  const Type& type = cx.type(0);
  const bool fits = type.kind == Type::Kind::map && type.elem == key && type.item->is_tensor();
  if (fits && contains(values, type.item->elem)) return type.item->elem;
  return cx.error("input 'X' is {}, not a map from {} to what this operator takes", cx.type_str(0), name_of(key));
}

/// Returns the value of an entry, a tensor of one element.
Result<ElementRef> value_of(const Entry& entry) {
  const Tensor& t = entry.second.tensor();
  if (t.count() == 1) return ElementRef{t.elem(), t.data()};
  return fail(Code::bad_input, "input 'X': the value of key {} must be one element, it is {}", summary(entry.first),
              t.type_str());
}

Status check_keys(const MapValue& map) {
  for (const Entry& entry : map.items) {
    if (entry.first.count() != 1) {
      return fail(Code::bad_input, "input 'X': a key must be one element, it is {}", entry.first.type_str());
    }
  }
  return {};
}

std::optional<Elem> cast_elem(std::string_view to) {
  if (to == "TO_FLOAT") return Elem::f32;
  if (to == "TO_INT64") return Elem::i64;
  if (to == "TO_STRING") return Elem::string;
  return std::nullopt;
}

Status store(const Entry& entry, Elem elem, std::byte* to) {
  FRAZIL_TRY(const ElementRef value, value_of(entry));
  if (value.elem == elem) {
    move_elements(elem, to, value.data, 1);
  } else if (value.elem == Elem::string || elem == Elem::string) {
    return cast_plain(std::array{value}, nullptr, elem, to);
  } else {
    from_numbers(elem, to, std::array{double{value.as<float>()}});
  }
  return {};
}

constexpr std::int64_t kMaxColumns = std::int64_t{1} << 31;

}  // namespace

// ---- CastMap ----

Status cast_map_types(InferCx& cx) {
  const auto& a = cx.attrs<CastMapAttrs>();
  FRAZIL_TRY(const Elem from, value_elem(cx, Elem::i64, elems::kF32 | elems::kString));
  (void)from;
  const auto to = cast_elem(a.cast_to);
  if (!to) return cx.error("cast_to '{}' is not one of TO_FLOAT, TO_INT64, TO_STRING", printable(a.cast_to));
  if (a.map_form != "DENSE" && a.map_form != "SPARSE") {
    return cx.error("map_form '{}' is not one of DENSE, SPARSE", printable(a.map_form));
  }
  const bool sparse = a.map_form == "SPARSE";
  if (sparse && (a.max_map < 1 || a.max_map >= kMaxColumns)) {
    return cx.error("max_map {} is outside [1, {})", a.max_map, kMaxColumns);
  }
  cx.out(0, Type::tensor(*to, {1, sparse ? Dim(a.max_map) : cx.data_extent(0, 1)}));
  return {};
}

Status cast_map_run(OpaqueCall& call) {
  const auto& a = call.attrs<CastMapAttrs>();
  const Datum datum = call.datum(0);
  FRAZIL_CHECK(check_keys(datum.map()));
  const bool sparse = a.map_form == "SPARSE";
  const Elem elem = *cast_elem(a.cast_to);
  std::map<std::int64_t, const Entry*> by_key;
  for (const Entry& entry : datum.map().items) by_key[entry.first.integer_at(0)] = &entry;
  const auto columns = sparse ? a.max_map : static_cast<std::int64_t>(by_key.size());
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{std::int64_t{1}, columns}));
  const std::size_t width = byte_size(elem);
  if (elem != Elem::string) std::fill_n(out, static_cast<std::size_t>(columns) * width, std::byte{0});
  std::size_t next = 0;
  PollThrottle throttle;
  for (const auto& [key, entry] : by_key) {
    if (throttle.stop(16)) return {};
    if (sparse && (key < 0 || key >= columns)) {
      return fail(Code::bad_input, "input 'X': key {} is outside [0, {})", key, columns);
    }
    FRAZIL_CHECK(store(*entry, elem, out + (sparse ? static_cast<std::size_t>(key) : next++) * width));
  }
  return {};
}

// ---- DictVectorizer ----

Status dict_vectorizer_types(InferCx& cx) {
  const auto& a = cx.attrs<DictVectorizerAttrs>();
  if (a.int64_vocabulary.empty() == a.string_vocabulary.empty()) {
    return cx.error("one of int64_vocabulary and string_vocabulary must be given");
  }
  const Elem key = a.string_vocabulary.empty() ? Elem::i64 : Elem::string;
  FRAZIL_TRY(const Elem value, value_elem(cx, key, elems::kI64 | elems::kF32 | one(Elem::f64) | elems::kString));
  const auto columns = static_cast<std::int64_t>(std::max(a.int64_vocabulary.size(), a.string_vocabulary.size()));
  cx.out(0, Type::tensor(value, {1, columns}));
  return {};
}

namespace {

/// Stores the value of each key at the position of the key. The positions of absent keys stay unchanged.
template <class K>
Status store_values(const MapValue& map, const std::vector<K>& keys, Elem elem, std::byte* out) {
  std::unordered_map<K, const Entry*> by_key;
  for (const Entry& entry : map.items) by_key[entry.first.as<K>()[0]] = &entry;
  PollThrottle throttle;
  for (const K& key : keys) {
    if (throttle.stop(16)) return {};
    const auto found = by_key.find(key);
    if (found != by_key.end()) FRAZIL_CHECK(store(*found->second, elem, out));
    out += byte_size(elem);
  }
  return {};
}

}  // namespace

Status dict_vectorizer_run(OpaqueCall& call) {
  const auto& a = call.attrs<DictVectorizerAttrs>();
  const Datum datum = call.datum(0);
  FRAZIL_CHECK(check_keys(datum.map()));
  const Elem elem = call.out_elem(0);
  const std::size_t columns = std::max(a.int64_vocabulary.size(), a.string_vocabulary.size());
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{std::int64_t{1}, static_cast<std::int64_t>(columns)}));
  if (elem != Elem::string) std::fill_n(out, columns * byte_size(elem), std::byte{0});
  return a.string_vocabulary.empty() ? store_values(datum.map(), a.int64_vocabulary, elem, out)
                                     : store_values(datum.map(), a.string_vocabulary, elem, out);
}

// ---- ZipMap ----

Status zip_map_types(InferCx& cx) {
  const ClassLabels labels = cx.attrs<ZipMapAttrs>().labels();
  if (labels.integers.empty() == labels.strings.empty()) {
    return cx.error("one of classlabels_int64s and classlabels_strings must be given");
  }
  if (cx.type(0).ranked) {
    if (cx.rank(0) != 1 && cx.rank(0) != 2) return cx.error("input 'X' must be [C] or [N, C], got {}", cx.type_str(0));
    const auto count = static_cast<std::int64_t>(labels.count());
    FRAZIL_TRY(const Dim columns, cx.require_equal(cx.shape(0).back(), count, "columns of input 'X'"));
    (void)columns;
  }
  const Elem key = labels.are_text() ? Elem::string : Elem::i64;
  cx.out(0, Type::sequence(Type::map(key, Type::tensor(Elem::f32))));
  return {};
}

namespace {

Result<std::vector<Tensor>> keys_of(const ClassLabels& labels) {
  std::vector<Tensor> keys;
  for (std::size_t i = 0; i < labels.count(); ++i) {
    FRAZIL_TRY(Tensor key, Tensor::make(labels.are_text() ? Elem::string : Elem::i64, {}));
    if (labels.are_text())
      assign_text(key.as_mutable<std::string>()[0], labels.strings[i]);
    else
      key.as_mutable<std::int64_t>()[0] = labels.integers[i];
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

Status zip_map_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  FRAZIL_TRY(const std::vector<Tensor> keys, keys_of(call.attrs<ZipMapAttrs>().labels()));
  const auto columns = static_cast<std::int64_t>(keys.size());
  if ((x.rank() != 1 && x.rank() != 2) || x.sizes.back() != columns) {
    return fail(Code::bad_input, "input 'X' is {} for {} class labels", type_str(x.elem, x.sizes), columns);
  }
  FRAZIL_TRY(Tensor all, Tensor::make(Elem::f32, {x.count()}));
  move_elements(Elem::f32, all.mutable_data(), x.data, x.count());
  std::vector<Datum> maps;
  PollThrottle throttle;
  for (std::int64_t at = 0; at < x.count(); at += columns) {
    if (throttle.stop(64 * columns)) return {};
    std::vector<Entry> entries;
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto offset = static_cast<std::size_t>(at + c) * sizeof(float);
      entries.emplace_back(keys[static_cast<std::size_t>(c)], Tensor(Elem::f32, {}, {}, all.buffer(), offset));
    }
    FRAZIL_TRY(Datum map, make_map(std::move(entries)));
    maps.push_back(std::move(map));
  }
  FRAZIL_TRY(Datum sequence, make_sequence(std::move(maps)));
  return call.put(0, std::move(sequence));
}

}  // namespace frazil::ops
