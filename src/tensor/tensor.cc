#include "tensor/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/limits/execution_limits.h"
#include "base/value/extents.h"
#include "tensor/strided.h"

namespace frazil {
namespace {

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

double number(Elem elem, const std::byte* p) {
  switch (elem) {
    case Elem::boolean: return load<std::uint8_t>(p) != 0 ? 1.0 : 0.0;
    case Elem::i8:
    case Elem::i4:
    case Elem::i2: return load<std::int8_t>(p);
    case Elem::i16: return load<std::int16_t>(p);
    case Elem::i32: return load<std::int32_t>(p);
    case Elem::i64: return static_cast<double>(load<std::int64_t>(p));
    case Elem::u8:
    case Elem::u4:
    case Elem::u2: return load<std::uint8_t>(p);
    case Elem::u16: return load<std::uint16_t>(p);
    case Elem::u32: return load<std::uint32_t>(p);
    case Elem::u64: return static_cast<double>(load<std::uint64_t>(p));
    case Elem::f16: return half_to_float(load<std::uint16_t>(p));
    case Elem::bf16: return bfloat16_to_float(load<std::uint16_t>(p));
    case Elem::f32:
    case Elem::c64: return load<float>(p);
    case Elem::f64:
    case Elem::c128: return load<double>(p);
    case Elem::string: return std::numeric_limits<double>::quiet_NaN();
    default: return small_to_float(elem, load<std::uint8_t>(p));
  }
}

std::int64_t truncated(double value) {
  constexpr double kLimit = 0x1p63;
  if (value != value) return 0;
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::int64_t integer(Elem elem, const std::byte* p) {
  if (elem == Elem::i64 || elem == Elem::u64) return load<std::int64_t>(p);
  return truncated(number(elem, p));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string element_str(Elem elem, const std::byte* p) {
  switch (elem) {
    case Elem::boolean: return load<std::uint8_t>(p) != 0 ? "true" : "false";
    case Elem::u64: return fmt::format("{}", load<std::uint64_t>(p));
    case Elem::f32: return fmt::format("{}", load<float>(p));
    case Elem::f64: return fmt::format("{}", load<double>(p));
    case Elem::c64: return fmt::format("{}{:+}i", load<float>(p), load<float>(p + 4));
    case Elem::c128: return fmt::format("{}{:+}i", load<double>(p), load<double>(p + 8));
    case Elem::string: return quoted(*reinterpret_cast<const std::string*>(p));
    default: break;
  }
  if (is_int(elem)) return fmt::format("{}", integer(elem, p));
  return fmt::format("{:.5g}", number(elem, p));
}

void copy_strings(const Tensor& from, std::span<std::string> to) {
  const auto* source = reinterpret_cast<const std::string*>(from.data());
  StridedWalk walk(from.sizes(), from.strides());
  for (std::string& text : to) {
    assign_text(text, source[walk.offset()]);
    walk.next();
  }
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> sizes) { return product(sizes); }

Result<std::size_t> byte_count(Elem elem, std::span<const std::int64_t> sizes, std::size_t max_bytes) {
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return fail(Code::bad_input, "{} has a negative extent", type_str(elem, sizes));
    empty |= size == 0;
  }
  std::size_t bytes = byte_size(elem);
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) bytes = SIZE_MAX;
    if (bytes > max_bytes) {
      return fail(Code::limit, "{} takes more than the limit of {} bytes{}", type_str(elem, sizes), max_bytes,
                  empty ? " if 0 counts as 1" : "");
    }
  }
  return empty ? 0 : bytes;
}

Status check_elements(Elem elem, std::span<const std::int64_t> sizes) {
  const ExecutionLimits* execution_limits = ExecutionLimits::current();
  if (execution_limits == nullptr) return {};
  const std::uint64_t most = execution_limits->limits().tensor_elements;
  if (static_cast<std::uint64_t>(element_count(sizes)) <= most) return {};
  return fail(Code::limit, "{} has more elements than the limit of {}", type_str(elem, sizes), most);
}

Sizes contiguous_strides(std::span<const std::int64_t> sizes) {
  Sizes strides(sizes.size());
  std::uint64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[axis], 1));
  }
  return strides;
}

std::string type_str(Elem elem, std::span<const std::int64_t> sizes) {
  return fmt::format("{}[{}]", name_of(elem), fmt::join(sizes, ","));
}

Result<Tensor> Tensor::make(Elem elem, Sizes sizes) {
  FRAZIL_TRY(const std::size_t bytes, byte_count(elem, sizes));
  FRAZIL_CHECK(check_elements(elem, sizes));
  FRAZIL_TRY(Buffer buffer,
             elem == Elem::string ? Buffer::strings(bytes / sizeof(std::string)) : Buffer::allocate(bytes));
  Sizes strides = contiguous_strides(sizes);
  return Tensor(elem, std::move(sizes), std::move(strides), std::move(buffer), 0);
}

Tensor Tensor::make_or_throw(Elem elem, Sizes sizes) {
  const LimitsScope nobody(nullptr);
  auto made = make(elem, std::move(sizes));
  if (made) return std::move(*made);
  if (made.error().code == Code::out_of_memory) throw std::bad_alloc();
  throw std::length_error(made.error().text());
}

void charge_text(const Tensor& t) {
  ExecutionLimits* const execution_limits = ExecutionLimits::current();
  if (t.elem() != Elem::string || execution_limits == nullptr || !t.buffer().unique()) return;
  std::size_t bytes = 0;
  PollThrottle throttle;
  for (const std::string& text : t.as<std::string>()) {
    if (throttle.stop(4)) break;  // the run has stopped
    bytes += text.size();
  }
  t.buffer().charge(bytes);
  execution_limits->text_charged();
}

Tensor::Tensor(Elem elem, Sizes sizes, Sizes strides, Buffer buffer, std::size_t offset_bytes)
    : elem_(elem),
      sizes_(std::move(sizes)),
      strides_(std::move(strides)),
      buffer_(std::move(buffer)),
      offset_(offset_bytes) {
  assert(sizes_.size() == strides_.size());
}

Result<Tensor> Tensor::over(Elem elem, Sizes sizes, Buffer buffer, std::size_t offset_bytes) {
  FRAZIL_TRY(const std::size_t bytes, byte_count(elem, sizes));
  if (offset_bytes > buffer.size() || bytes > buffer.size() - offset_bytes) {
    return fail(Code::bad_input, "{} needs {} bytes at offset {}, but the buffer has {}", frazil::type_str(elem, sizes),
                bytes, offset_bytes, buffer.size());
  }
  Sizes strides = contiguous_strides(sizes);
  return Tensor(elem, std::move(sizes), std::move(strides), std::move(buffer), offset_bytes);
}

bool Tensor::contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    if (sizes_[axis] == 1) continue;
    if (strides_[axis] != expected) return count() == 0;
    if (__builtin_mul_overflow(expected, std::max<std::int64_t>(sizes_[axis], 1), &expected)) return count() == 0;
  }
  return true;
}

bool is_aligned(const Tensor& t) {
  const std::size_t width = t.elem() == Elem::string ? alignof(std::string) : byte_size(t.elem());
  const std::size_t alignment = is_complex(t.elem()) ? width / 2 : width;
  return reinterpret_cast<std::uintptr_t>(t.data()) % alignment == 0;
}

Result<Tensor> Tensor::packed() const {
  if (contiguous()) return *this;
  FRAZIL_TRY(Tensor copy, make(elem_, sizes_));
  if (elem_ == Elem::string) {
    copy_strings(*this, copy.as_mutable<std::string>());
    charge_text(copy);
  } else {
    pack_bytes(sizes_, strides_, byte_size(elem_), data(), copy.mutable_data());
  }
  return copy;
}

Tensor reshaped(const Tensor& t, Sizes sizes) {
  assert(t.contiguous() && element_count(sizes) == t.count());
  Sizes strides = contiguous_strides(sizes);
  return Tensor(t.elem(), std::move(sizes), std::move(strides), t.buffer(),
                static_cast<std::size_t>(t.data() - t.buffer().data()));
}

std::string summary(const Tensor& t, std::size_t limit) {
  if (!t.defined()) return "undefined";
  const auto width = static_cast<std::int64_t>(byte_size(t.elem()));
  const std::int64_t total = t.count();
  const auto element = [&](std::int64_t i) {
    return element_str(t.elem(), t.data() + offset_of(t.sizes(), t.strides(), i) * width);
  };
  if (total == 0) return "[]";
  std::string out;
  if (total > static_cast<std::int64_t>(limit)) {
    const std::int64_t shown = std::max<std::int64_t>(static_cast<std::int64_t>(limit) - 1, 0);
    for (std::int64_t i = 0; i < shown; ++i) out += element(i) + ", ";
    return fmt::format("[{}... {}]", out, element(total - 1));
  }
  for (std::int64_t i = 0; i < total; ++i) {
    if (i != 0) out += ", ";
    std::string close;
    std::int64_t block = 1;
    for (std::size_t axis = t.sizes().size(); axis-- > 0;) {
      block *= t.sizes()[axis];
      if (i % block == 0) out += '[';
      if ((i + 1) % block == 0) close += ']';
    }
    out += element(i) + close;
  }
  return out;
}

double Tensor::number_at(std::int64_t i) const {
  return number(elem_, data() + offset_of(sizes_, strides_, i) * static_cast<std::int64_t>(byte_size(elem_)));
}

std::int64_t Tensor::integer_at(std::int64_t i) const {
  return integer(elem_, data() + offset_of(sizes_, strides_, i) * static_cast<std::int64_t>(byte_size(elem_)));
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.elem() != b.elem() || a.sizes() != b.sizes() || a.defined() != b.defined()) return false;
  const std::int64_t total = a.defined() ? a.count() : 0;
  if (total == 0) return true;
  if (a.elem() != Elem::string && a.contiguous() && b.contiguous()) {
    return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  }
  const std::size_t width = byte_size(a.elem());
  StridedWalk at_a(a.sizes(), a.strides());
  StridedWalk at_b(a.sizes(), b.strides());
  for (std::int64_t i = 0; i < total; ++i, at_a.next(), at_b.next()) {
    const std::byte* x = a.data() + at_a.offset() * static_cast<std::int64_t>(width);
    const std::byte* y = b.data() + at_b.offset() * static_cast<std::int64_t>(width);
    const bool same = a.elem() == Elem::string
                          ? *reinterpret_cast<const std::string*>(x) == *reinterpret_cast<const std::string*>(y)
                          : std::memcmp(x, y, width) == 0;
    if (!same) return false;
  }
  return true;
}

}  // namespace frazil
