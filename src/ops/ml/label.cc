#include "ops/ml/label.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/value/text.h"
#include "ops/core/move.h"
#include "ops/core/numbers.h"

namespace frazil::ops {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

/// Returns bits that are equal for equal numbers: there is one NaN and one zero.
std::uint64_t key_bits(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
}

std::uint64_t key_at(Elem elem, const std::byte* data, std::int64_t i) {
  std::uint64_t bits = 0;
  visit_storage(elem, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>)
      bits = static_cast<std::uint64_t>(+element<T>(data, i));
    else
      bits = key_bits(to_number(element<T>(data, i)));
  });
  return bits;
}

std::size_t find(const KeyPlaces& places, Elem elem, const std::byte* data, std::int64_t i) {
  const auto in = [](const auto& map, const auto& key) {
    const auto at = map.find(key);
    return at == map.end() ? kNowhere : at->second;
  };
  if (elem == Elem::string) return in(places.strings, element<std::string>(data, i));
  return in(places.numbers, key_at(elem, data, i));
}

KeyPlaces places_of(Elem elem, const std::byte* data, std::size_t count) {
  KeyPlaces places;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (elem == Elem::string)
      places.strings[element<std::string>(data, at)] = i;
    else
      places.numbers[key_at(elem, data, at)] = i;
  }
  return places;
}

// ---- LabelEncoder ----

/// The one of four attribute lists that is set.
struct List {
  Elem elem = Elem::f32;
  const std::byte* data = nullptr;
  std::size_t count = 0;
};

template <class T>
void add(std::vector<List>& lists, const std::optional<std::vector<T>>& values) {
  if (values) lists.push_back({elem_of<T>(), reinterpret_cast<const std::byte*>(values->data()), values->size()});
}

Result<List> list_of(std::string_view what, const std::optional<Tensor>& tensor, const std::optional<Strings>& strings,
                     const std::optional<Ints>& ints, const std::optional<Floats>& floats) {
  std::vector<List> lists;
  add(lists, strings);
  add(lists, ints);
  add(lists, floats);
  if (tensor) lists.push_back({tensor->elem(), tensor->data(), static_cast<std::size_t>(tensor->count())});
  if (lists.size() != 1) {
    return fail(Code::bad_model, "one of {0}_tensor, {0}_strings, {0}_int64s and {0}_floats must be given, got {1}",
                what, lists.size());
  }
  if (tensor && (!contains(kEncoded, lists[0].elem) || !tensor->contiguous() || !is_aligned(*tensor))) {
    return fail(Code::bad_model, "{}_tensor cannot be {}", what, tensor->type_str());
  }
  return lists[0];
}

Result<List> keys_of(const LabelEncoderAttrs& a) {
  return list_of("keys", a.keys_tensor, a.keys_strings, a.keys_int64s, a.keys_floats);
}
Result<List> values_of(const LabelEncoderAttrs& a) {
  return list_of("values", a.values_tensor, a.values_strings, a.values_int64s, a.values_floats);
}

/// Returns the value for keys that are not listed.
Result<Tensor> default_of(const LabelEncoderAttrs& a, Elem elem) {
  if (a.default_tensor) {
    if (a.default_tensor->elem() == elem && a.default_tensor->count() == 1) return a.default_tensor->packed();
    return fail(Code::bad_model, "default_tensor must be one {}, got {}", name_of(elem), a.default_tensor->type_str());
  }
  FRAZIL_TRY(Tensor one, Tensor::make(elem, {}));
  if (elem == Elem::string)
    one.as_mutable<std::string>()[0] = a.default_string;
  else
    from_numbers(elem, one.mutable_data(), std::array{is_int(elem) ? -1.0 : -0.0});
  if (elem == Elem::i64) one.as_mutable<std::int64_t>()[0] = a.default_int64;
  if (elem == Elem::f32) one.as_mutable<float>()[0] = a.default_float;
  return one;
}

Status check_encoder(const LabelEncoderAttrs& a, Elem in, Elem& out) {
  FRAZIL_TRY(const List keys, keys_of(a));
  FRAZIL_TRY(const List values, values_of(a));
  if (keys.count != values.count) return fail(Code::bad_model, "{} keys, but {} values", keys.count, values.count);
  if (keys.elem != in)
    return fail(Code::bad_model, "input 'X' is {}, the keys are {}", name_of(in), name_of(keys.elem));
  FRAZIL_TRY(const Tensor otherwise, default_of(a, values.elem));
  (void)otherwise;
  out = values.elem;
  return {};
}

}  // namespace

Status label_encoder_types(InferCx& cx) {
  Elem out = Elem::f32;
  if (Status s = check_encoder(cx.attrs<LabelEncoderAttrs>(), cx.elem(0), out); !s) {
    return cx.error("{}", s.error().text());
  }
  cx.out(0, cx.type(0).ranked ? Type::tensor(out, cx.shape(0)) : Type::unranked(out));
  return {};
}

Status label_encoder_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<LabelEncoderAttrs>();
  FRAZIL_TRY(const List keys, keys_of(a));
  FRAZIL_TRY(const List values, values_of(a));
  FRAZIL_TRY(const Tensor otherwise, default_of(a, values.elem));
  FRAZIL_TRY(const auto places,
             a.places.get([&]() -> Result<KeyPlaces> { return places_of(keys.elem, keys.data, keys.count); }));
  FRAZIL_TRY(std::byte * out, call.out(0, x.sizes));
  const std::size_t width = byte_size(values.elem);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count(); ++i, out += width) {
    if (throttle.stop(8)) return {};
    const std::size_t at = find(*places, x.elem, x.data, i);
    move_elements(values.elem, out, at == kNowhere ? otherwise.data() : values.data + at * width, 1);
  }
  return {};
}

// ---- CategoryMapper ----

Elem category_elem(const void*, std::span<const Elem> inputs) {
  return inputs[0] == Elem::string ? Elem::i64 : Elem::string;
}

void category_mapper_body(CompositeCx& cx) {
  const auto& a = cx.attrs<CategoryMapperAttrs>();
  LabelEncoderAttrs encoder{.default_string = a.default_string, .default_int64 = a.default_int64};
  if (cx.elem(0) == Elem::string) {
    encoder.keys_strings = a.cats_strings;
    encoder.values_int64s = a.cats_int64s;
  } else {
    encoder.keys_int64s = a.cats_int64s;
    encoder.values_strings = a.cats_strings;
  }
  if (a.cats_strings.size() != a.cats_int64s.size()) {
    return cx.error("{} cats_strings, but {} cats_int64s", a.cats_strings.size(), a.cats_int64s.size());
  }
  cx.out(0, LabelEncoder({cx.in(0)}, std::move(encoder)));
}

// ---- OneHotEncoder ----

Status one_hot_encoder_types(InferCx& cx) {
  const auto& a = cx.attrs<OneHotEncoderAttrs>();
  if (a.cats_int64s.empty() == a.cats_strings.empty()) {
    return cx.error("one of cats_int64s and cats_strings must be given");
  }
  if (a.cats_strings.empty() == (cx.elem(0) == Elem::string)) {
    return cx.error("input 'X' is {}, the categories are {}", cx.type_str(0),
                    a.cats_strings.empty() ? "integers" : "strings");
  }
  Shape shape = cx.shape(0);
  shape.push_back(static_cast<std::int64_t>(std::max(a.cats_int64s.size(), a.cats_strings.size())));
  cx.out(0, Type::tensor(Elem::f32, std::move(shape)));
  return {};
}

namespace {

std::shared_ptr<const KeyPlaces> category_places(const OneHotEncoderAttrs& a) {
  return *a.places.get([&]() -> Result<KeyPlaces> {
    if (!a.cats_strings.empty()) {
      return places_of(Elem::string, reinterpret_cast<const std::byte*>(a.cats_strings.data()), a.cats_strings.size());
    }
    return places_of(Elem::i64, reinterpret_cast<const std::byte*>(a.cats_int64s.data()), a.cats_int64s.size());
  });
}

/// Returns the category of element i. Fractions are truncated.
std::size_t category_of(const KeyPlaces& places, const TensorView& x, std::int64_t i) {
  if (x.elem == Elem::string) return find(places, x.elem, x.data, i);
  if (is_int(x.elem)) return find(places, x.elem, x.data, i);
  const double value = x.elem == Elem::f64 ? x.as<double>()[static_cast<std::size_t>(i)]
                                           : double{x.as<float>()[static_cast<std::size_t>(i)]};
  if (!(std::abs(value) < 0x1p63)) return kNowhere;
  const auto whole = static_cast<std::int64_t>(value);
  return find(places, Elem::i64, reinterpret_cast<const std::byte*>(&whole), 0);
}

}  // namespace

Status one_hot_encoder_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<OneHotEncoderAttrs>();
  const auto categories = static_cast<std::int64_t>(std::max(a.cats_int64s.size(), a.cats_strings.size()));
  const auto places = category_places(a);
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes.push_back(categories);
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  auto* row = reinterpret_cast<float*>(out);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count(); ++i, row += categories) {
    if (throttle.stop(8 + categories)) return {};
    std::fill_n(row, categories, 0.0f);
    const std::size_t at = category_of(*places, x, i);
    if (at != kNowhere) row[at] = 1;
    if (at == kNowhere && a.zeros == 0) return fail(Code::bad_input, "input 'X': element {} is not a category", i);
  }
  return {};
}

}  // namespace frazil::ops
