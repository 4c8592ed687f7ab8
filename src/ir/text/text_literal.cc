#include "ir/text/text_literal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "ir/text/text.h"
#include "ir/text/text_lexer.h"

namespace frazil {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
bool store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T plain_nan() {
  return std::bit_cast<T>(sizeof(T) == 8 ? static_cast<BitsOf<T>>(0x7ff8000000000000ull)
                                         : static_cast<BitsOf<T>>(0x7fc00000u));
}

template <class T>
std::string real_text(T value) {
  if (!std::isnan(value)) return fmt::format("{}", value);
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  return bits == std::bit_cast<BitsOf<T>>(plain_nan<T>()) ? "nan" : fmt::format("0x{:x}", bits);
}

template <class T>
bool read_number(std::string_view word, T& value) {
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && next == end;
}

template <class T>
bool read_bits(std::string_view word, T& bits) {
  if (!word.starts_with("0x")) return false;
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data() + 2, end, bits, 16);
  return error == std::errc() && next == end;
}

template <class T>
bool read_real(std::string_view word, T& value) {
  BitsOf<T> bits;
  if (read_bits(word, bits)) {
    value = std::bit_cast<T>(bits);
    return true;
  }
  if (word == "nan") {
    value = plain_nan<T>();
    return true;
  }
  return read_number(word, value);
}

float small_value(Elem elem, const std::byte* from) {
  float f = 0;
  to_f32(elem, from, &f, 1);
  return f;
}

std::string small_text(Elem elem, const std::byte* from) {
  const float f = small_value(elem, from);
  const float shown = std::isnan(f) ? plain_nan<float>() : f;
  std::byte again[2] = {};
  from_f32(elem, &shown, again, 1);
  const std::size_t size = byte_size(elem);
  if (std::memcmp(again, from, size) == 0) return real_text(shown);
  return fmt::format("0x{:x}", size == 1 ? load<std::uint8_t>(from) : load<std::uint16_t>(from));
}

bool read_small(Elem elem, std::string_view word, std::byte* to) {
  std::uint16_t bits = 0;
  if (read_bits(word, bits)) {
    if (byte_size(elem) == 2) return store(to, bits);
    return bits <= 0xff && store(to, static_cast<std::uint8_t>(bits));
  }
  float f = 0;
  if (!read_real(word, f)) return false;
  from_f32(elem, &f, to, 1);
  return true;
}

template <class T>
bool read_real_to(std::string_view word, std::byte* to) {
  T value;
  return read_real(word, value) && store(to, value);
}

template <class T>
bool read_int_to(std::string_view word, std::byte* to, int bits) {
  T value;
  if (!read_number(word, value)) return false;
  if constexpr (sizeof(T) == 1) {
    const int low = std::is_signed_v<T> ? -(1 << (bits - 1)) : 0;
    if (value < low || value >= low + (1 << bits)) return false;
  }
  return store(to, value);
}

template <class T>
std::string complex_text(const std::byte* from) {
  return fmt::format("({}, {})", real_text(load<T>(from)), real_text(load<T>(from + sizeof(T))));
}

}  // namespace

void append_element(std::string& out, Elem elem, const std::byte* from) {
  const auto put = [&](auto value) { fmt::format_to(std::back_inserter(out), "{}", value); };
  if (is_small_float(elem)) return put(small_text(elem, from));
  switch (elem) {
    case Elem::boolean: return put(load<std::uint8_t>(from) != 0);
    case Elem::i16: return put(load<std::int16_t>(from));
    case Elem::i32: return put(load<std::int32_t>(from));
    case Elem::i64: return put(load<std::int64_t>(from));
    case Elem::u16: return put(load<std::uint16_t>(from));
    case Elem::u32: return put(load<std::uint32_t>(from));
    case Elem::u64: return put(load<std::uint64_t>(from));
    case Elem::f32: return put(real_text(load<float>(from)));
    case Elem::f64: return put(real_text(load<double>(from)));
    case Elem::c64: return put(complex_text<float>(from));
    case Elem::c128: return put(complex_text<double>(from));
    case Elem::string: return put(quoted(*reinterpret_cast<const std::string*>(from)));
    default: break;
  }
  if (is_signed_int(elem)) return put(static_cast<int>(load<std::int8_t>(from)));
  put(static_cast<int>(load<std::uint8_t>(from)));
}

bool read_element(Elem elem, std::string_view word, std::byte* to) {
  if (is_small_float(elem)) return read_small(elem, word, to);
  switch (elem) {
    case Elem::boolean: return (word == "true" || word == "false") && store(to, std::uint8_t{word == "true"});
    case Elem::i16: return read_int_to<std::int16_t>(word, to, 16);
    case Elem::i32: return read_int_to<std::int32_t>(word, to, 32);
    case Elem::i64: return read_int_to<std::int64_t>(word, to, 64);
    case Elem::u16: return read_int_to<std::uint16_t>(word, to, 16);
    case Elem::u32: return read_int_to<std::uint32_t>(word, to, 32);
    case Elem::u64: return read_int_to<std::uint64_t>(word, to, 64);
    case Elem::f32: return read_real_to<float>(word, to);
    case Elem::f64: return read_real_to<double>(word, to);
    case Elem::c64:
    case Elem::c128:
    case Elem::string: return false;
    default: break;
  }
  if (is_signed_int(elem)) return read_int_to<std::int8_t>(word, to, bit_width(elem));
  return read_int_to<std::uint8_t>(word, to, bit_width(elem));
}

std::string values_text(const Tensor& tensor) {
  const auto packed = tensor.packed();
  if (!packed) return "[...]";
  const Sizes& sizes = packed->sizes();
  const std::int64_t count = packed->count();
  if (count == 0) return "[]";
  std::string out;
  const auto brackets = [&](std::int64_t i, char bracket) {
    std::int64_t size = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      size *= sizes[d];
      if (i % size == 0) out += bracket;
    }
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    brackets(i, '[');
    append_element(out, packed->elem(), packed->data() + static_cast<std::size_t>(i) * byte_size(packed->elem()));
    brackets(i + 1, ']');
  }
  return out;
}

std::string literal(const Tensor& tensor) { return tensor.type_str() + " " + values_text(tensor); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::optional<std::string> unquoted(std::string_view token) {
  std::string out;
  const std::string_view text = token.substr(1, token.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'n' || c == 't' || c == 'r') {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
    } else if (unsigned value = 0; c == 'x' && i + 2 < text.size() &&
                                   std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr == &text[i + 1] + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::string name_text(std::string_view name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, is_name_char) && (name[0] < '0' || name[0] > '9');
  return plain ? std::string(name) : quoted(name);
}

}  // namespace frazil
