#include "tool/fill.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include "base/value/float.h"

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

/// Writes real(i) to every component of a float or complex tensor.
template <class F>
void write_reals(Tensor& tensor, F real) {
  const auto count = static_cast<std::uint64_t>(tensor.count()) * (is_complex(tensor.elem()) ? 2 : 1);
  std::byte* data = tensor.mutable_data();
  if (tensor.elem() == Elem::f64 || tensor.elem() == Elem::c128) {
    for (std::uint64_t i = 0; i < count; ++i) reinterpret_cast<double*>(data)[i] = real(i);
  } else if (tensor.elem() == Elem::f32 || tensor.elem() == Elem::c64) {
    for (std::uint64_t i = 0; i < count; ++i) reinterpret_cast<float*>(data)[i] = static_cast<float>(real(i));
  } else {
    std::vector<float> wide(count);
    for (std::uint64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(real(i));
    from_f32(tensor.elem(), wide.data(), data, count);
  }
}

/// Writes integer(i) for every element of an integer, bool or string tensor.
template <class F>
void write_integers(Tensor& tensor, F integer) {
  const auto count = static_cast<std::uint64_t>(tensor.count());
  if (tensor.elem() == Elem::string) {
    auto* strings = reinterpret_cast<std::string*>(tensor.mutable_data());
    for (std::uint64_t i = 0; i < count; ++i) strings[i] = std::to_string(integer(i));
    return;
  }
  const std::size_t size = byte_size(tensor.elem());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t value = integer(i);
    std::memcpy(tensor.mutable_data() + i * size, &value, size);  // little-endian, two's complement
  }
}

bool holds_reals(Elem elem) { return is_float(elem) || is_complex(elem); }

/// Returns the inclusive range of the element type, within int64.
std::pair<std::int64_t, std::int64_t> ends_of(Elem elem) {
  if (elem == Elem::string || elem == Elem::i64) return {INT64_MIN, INT64_MAX};
  if (elem == Elem::boolean) return {0, 1};
  const int bits = bit_width(elem);
  if (is_signed_int(elem)) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? INT64_MAX : (std::int64_t{1} << bits) - 1};
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Status real_range(Tensor& tensor, std::uint64_t key, std::string_view from, std::string_view to) {
  double lo = 0, hi = 0;
  if (!parse(from, lo) || !parse(to, hi) || !std::isfinite(lo) || !std::isfinite(hi) || lo >= hi) {
    return fail(Code::bad_input, "the range {}..{} holds no {}", from, to, name_of(tensor.elem()));
  }
  write_reals(tensor, [&](std::uint64_t i) { return std::lerp(lo, hi, uniform_at(key, i)); });
  return {};
}

Status integer_range(Tensor& tensor, std::uint64_t key, std::string_view from, std::string_view to) {
  const auto [least, most] = ends_of(tensor.elem());
  std::int64_t lo = 0, hi = 0;
  if (!parse(from, lo) || !parse(to, hi) || lo >= hi || lo < least || hi - 1 > most) {
    return fail(Code::bad_input, "the range {}..{} is not a range of {}", from, to, name_of(tensor.elem()));
  }
  const std::uint64_t width = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  write_integers(tensor, [&](std::uint64_t i) {
    __extension__ using Wide = unsigned __int128;
    const auto offset = static_cast<std::uint64_t>((static_cast<Wide>(bits_at(key, i)) * width) >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + offset);
  });
  return {};
}

Status integer_value(Tensor& tensor, std::string_view text) {
  const auto [least, most] = ends_of(tensor.elem());
  std::int64_t value = 0;
  std::uint64_t large = 0;
  if (tensor.elem() == Elem::boolean && (text == "true" || text == "false")) {
    value = text == "true";
  } else if (tensor.elem() == Elem::u64 && parse(text, large)) {
    value = static_cast<std::int64_t>(large);
  } else if (!parse(text, value) || value < least || value > most) {
    return fail(Code::bad_input, "'{}' is not of type {}", text, name_of(tensor.elem()));
  }
  write_integers(tensor, [&](std::uint64_t) { return value; });
  return {};
}

}  // namespace

void fill_random(Tensor& tensor, std::uint64_t key) {
  if (holds_reals(tensor.elem())) {
    write_reals(tensor, [&](std::uint64_t i) { return normal_at(key, i); });
  } else {
    write_integers(tensor, [&](std::uint64_t i) { return static_cast<std::int64_t>(bits_at(key, i) >> 63); });
  }
}

Status fill_range(Tensor& tensor, std::uint64_t key, std::string_view from, std::string_view to) {
  return holds_reals(tensor.elem()) ? real_range(tensor, key, from, to) : integer_range(tensor, key, from, to);
}

Status fill_value(Tensor& tensor, std::string_view text) {
  if (tensor.elem() == Elem::string) {
    for (std::string& s : tensor.as_mutable<std::string>()) s = text;
    return {};
  }
  if (!holds_reals(tensor.elem())) return integer_value(tensor, text);
  double value = 0;
  if (!parse(text, value)) return fail(Code::bad_input, "'{}' is not of type {}", text, name_of(tensor.elem()));
  write_reals(tensor, [&](std::uint64_t i) { return is_complex(tensor.elem()) && i % 2 == 1 ? 0.0 : value; });
  return {};
}

}  // namespace frazil::tool
