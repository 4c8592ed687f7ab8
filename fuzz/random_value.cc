#include "random_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/value/float.h"

namespace frazil::fuzz {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double special_real(std::uint64_t bits) {
  constexpr double kValues[] = {NAN, kInf, -kInf, -0.0, 0.0, 1e-40, -1e-310, 1, -1, 65504, 1e38, 255.5, 0.5, -2.5};
  return kValues[bits % std::size(kValues)];
}

double largest(Elem elem) {
  switch (elem) {
    case Elem::f64:
    case Elem::c128: return 1.7e308;
    case Elem::f16: return 65504;
    case Elem::bf16:
    case Elem::f32:
    case Elem::c64: return 3.3e38;
    default: return 448;
  }
}

double real_of(Elem elem, Look look, std::uint64_t bits) {
  const double sign = (bits & 1) != 0 ? -1 : 1;
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
  const double plain = std::round(unit * 16 - 8) / 2;
  switch (look) {
    case Look::index: return std::floor(unit * 6) - 1;
    case Look::spread: return sign * std::exp2(unit * 16 - 12) * (1 + unit);
    case Look::special: return (bits >> 1) % 3 == 0 ? special_real(bits >> 4) : plain;
    case Look::huge: return sign * largest(elem) * (0.5 + unit / 2);
    default: return plain;
  }
}

std::int64_t integer_of(Elem elem, Look look, std::uint64_t bits) {
  const int width = elem == Elem::string ? 8 : bit_width(elem);
  const std::int64_t high = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - width));
  switch (look) {
    case Look::spread: return static_cast<std::int64_t>(bits >> 8) % 256 - 100;
    case Look::special: {
      const std::int64_t values[] = {0, 1, -1, high, -high - 1, high - 1, 2, 7};
      return values[(bits >> 1) % std::size(values)];
    }
    case Look::huge: return (bits & 1) != 0 ? high - static_cast<std::int64_t>((bits >> 1) % 3) : -high;
    default: return static_cast<std::int64_t>(bits >> 8) % 6 - 1;
  }
}

void write_reals(Tensor& t, const std::function<double()>& next) {
  const auto count = static_cast<std::size_t>(t.count()) * (is_complex(t.elem()) ? 2 : 1);
  std::byte* data = t.mutable_data();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = next();
    const auto narrow = static_cast<float>(value);
    if (t.elem() == Elem::f64 || t.elem() == Elem::c128) {
      std::memcpy(data + 8 * i, &value, 8);
    } else if (t.elem() == Elem::f32 || t.elem() == Elem::c64) {
      std::memcpy(data + 4 * i, &narrow, 4);
    } else {
      from_f32(t.elem(), &narrow, data + byte_size(t.elem()) * i, 1);
    }
  }
}

/// The value as the element type holds it: sub-byte types take a byte each.
std::int64_t narrowed(Elem elem, std::int64_t value) {
  const int width = bit_width(elem);
  if (elem == Elem::boolean) return value & 1;
  if (width >= 8) return value;
  const std::int64_t low = value & ((1 << width) - 1);
  return is_signed_int(elem) && (low >> (width - 1)) != 0 ? low - (1 << width) : low;
}

void write_integers(Tensor& t, const std::function<std::int64_t()>& next) {
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const std::int64_t value = next();
    if (t.elem() == Elem::string) {
      t.as_mutable<std::string>()[static_cast<std::size_t>(i)] =
          value < 0 ? "" : std::string(1, "abcABC \xc3"[value % 8]);
      continue;
    }
    const std::size_t size = byte_size(t.elem());
    const std::int64_t bits = narrowed(t.elem(), value);
    std::memcpy(t.mutable_data() + static_cast<std::size_t>(i) * size, &bits, size);
  }
}

// Products of symbols would fill the memory. What then does not fit is refused, or found out.
constexpr std::int64_t kLargest = 64, kMaxElements = std::int64_t{1} << 16;

/// Of any rank: the number of elements may be past 2^63. An extent of 0 counts as 1 (see byte_count).
bool is_too_large(const Sizes& sizes) {
  double elements = 1;
  for (std::int64_t s : sizes) elements *= static_cast<double>(std::max<std::int64_t>(s, 1));
  return elements > static_cast<double>(kMaxElements);
}

}  // namespace

Look random_look(Choices& choices) { return static_cast<Look>(choices.weighted({25, 35, 15, 12, 4, 9})); }

Tensor random_tensor(Elem elem, Sizes sizes, Look look, Choices& choices) {
  auto made = Tensor::make(elem, std::move(sizes));
  if (!made) throw std::bad_alloc();
  Tensor t = std::move(*made);
  const std::uint64_t first = choices.random();
  const auto bits = [&] { return look == Look::same ? first : choices.random(); };
  if (is_float(elem) || is_complex(elem)) {
    write_reals(t, [&] { return real_of(elem, look, bits()); });
  } else {
    write_integers(t, [&] { return integer_of(elem, look, bits()); });
  }
  return t;
}

Tensor integer_tensor(Elem elem, Sizes sizes, std::span<const std::int64_t> values) {
  Tensor t = Tensor::make(elem, std::move(sizes)).value();
  std::size_t at = 0;
  write_integers(t, [&] { return values[at++ % values.size()]; });
  return t;
}

Datum random_datum(const Type& type, const std::function<std::int64_t(Dim)>& eval, Look look, Choices& choices) {
  switch (type.kind) {
    case Type::Kind::sequence: {
      auto items = std::make_shared<Sequence>();
      for (std::size_t n = choices.below(4); n > 0; --n) {
        items->items.push_back(random_datum(*type.item, eval, look, choices));
      }
      return Datum(std::shared_ptr<const Sequence>(std::move(items)));
    }
    case Type::Kind::optional: return choices.chance(30) ? Datum() : random_datum(*type.item, eval, look, choices);
    default: break;
  }
  Sizes sizes;
  if (type.ranked) {
    for (Dim d : type.shape) sizes.push_back(std::clamp<std::int64_t>(eval(d), 0, kLargest));
    while (is_too_large(sizes)) *std::ranges::max_element(sizes) /= 2;
  } else {
    for (std::size_t n = choices.below(4); n > 0; --n) sizes.push_back(choices.between(0, 3));
  }
  return Datum(random_tensor(type.elem, std::move(sizes), look, choices));
}

}  // namespace frazil::fuzz
