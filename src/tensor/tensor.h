#pragma once

#include <algorithm>
#include <cassert>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/value/elem.h"
#include "base/value/error.h"
#include "base/value/float.h"
#include "tensor/buffer.h"

namespace frazil {

using Sizes = std::vector<std::int64_t>;

/// Returns the product of the extents. Precondition: it fits (Tensor::make() checks that).
std::int64_t element_count(std::span<const std::int64_t> sizes);
/// Returns the size in bytes. Returns Code::bad_input for a negative extent, and Code::limit if the size exceeds
/// `max_bytes`. A tensor without elements has 0 bytes. The product of its non-zero extents must still fit, as in NumPy,
/// because offsets and loops may use it.
Result<std::size_t> byte_count(Elem elem, std::span<const std::int64_t> sizes,
                               std::size_t max_bytes = std::size_t{1} << 47);
/// Returns row-major strides in elements. An extent of 0 is taken as 1.
Sizes contiguous_strides(std::span<const std::int64_t> sizes);
/// Returns text such as "f32[2,3]".
std::string type_str(Elem elem, std::span<const std::int64_t> sizes);

/// Maps a C++ type to its Elem: bool, integers, Half, BFloat16, float, double, std::complex of float and double,
/// std::string.
template <class T>
constexpr Elem elem_of();

/// Returns true if T has the size and the kind of storage of an element.
template <class T>
constexpr bool stores(Elem elem) {
  return std::is_same_v<T, std::string> == (elem == Elem::string) && sizeof(T) == byte_size(elem);
}

/// A concrete value: element type, extents and strides over a shared Buffer. Copies are shallow. Only its creator
/// writes to it, before sharing it. Strings are std::string objects in the buffer (constructed by make).
class Tensor {
 public:
  Tensor() = default;
  /// Makes an uninitialised contiguous tensor. Strings are empty.
  static Result<Tensor> make(Elem elem, Sizes sizes);
  /// Makes a view. `strides` are in elements. The view must lie inside the buffer.
  Tensor(Elem elem, Sizes sizes, Sizes strides, Buffer buffer, std::size_t offset_bytes);
  /// Makes a contiguous tensor over given bytes. Returns Code::bad_input if the buffer is too small.
  static Result<Tensor> over(Elem elem, Sizes sizes, Buffer buffer, std::size_t offset_bytes = 0);
  /// Same as make(), for internal constants that count against no limit. Throws std::bad_alloc or std::length_error.
  static Tensor make_or_throw(Elem elem, Sizes sizes);
  /// Makes a tensor from values, for tests and small constants. Memory as in make_or_throw(). Throws if the count of
  /// values does not match.
  template <class T>
  static Tensor of(Sizes sizes, std::initializer_list<T> values);
  template <class T>
  static Tensor of(Sizes sizes, std::span<const T> values);
  template <class T>
  static Tensor scalar(T value);

  bool defined() const { return static_cast<bool>(buffer_); }
  Elem elem() const { return elem_; }
  std::size_t rank() const { return sizes_.size(); }
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides() const { return strides_; }  ///< in elements
  std::int64_t count() const { return element_count(sizes_); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * byte_size(elem_); }
  bool contiguous() const;
  const Buffer& buffer() const { return buffer_; }

  const std::byte* data() const { return buffer_.data() + offset_; }
  std::byte* mutable_data() { return buffer_.data() + offset_; }

  /// Returns the elements. Precondition (checked in debug builds): T matches elem() in kind of storage and the tensor
  /// is contiguous. Element types without a C++ type are read as std::uint8_t (8-bit floats, f4e2m1, u4, u2) or
  /// std::int8_t (i4, i2).
  template <class T>
  std::span<const T> as() const {
    assert(stores<T>(elem_) && contiguous());
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(count())};
  }
  template <class T>
  std::span<T> as_mutable() {
    assert(stores<T>(elem_) && contiguous());
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(count())};
  }

  /// Returns this tensor if it is contiguous, otherwise a packed copy.
  Result<Tensor> packed() const;
  /// Returns text such as "f32[2,3]".
  std::string type_str() const { return frazil::type_str(elem_, sizes_); }
  /// Returns element i (row-major) as double or int64, from any numeric type. Complex numbers give their real part. In
  /// conversion to integer, floats are truncated and saturated, NaN gives 0, u64 wraps. Strings give NaN and 0.
  double number_at(std::int64_t i) const;
  std::int64_t integer_at(std::int64_t i) const;

 private:
  Elem elem_ = Elem::f32;
  Sizes sizes_;
  Sizes strides_;
  Buffer buffer_;
  std::size_t offset_ = 0;
};

/// Charges the text of a new string tensor, filled through assign_text(), to the limit that its buffer counts against.
/// No effect on other tensors and on shared ones.
void charge_text(const Tensor& tensor);
/// Returns whether data() is aligned for elem(). False only for tensors borrowed from a file (see tensor_from_proto()).
bool is_aligned(const Tensor& tensor);
/// Returns the same elements with other extents. Shares the buffer. Precondition: equal count, contiguous.
Tensor reshaped(const Tensor& tensor, Sizes sizes);
/// Returns whether type, sizes and elements are bit-equal (NaN equals itself).
bool identical(const Tensor& a, const Tensor& b);
/// Returns one line with at most `limit` elements: "5", "[[1, 2], [3, 4]]"; flat if abbreviated: "[1, 2, 3, ... 9]".
std::string summary(const Tensor& tensor, std::size_t limit = 6);

template <class T>
constexpr Elem elem_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Elem::boolean;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return Elem::i8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return Elem::i16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Elem::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Elem::i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return Elem::u8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return Elem::u16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return Elem::u32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return Elem::u64;
  else if constexpr (std::is_same_v<T, Half>)
    return Elem::f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return Elem::bf16;
  else if constexpr (std::is_same_v<T, float>)
    return Elem::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Elem::f64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return Elem::c64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Elem::c128;
  else {
    static_assert(std::is_same_v<T, std::string>, "not an element type");
    return Elem::string;
  }
}

template <class T>
Tensor Tensor::of(Sizes sizes, std::span<const T> values) {
  Tensor t = make_or_throw(elem_of<T>(), std::move(sizes));
  if (values.size() != static_cast<std::size_t>(t.count())) throw std::length_error("Tensor::of: wrong value count");
  std::copy(values.begin(), values.end(), t.template as_mutable<T>().begin());
  return t;
}
template <class T>
Tensor Tensor::of(Sizes sizes, std::initializer_list<T> values) {
  return of<T>(std::move(sizes), std::span<const T>(values.begin(), values.size()));
}
template <class T>
Tensor Tensor::scalar(T value) {
  return of<T>({}, {std::move(value)});
}

}  // namespace frazil
