#include "tool/fill.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/ranges.h>

namespace frazil::tool {
namespace {

/// SplitMix64: number `counter` of the stream `key`.
std::uint64_t bits_at(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t z = key + (counter + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Returns a number in [0, 1) with 53 bits.
double uniform_at(std::uint64_t key, std::uint64_t counter) {
  return static_cast<double>(bits_at(key, counter) >> 11) * 0x1p-53;
}

double normal_at(std::uint64_t key, std::uint64_t i) {
  const double u = 1.0 - uniform_at(key, 2 * i);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform_at(key, 2 * i + 1));
}

/// Makes a float or complex tensor with real(i) as component i.
template <class F>
Array of_reals(Dtype dtype, const Sizes& sizes, F real) {
  Array array(dtype, sizes);
  const auto count = static_cast<std::uint64_t>(array.count()) * (is_complex(dtype) ? 2 : 1);
  if (dtype == Dtype::f64 || dtype == Dtype::c128) {
    auto* const to = static_cast<double*>(array.mutable_data());
    for (std::uint64_t i = 0; i < count; ++i) to[i] = real(i);
    return array;
  }
  if (dtype == Dtype::f32 || dtype == Dtype::c64) {
    auto* const to = static_cast<float*>(array.mutable_data());
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<float>(real(i));
    return array;
  }
  std::vector<float> wide(count);
  for (std::uint64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(real(i));
  return api::rounded(dtype, sizes, wide);
}

/// Makes an integer, bool or string tensor with integer(i) as element i.
template <class F>
Array of_integers(Dtype dtype, const Sizes& sizes, F integer) {
  Array array(dtype, sizes);
  const auto count = static_cast<std::uint64_t>(array.count());
  if (dtype == Dtype::string) {
    const auto strings = array.mutable_values<std::string>();
    for (std::uint64_t i = 0; i < count; ++i) strings[i] = std::to_string(integer(i));
    return array;
  }
  const std::size_t size = byte_size(dtype);
  auto* const to = static_cast<std::byte*>(array.mutable_data());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t value = integer(i);
    std::memcpy(to + i * size, &value, size);  // little-endian, two's complement
  }
  return array;
}

bool holds_reals(Dtype dtype) { return is_float(dtype) || is_complex(dtype); }

bool is_signed_int(Dtype dtype) {
  return (dtype >= Dtype::i8 && dtype <= Dtype::i64) || dtype == Dtype::i4 || dtype == Dtype::i2;
}

int bits_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::i4:
    case Dtype::u4: return 4;
    case Dtype::i2:
    case Dtype::u2: return 2;
    default: return static_cast<int>(byte_size(dtype)) * 8;
  }
}

/// Returns the inclusive range of the element type, within int64.
std::pair<std::int64_t, std::int64_t> ends_of(Dtype dtype) {
  if (dtype == Dtype::string || dtype == Dtype::i64) return {INT64_MIN, INT64_MAX};
  if (dtype == Dtype::boolean) return {0, 1};
  const int bits = bits_of(dtype);
  if (is_signed_int(dtype)) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? INT64_MAX : (std::int64_t{1} << bits) - 1};
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Array reals_in(Dtype dtype, const Sizes& sizes, std::uint64_t key, std::string_view from, std::string_view to) {
  double lo = 0, hi = 0;
  if (!parse(from, lo) || !parse(to, hi) || !std::isfinite(lo) || !std::isfinite(hi) || lo >= hi) {
    fail(Code::bad_input, "the range {}..{} holds no {}", from, to, name_of(dtype));
  }
  return of_reals(dtype, sizes, [&](std::uint64_t i) { return std::lerp(lo, hi, uniform_at(key, i)); });
}

Array integers_in(Dtype dtype, const Sizes& sizes, std::uint64_t key, std::string_view from, std::string_view to) {
  const auto [least, most] = ends_of(dtype);
  std::int64_t lo = 0, hi = 0;
  if (!parse(from, lo) || !parse(to, hi) || lo >= hi || lo < least || hi - 1 > most) {
    fail(Code::bad_input, "the range {}..{} is not a range of {}", from, to, name_of(dtype));
  }
  const std::uint64_t width = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  return of_integers(dtype, sizes, [&](std::uint64_t i) {
    __extension__ using Wide = unsigned __int128;
    const auto offset = static_cast<std::uint64_t>((static_cast<Wide>(bits_at(key, i)) * width) >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + offset);
  });
}

std::int64_t integer_of(Dtype dtype, std::string_view text) {
  const auto [least, most] = ends_of(dtype);
  std::int64_t value = 0;
  std::uint64_t large = 0;
  if (dtype == Dtype::boolean && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
  if (dtype == Dtype::u64 && parse(text, large)) return static_cast<std::int64_t>(large);
  if (!parse(text, value) || value < least || value > most) {
    fail(Code::bad_input, "'{}' is not of type {}", text, name_of(dtype));
  }
  return value;
}

}  // namespace

bool is_complex(Dtype dtype) { return dtype == Dtype::c64 || dtype == Dtype::c128; }

bool is_float(Dtype dtype) {
  return (dtype >= Dtype::f16 && dtype <= Dtype::f64) || (dtype >= Dtype::f8e4m3fn && dtype <= Dtype::f4e2m1);
}

std::string type_text(Dtype dtype, const Sizes& sizes) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(sizes, ","));
}

void check_bytes(Dtype dtype, const Sizes& sizes, std::uint64_t max_bytes) {
  std::uint64_t bytes = byte_size(dtype);
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) bytes = ~std::uint64_t{0};
    if (bytes > max_bytes) {
      const bool empty = std::ranges::find(sizes, 0) != sizes.end();
      fail(Code::limit, "{} takes more than the limit of {} bytes{}", type_text(dtype, sizes), max_bytes,
           empty ? " if 0 counts as 1" : "");
    }
  }
}

Array random_array(Dtype dtype, const Sizes& sizes, std::uint64_t key) {
  if (holds_reals(dtype)) return of_reals(dtype, sizes, [&](std::uint64_t i) { return normal_at(key, i); });
  return of_integers(dtype, sizes, [&](std::uint64_t i) { return static_cast<std::int64_t>(bits_at(key, i) >> 63); });
}

Array random_array_in(Dtype dtype, const Sizes& sizes, std::uint64_t key, std::string_view from, std::string_view to) {
  return holds_reals(dtype) ? reals_in(dtype, sizes, key, from, to) : integers_in(dtype, sizes, key, from, to);
}

Array filled_array(Dtype dtype, const Sizes& sizes, std::string_view text) {
  if (dtype == Dtype::string) {
    Array array(dtype, sizes);
    for (std::string& s : array.mutable_values<std::string>()) s = text;
    return array;
  }
  if (!holds_reals(dtype)) {
    return of_integers(dtype, sizes, [value = integer_of(dtype, text)](std::uint64_t) { return value; });
  }
  double value = 0;
  if (!parse(text, value)) fail(Code::bad_input, "'{}' is not of type {}", text, name_of(dtype));
  return of_reals(dtype, sizes, [&](std::uint64_t i) { return is_complex(dtype) && i % 2 == 1 ? 0.0 : value; });
}

}  // namespace frazil::tool
