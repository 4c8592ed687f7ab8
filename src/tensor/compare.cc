#include "tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tensor/strided.h"

namespace frazil {
namespace {

using Finding = std::optional<std::string>;

/// The differences between two tensors of one type, counted in row-major order.
struct Tally {
  std::int64_t count = 0;
  std::int64_t first = 0;
  double worst = -1.0;
  std::int64_t worst_at = 0;

  void add(std::int64_t at, double error) {
    if (count++ == 0) first = at;
    if (error > worst) {
      worst = error;
      worst_at = at;
    }
  }
};

bool close(double got, double want, Tolerance tolerance) {
  if (got == want) return true;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return false;
  return std::fabs(got - want) <= tolerance.atol + tolerance.rtol * std::fabs(want);
}

double error_of(double got, double want) {
  const double error = std::fabs(got - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

std::string element_str(const Tensor& tensor, std::int64_t i) {
  const std::int64_t offset = offset_of(tensor.sizes(), tensor.strides(), i);
  const auto bytes = static_cast<std::size_t>(tensor.data() - tensor.buffer().data() +
                                              offset * static_cast<std::int64_t>(byte_size(tensor.elem())));
  return summary(Tensor(tensor.elem(), {}, {}, tensor.buffer(), bytes));
}

template <class T>
T load(const Tensor& tensor, std::int64_t offset) {
  T value;
  std::memcpy(&value, tensor.data() + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class Visit>
void each_pair(const Tensor& got, const Tensor& want, Visit visit) {
  const std::int64_t total = want.count();
  StridedWalk a(got.sizes(), got.strides());
  StridedWalk b(want.sizes(), want.strides());
  for (std::int64_t i = 0; i < total; ++i, a.next(), b.next()) visit(i, a.offset(), b.offset());
}

template <class T, class Convert>
void compare_floats(const Tensor& got, const Tensor& want, Tolerance tolerance, Tally& tally, Convert convert) {
  each_pair(got, want, [&](std::int64_t i, std::int64_t at_got, std::int64_t at_want) {
    const double a = convert(load<T>(got, at_got));
    const double b = convert(load<T>(want, at_want));
    if (!close(a, b, tolerance)) tally.add(i, error_of(a, b));
  });
}

template <class T>
void compare_complex(const Tensor& got, const Tensor& want, Tolerance tolerance, Tally& tally) {
  each_pair(got, want, [&](std::int64_t i, std::int64_t at_got, std::int64_t at_want) {
    const auto a = load<std::complex<T>>(got, at_got);
    const auto b = load<std::complex<T>>(want, at_want);
    if (close(a.real(), b.real(), tolerance) && close(a.imag(), b.imag(), tolerance)) return;
    tally.add(i, std::max(error_of(a.real(), b.real()), error_of(a.imag(), b.imag())));
  });
}

template <class T>
void compare_exactly(const Tensor& got, const Tensor& want, Tally& tally) {
  each_pair(got, want, [&](std::int64_t i, std::int64_t at_got, std::int64_t at_want) {
    const T a = load<T>(got, at_got);
    const T b = load<T>(want, at_want);
    if (a != b)
      tally.add(i,
                static_cast<double>(a > b ? std::uint64_t(a) - std::uint64_t(b) : std::uint64_t(b) - std::uint64_t(a)));
  });
}

void compare_strings(const Tensor& got, const Tensor& want, Tally& tally) {
  const auto* x = reinterpret_cast<const std::string*>(got.data());
  const auto* y = reinterpret_cast<const std::string*>(want.data());
  each_pair(got, want, [&](std::int64_t i, std::int64_t at_got, std::int64_t at_want) {
    if (x[at_got] != y[at_want]) tally.add(i, 0);
  });
}

void compare_elements(const Tensor& got, const Tensor& want, Tolerance tolerance, Tally& tally) {
  const auto same = [](auto value) { return static_cast<double>(value); };
  switch (want.elem()) {
    case Elem::string: return compare_strings(got, want, tally);
    case Elem::f16: return compare_floats<std::uint16_t>(got, want, tolerance, tally, half_to_float);
    case Elem::bf16: return compare_floats<std::uint16_t>(got, want, tolerance, tally, bfloat16_to_float);
    case Elem::f32: return compare_floats<float>(got, want, tolerance, tally, same);
    case Elem::f64: return compare_floats<double>(got, want, tolerance, tally, same);
    case Elem::c64: return compare_complex<float>(got, want, tolerance, tally);
    case Elem::c128: return compare_complex<double>(got, want, tolerance, tally);
    case Elem::i8:
    case Elem::i4:
    case Elem::i2: return compare_exactly<std::int8_t>(got, want, tally);
    case Elem::i16: return compare_exactly<std::int16_t>(got, want, tally);
    case Elem::i32: return compare_exactly<std::int32_t>(got, want, tally);
    case Elem::i64: return compare_exactly<std::int64_t>(got, want, tally);
    case Elem::u16: return compare_exactly<std::uint16_t>(got, want, tally);
    case Elem::u32: return compare_exactly<std::uint32_t>(got, want, tally);
    case Elem::u64: return compare_exactly<std::uint64_t>(got, want, tally);
    default: break;
  }
  if (!is_small_float(want.elem())) return compare_exactly<std::uint8_t>(got, want, tally);
  compare_floats<std::uint8_t>(got, want, tolerance, tally,
                               [elem = want.elem()](std::uint8_t bits) { return small_to_float(elem, bits); });
}

Finding tensor_difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (got.defined() != want.defined())
    return got.defined() ? "got a tensor, expected none" : "got no tensor, expected one";
  if (!want.defined()) return std::nullopt;
  if (got.elem() != want.elem() || got.sizes() != want.sizes()) {
    return fmt::format("got {}, expected {}", got.type_str(), want.type_str());
  }
  if (want.count() == 0) return std::nullopt;
  Tally tally;
  compare_elements(got, want, tolerance, tally);
  if (tally.count == 0) return std::nullopt;
  std::string out = fmt::format("{}: {} of {} elements differ, first at {}: got {}, expected {}", want.type_str(),
                                tally.count, want.count(), index_str(want.sizes(), tally.first),
                                element_str(got, tally.first), element_str(want, tally.first));
  if (want.elem() == Elem::string || want.elem() == Elem::boolean) return out;
  return fmt::format("{}; largest error {:.6g} at {}: got {}, expected {}", out, tally.worst,
                     index_str(want.sizes(), tally.worst_at), element_str(got, tally.worst_at),
                     element_str(want, tally.worst_at));
}

std::string_view kind_str(const Datum& datum) {
  if (datum.is_tensor()) return "a tensor";
  if (datum.is_sequence()) return "a sequence";
  return datum.is_map() ? "a map" : "an empty optional";
}

Finding sequence_difference(const Sequence& got, const Sequence& want, Tolerance tolerance) {
  if (got.items.size() != want.items.size()) {
    return fmt::format("got a sequence of {} items, expected {}", got.items.size(), want.items.size());
  }
  for (std::size_t i = 0; i < want.items.size(); ++i) {
    if (auto found = difference(got.items[i], want.items[i], tolerance)) {
      return fmt::format("item {}: {}", i, *found);
    }
  }
  return std::nullopt;
}

Finding map_difference(const MapValue& got, const MapValue& want, Tolerance tolerance) {
  if (got.items.size() != want.items.size()) {
    return fmt::format("got a map of {} entries, expected {}", got.items.size(), want.items.size());
  }
  for (std::size_t i = 0; i < want.items.size(); ++i) {
    const auto& [key, value] = want.items[i];
    const auto same_key = [&](const auto& entry) { return identical(entry.first, key); };
    const auto entry = same_key(got.items[i]) ? got.items.begin() + static_cast<std::ptrdiff_t>(i)
                                              : std::ranges::find_if(got.items, same_key);
    if (entry == got.items.end()) return fmt::format("key {} is missing", summary(key));
    if (auto found = difference(entry->second, value, tolerance)) {
      return fmt::format("key {}: {}", summary(key), *found);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(const Datum& got, const Datum& want, Tolerance tolerance) {
  if (kind_str(got) != kind_str(want)) return fmt::format("got {}, expected {}", kind_str(got), kind_str(want));
  if (want.is_tensor()) return tensor_difference(got.tensor(), want.tensor(), tolerance);
  if (want.is_sequence()) return sequence_difference(got.sequence(), want.sequence(), tolerance);
  if (want.is_map()) return map_difference(got.map(), want.map(), tolerance);
  return std::nullopt;
}

}  // namespace frazil
