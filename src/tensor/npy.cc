#include "tensor/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/os/io.h"
#include "base/value/text.h"
#include "tensor/strided.h"

namespace frazil {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;

struct Header {
  std::string descr;
  bool fortran = false;
  Sizes shape;
};

/// A parser of the Python dict literal in an .npy header.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    unsigned seen = 0;
    if (!take('{')) return broken("it is not a dictionary");
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return broken("a key is not a string");
      FRAZIL_TRY(const unsigned bit, entry(*key, header));
      if ((seen & bit) != 0) return broken("a key occurs twice");
      seen |= bit;
      if (!take(',') && peek() != '}') return broken("an entry does not end in ',' or '}'");
    }
    if (seen != 7) return broken("'descr', 'fortran_order' or 'shape' is missing");
    if (peek() != '\0') return broken("text follows the dictionary");
    return header;
  }

 private:
  static std::unexpected<Fault> broken(std::string_view why) { return fail(Code::bad_input, "bad header: {}", why); }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  Result<unsigned> entry(std::string_view key, Header& header) {
    if (key == "descr") {
      if (peek() == '[') return fail(Code::unsupported, "structured dtypes are not supported");
      auto value = string();
      if (!value) return broken("'descr' is not a string");
      header.descr = std::move(*value);
      return 1u;
    }
    if (key == "fortran_order") {
      header.fortran = take("True");
      if (!header.fortran && !take("False")) return broken("'fortran_order' is neither True nor False");
      return 2u;
    }
    if (key == "shape") {
      FRAZIL_TRY(header.shape, shape());
      return 4u;
    }
    return broken(fmt::format("unknown key '{:.32}'", key));
  }

  Result<Sizes> shape() {
    Sizes out;
    if (!take('(')) return broken("'shape' is not a tuple");
    while (!take(')')) {
      peek();
      std::int64_t extent = 0;
      const char* end = text_.data() + text_.size();
      const auto [next, error] = std::from_chars(text_.data() + at_, end, extent);
      if (error != std::errc() || extent < 0) return broken("'shape' holds something that is not an extent");
      at_ = static_cast<std::size_t>(next - text_.data());
      take('L');
      out.push_back(extent);
      if (out.size() > kMaxRank) return broken(fmt::format("more than {} dimensions", kMaxRank));
      if (!take(',') && peek() != ')') return broken("'shape' is not a tuple");
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Dtype {
  Elem elem = Elem::f32;
  bool swap = false;
  bool unicode = false;
  std::size_t width = 0;  ///< bytes per item in the file
};

std::optional<Elem> numeric_elem(std::string_view code) {
  constexpr std::pair<std::string_view, Elem> kCodes[] = {
      {"b1", Elem::boolean}, {"i1", Elem::i8},  {"i2", Elem::i16}, {"i4", Elem::i32},   {"i8", Elem::i64},
      {"u1", Elem::u8},      {"u2", Elem::u16}, {"u4", Elem::u32}, {"u8", Elem::u64},   {"f2", Elem::f16},
      {"f4", Elem::f32},     {"f8", Elem::f64}, {"c8", Elem::c64}, {"c16", Elem::c128},
  };
  for (const auto& [name, elem] : kCodes) {
    if (name == code) return elem;
  }
  return std::nullopt;
}

Result<Dtype> parse_dtype(std::string_view descr) {
  Dtype type;
  std::string_view code = descr;
  bool big = std::endian::native == std::endian::big;
  if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
    if (code[0] == '<' || code[0] == '>') big = code[0] == '>';
    code.remove_prefix(1);
  }
  type.swap = big != (std::endian::native == std::endian::big);
  if (const auto elem = numeric_elem(code)) {
    type.elem = *elem;
    type.width = byte_size(*elem);
    return type;
  }
  if (code.size() > 1 && (code[0] == 'S' || code[0] == 'U' || code[0] == 'a')) {
    type.elem = Elem::string;
    type.unicode = code[0] == 'U';
    const auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), type.width);
    const bool whole = error == std::errc() && end == code.data() + code.size();
    if (whole && type.width > 0 && type.width < (std::size_t{1} << 40)) {
      type.width *= type.unicode ? 4 : 1;
      return type;
    }
  }
  if (code == "O") return fail(Code::unsupported, "it holds pickled Python objects");
  return fail(Code::unsupported, "dtype '{:.32}' is not supported", descr);
}

template <class T>
T little(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | (static_cast<T>(bytes[at + i]) << (8 * i)));
  }
  return value;
}

void swap_bytes(std::byte* data, std::size_t count, std::size_t width) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

std::string read_string(const std::byte* item, const Dtype& type) {
  std::string out;
  if (!type.unicode) {
    out.assign(reinterpret_cast<const char*>(item), type.width);
  } else {
    for (std::size_t i = 0; i < type.width; i += 4) {
      std::uint32_t c = 0;
      std::memcpy(&c, item + i, 4);
      append_utf8(out, type.swap ? __builtin_bswap32(c) : c);
    }
  }
  out.resize(out.find_last_not_of('\0') + 1);
  return out;
}

Result<Tensor> fill(const Dtype& type, Sizes sizes, std::span<const std::byte> data) {
  FRAZIL_TRY(Tensor tensor, Tensor::make(type.elem, std::move(sizes)));
  const auto count = static_cast<std::size_t>(tensor.count());
  if (type.elem == Elem::string) {
    const std::span<std::string> out = tensor.as_mutable<std::string>();
    for (std::size_t i = 0; i < count; ++i) out[i] = read_string(data.data() + i * type.width, type);
    return tensor;
  }
  std::byte* out = tensor.mutable_data();
  if (count != 0) std::memcpy(out, data.data(), count * type.width);
  const std::size_t parts = is_complex(type.elem) ? 2 : 1;
  if (type.swap && type.width > 1) swap_bytes(out, count * parts, type.width / parts);
  if (type.elem == Elem::boolean) {
    std::transform(out, out + count, out, [](std::byte b) { return std::byte{b != std::byte{0}}; });
  }
  return tensor;
}

Result<Tensor> from_fortran(const Tensor& tensor, Sizes sizes) {
  Sizes reversed(sizes.rbegin(), sizes.rend());
  Sizes strides = contiguous_strides(reversed);
  std::ranges::reverse(strides);
  return Tensor(tensor.elem(), std::move(sizes), std::move(strides), tensor.buffer(), 0).packed();
}

/// Returns the number of bytes of the array's data; an error if fewer are available. If the array has no elements,
/// checks extents against the widest element type, so that the tensor can be written as another type.
Result<std::size_t> data_bytes(const Dtype& type, const Sizes& shape, std::size_t available) {
  constexpr std::size_t kWidest = 16;
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  std::size_t needed = empty ? std::max(type.width, kWidest) : type.width;
  bool overflow = false;
  for (const std::int64_t extent : shape) {
    if (extent != 0) overflow |= __builtin_mul_overflow(needed, static_cast<std::size_t>(extent), &needed);
  }
  if (overflow) return fail(Code::bad_input, "shape [{}] is larger than any file", fmt::join(shape, ","));
  if (empty) return 0;
  if (needed > available) {
    return fail(Code::bad_input, "cut short: shape [{}] needs {} bytes of data, the file has {}", fmt::join(shape, ","),
                needed, available);
  }
  return needed;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(Code::bad_input, "not an .npy file: it does not start with \\x93NUMPY");
  }
  const int version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3) return fail(Code::unsupported, ".npy version {} is not supported", version);
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) return fail(Code::bad_input, "cut short in the header");
  const std::size_t length = version == 1 ? little<std::uint16_t>(bytes, 8) : little<std::uint32_t>(bytes, 8);
  if (length > bytes.size() - start) return fail(Code::bad_input, "cut short in the header");
  HeaderParser parser({reinterpret_cast<const char*>(bytes.data()) + start, length});
  FRAZIL_TRY(Header header, parser.parse());
  FRAZIL_TRY(const Dtype type, parse_dtype(header.descr));
  const std::span<const std::byte> data = bytes.subspan(start + length);
  FRAZIL_TRY(const std::size_t needed, data_bytes(type, header.shape, data.size()));
  FRAZIL_TRY(Tensor tensor, fill(type, header.shape, data.first(needed)));
  if (header.fortran && header.shape.size() > 1) return from_fortran(tensor, std::move(header.shape));
  return tensor;
}

Result<std::string> unicode_data(const Tensor& tensor, std::size_t& width) {
  width = 1;
  std::u32string decoded;
  std::vector<std::size_t> ends;
  for (const std::string& text : tensor.as<std::string>()) {
    const std::size_t begin = decoded.size();
    for (std::size_t at = 0; at < text.size();) {
      const auto c = next_code_point(text, at);
      if (!c) return fail(Code::bad_input, "string {} is not UTF-8: .npy cannot hold it", ends.size());
      decoded += *c;
    }
    if (text.ends_with('\0')) return fail(Code::bad_input, "string {} ends in NUL: .npy cannot hold it", ends.size());
    ends.push_back(decoded.size());
    width = std::max(width, decoded.size() - begin);
  }
  std::string out;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::uint32_t c = begin + i < end ? static_cast<std::uint32_t>(decoded[begin + i]) : 0;
      for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(c >> shift);
    }
    begin = end;
  }
  return out;
}

Result<std::string> descr_of(Elem elem) {
  constexpr std::pair<Elem, std::string_view> kCodes[] = {
      {Elem::boolean, "|b1"}, {Elem::i8, "|i1"},  {Elem::i16, "<i2"}, {Elem::i32, "<i4"},   {Elem::i64, "<i8"},
      {Elem::u8, "|u1"},      {Elem::u16, "<u2"}, {Elem::u32, "<u4"}, {Elem::u64, "<u8"},   {Elem::f16, "<f2"},
      {Elem::f32, "<f4"},     {Elem::f64, "<f8"}, {Elem::c64, "<c8"}, {Elem::c128, "<c16"},
  };
  for (const auto& [known, code] : kCodes) {
    if (known == elem) return std::string(code);
  }
  return fail(Code::unsupported, "NumPy has no {}: cast the tensor first", name_of(elem));
}

std::string header_text(std::string_view descr, const Sizes& sizes) {
  const std::string shape =
      sizes.size() == 1 ? fmt::format("({},)", sizes[0]) : fmt::format("({})", fmt::join(sizes, ", "));
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  const std::size_t total = (kMagic.size() + 4 + dict.size() + 1 + 63) / 64 * 64;
  dict.resize(total - kMagic.size() - 4 - 1, ' ');
  dict += '\n';
  const std::size_t length = dict.size();
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return out + dict;
}

}  // namespace

Result<Tensor> npy_from_bytes(std::span<const std::byte> bytes, std::string_view name) {
  auto tensor = parse_npy(bytes);
  if (tensor) return tensor;
  return within(fmt::format("'{}': ", name), printable(std::move(tensor).error()));
}

Result<Tensor> read_npy(const std::string& path) {
  FRAZIL_TRY(const auto file, MappedFile::open(path));
  return npy_from_bytes(file->bytes(), path);
}

Result<std::string> npy_to_bytes(const Tensor& tensor) {
  if (tensor.rank() > kMaxRank) return fail(Code::unsupported, "NumPy has no arrays of rank {}", tensor.rank());
  FRAZIL_TRY(const Tensor packed, tensor.packed());
  if (tensor.elem() == Elem::string) {
    std::size_t width = 0;
    FRAZIL_TRY(const std::string data, unicode_data(packed, width));
    return header_text(fmt::format("<U{}", width), tensor.sizes()) + data;
  }
  FRAZIL_TRY(const std::string descr, descr_of(tensor.elem()));
  std::string out = header_text(descr, tensor.sizes());
  const std::size_t start = out.size();
  out.append(reinterpret_cast<const char*>(packed.data()), packed.bytes());
  if constexpr (std::endian::native == std::endian::big) {
    const std::size_t parts = is_complex(tensor.elem()) ? 2 : 1;
    const std::size_t width = byte_size(tensor.elem()) / parts;
    swap_bytes(reinterpret_cast<std::byte*>(out.data()) + start, packed.bytes() / width, width);
  }
  return out;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  auto bytes = npy_to_bytes(tensor);
  if (!bytes) return within(fmt::format("'{}': ", path), std::move(bytes).error());
  return write_file(path, *bytes);
}

}  // namespace frazil
