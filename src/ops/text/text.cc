#include "ops/text/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/value/text.h"
#include "ops/core/move.h"
#include "ops/core/numbers.h"

namespace frazil::ops {

Status string_concat_plain(std::span<const ElementRef> in, const void*, Elem, std::byte* out) {
  assign_text(*reinterpret_cast<std::string*>(out), in[0].as<std::string>() + in[1].as<std::string>());
  return {};
}

// ---- numbers as text ----

namespace {

template <class T>
std::string real_text(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  return fmt::format("{}", value);
}

std::string number_text(const ElementRef& x) {
  if (x.elem == Elem::string) return x.as<std::string>();
  if (x.elem == Elem::f64) return real_text(x.as<double>());
  if (x.elem == Elem::f32) return real_text(x.as<float>());
  if (is_small_float(x.elem)) {
    float value = 0;
    to_f32(x.elem, x.data, &value, 1);
    return real_text(value);
  }
  std::string text;
  visit_storage(x.elem, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>) text = fmt::format("{}", +x.as<T>());
  });
  return text;
}

template <class T>
std::optional<T> read_all(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<double> read_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // The number is out of the range of double: strtod distinguishes overflow from underflow.
  return std::strtod(std::string(text).c_str(), nullptr);
}

std::unexpected<Fault> no_number(std::string_view text, Elem elem) {
  return fail(Code::bad_input, "'{}' is not a number of type {}", printable(text, 40), name_of(elem));
}

/// Returns the low bits of `value`, sign-extended for a signed type.
std::int8_t low_bits(std::int64_t value, Elem elem) {
  const int unused = 64 - bit_width(elem);
  const auto high = static_cast<std::uint64_t>(value) << unused;
  return static_cast<std::int8_t>(is_signed_int(elem) ? static_cast<std::int64_t>(high) >> unused
                                                      : static_cast<std::int64_t>(high >> unused));
}

void store_real(double value, Elem elem, std::byte* out) {
  if (is_int(elem) && bit_width(elem) < 8) {
    *out = static_cast<std::byte>(low_bits(from_number<std::int64_t>(value), elem));
  } else if (byte_size(elem) == 1 && is_small_float(elem)) {
    const auto narrow = static_cast<float>(value);
    from_f32(elem, &narrow, out, 1);
  } else {
    from_numbers(elem, out, std::array{value});
  }
}

/// Parses and stores a 64-bit integer without a conversion via double, which could round it. Returns false for other
/// types and for other text.
bool store_integer(std::string_view text, Elem elem, std::byte* out) {
  if (elem == Elem::u64) {
    const auto value = read_all<std::uint64_t>(text);
    if (value) element<std::uint64_t>(out, 0) = *value;
    return value.has_value();
  }
  const auto value = elem == Elem::i64 ? read_all<std::int64_t>(text) : std::nullopt;
  if (value) element<std::int64_t>(out, 0) = *value;
  return value.has_value();
}

}  // namespace

Status cast_plain(std::span<const ElementRef> in, const void*, Elem elem, std::byte* out) {
  if (elem == Elem::string) {
    assign_text(*reinterpret_cast<std::string*>(out), number_text(in[0]));
    return {};
  }
  const std::string& text = in[0].as<std::string>();
  std::string_view word = trimmed(text);
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  if (store_integer(word, elem, out)) return {};
  const auto value = read_real(word);
  if (!value) return no_number(text, elem);
  store_real(*value, elem, out);
  return {};
}

// ---- StringSplit ----

namespace {

using Parts = std::vector<std::string_view>;

Parts split_blank(std::string_view text, std::size_t most) {
  constexpr std::string_view blank = " \t\n\r\f\v";
  Parts parts;
  for (std::size_t at = text.find_first_not_of(blank); at < text.size(); at = text.find_first_not_of(blank, at)) {
    const std::size_t end = parts.size() == most ? text.size() : std::min(text.find_first_of(blank, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

Parts split_at(std::string_view text, std::string_view delimiter, std::size_t most) {
  Parts parts;
  while (parts.size() < most) {
    const std::size_t end = text.find(delimiter);
    if (end == text.npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

Parts split(std::string_view text, const StringSplitAttrs& a) {
  const std::int64_t most = a.maxsplit.value_or(-1);
  const std::size_t limit = most < 0 ? std::string_view::npos : static_cast<std::size_t>(most);
  return a.delimiter.value_or("").empty() ? split_blank(text, limit) : split_at(text, *a.delimiter, limit);
}

}  // namespace

Status string_split_types(InferCx& cx) {
  Shape shape = cx.shape(0);
  cx.out(1, Type::tensor(Elem::i64, shape));
  shape.push_back(cx.data_extent(0, static_cast<int>(shape.size())));
  cx.out(0, Type::tensor(Elem::string, std::move(shape)));
  return {};
}

Status string_split_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<StringSplitAttrs>();
  const auto text = x.as<std::string>();
  FRAZIL_TRY(std::byte * scratch, call.scratch(text.size() * sizeof(std::int64_t)));
  auto* const counts = reinterpret_cast<std::int64_t*>(scratch);
  std::int64_t most = 0;
  PollThrottle throttle;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (throttle.stop(1 + static_cast<std::int64_t>(text[i].size()))) return {};
    counts[i] = static_cast<std::int64_t>(split(text[i], a).size());
    most = std::max(most, counts[i]);
  }
  if (call.wants(1)) {
    FRAZIL_TRY(std::byte * out, call.out(1, x.sizes));
    std::copy_n(counts, text.size(), reinterpret_cast<std::int64_t*>(out));
  }
  if (!call.wants(0)) return {};
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes.push_back(most);
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  auto* row = reinterpret_cast<std::string*>(out);
  for (const std::string& s : text) {
    if (throttle.stop(1 + static_cast<std::int64_t>(s.size()))) return {};
    std::string* to = row;
    for (const std::string_view part : split(s, a)) assign_text(*to++, std::string(part));
    row += most;
  }
  return {};
}

}  // namespace frazil::ops
