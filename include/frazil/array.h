#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <frazil/error.h>
#include <frazil/half.h>

#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

namespace frazil::api {

/// The element types of ONNX. The 8-bit floats are stored as their bit patterns. Types narrower than a byte take one
/// byte per element.
enum class Dtype : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
};
/// Returns "bool", "f32", "i64", ...
std::string_view name_of(Dtype dtype);
/// Returns the bytes per element in memory, sizeof(std::string) for strings.
std::size_t byte_size(Dtype dtype);
/// Returns the type's number in ONNX, as used in attributes such as Cast's `to`.
int onnx_number(Dtype dtype);

/// Returns the Dtype of a C++ type: bool, integers, Half, BFloat16, float, double, std::complex of both, std::string;
/// std::float16_t and std::bfloat16_t where the compiler has them.
template <class T>
constexpr Dtype dtype_of();

using Sizes = std::vector<std::int64_t>;

/// A run-time value: a tensor in row-major order, a sequence, a map, or none (an empty optional). It is a handle to
/// shared data: copying is cheap, and writing to a shared value copies it first (copy on write). Several threads may
/// read one Array at the same time; writing needs exclusive access.
class Array {
 public:
  enum class Kind : std::uint8_t { none, tensor, sequence, map };

  /// Makes Kind::none, an empty optional. As an input, it selects the input's default.
  Array() noexcept = default;
  /// Makes a tensor of zeros, false values or empty strings. Throws Code::bad_input for a negative extent.
  Array(Dtype dtype, Sizes sizes);
  /// Makes a tensor of the given values in row-major order. Throws Code::bad_input if their number is not the product
  /// of `sizes`.
  template <class T>
  static Array of(Sizes sizes, std::initializer_list<T> values);
  template <class T>
  static Array of(Sizes sizes, std::span<const T> values);
  template <class T>
  static Array scalar(T value);
  /// Makes a tensor over the caller's memory without a copy: row-major order, any alignment. The bytes must not change
  /// during a run that uses them. They must stay valid as long as this Array and its copies exist; `keep_alive`, if
  /// given, is held until then. Throws Code::bad_input for strings and for too few bytes.
  static Array borrow(Dtype dtype, Sizes sizes, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> keep_alive = nullptr);
  static Array sequence(const std::vector<Array>& items);
  /// Makes a map. Keys are scalar tensors of integers or strings; others throw Code::bad_input.
  static Array map(const std::vector<std::pair<Array, Array>>& entries);

  Kind kind() const noexcept;
  bool empty() const noexcept { return kind() == Kind::none; }
  bool is_tensor() const noexcept { return kind() == Kind::tensor; }

  // ---- tensors; the other kinds throw Code::bad_input ----
  Dtype dtype() const;
  const Sizes& sizes() const;
  std::int64_t count() const;
  std::size_t bytes() const;
  const void* data() const;
  /// The elements in their present layout. Unlike data(), layout() does not make them dense.
  struct Layout {
    const void* data = nullptr;
    std::span<const std::int64_t> strides;  ///< in elements; valid as long as the Array
    bool exclusive = false;  ///< no session and no other Array uses these bytes, in this run or a later one
    std::size_t block = 0;   ///< allocated bytes that hold the elements; 0 if they are borrowed
  };
  Layout layout() const;
  /// Returns another handle to the same elements. If data() of one handle makes a dense copy, the other handle does not
  /// keep it.
  Array alias() const;
  /// Returns a pointer for writing. Shared or borrowed elements are copied first, so that other Arrays keep their
  /// values.
  void* mutable_data();
  /// Returns the elements. Throws Code::bad_input if T does not match dtype().
  template <class T>
  std::span<const T> values() const {
    expect(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<std::size_t>(count())};
  }
  template <class T>
  std::span<T> mutable_values() {
    expect(dtype_of<T>());
    return {static_cast<T*>(mutable_data()), static_cast<std::size_t>(count())};
  }
  /// Returns the element of a tensor with exactly one. Throws Code::bad_input for any other count.
  template <class T>
  T item() const {
    expect_single();
    return values<T>()[0];
  }
  /// Returns element i in row-major order, converted to double; of a complex number, the real part. Throws
  /// Code::bad_input for strings and for an index outside of the tensor.
  double number(std::int64_t i) const;

  // ---- sequences and maps; the other kinds throw Code::bad_input ----
  std::vector<Array> items() const;
  std::vector<std::pair<Array, Array>> entries() const;

  /// Returns one line of text, such as "f32[2,2] [[1, 2], [3, 4]]". Many elements are abbreviated.
  std::string str() const;
  /// Read and write NumPy's .npy files. Errors name the file. Throw Code::bad_input if it cannot be read or written,
  /// and Code::unsupported for element types that the other side lacks.
  static Array read_npy(const std::string& path);
  void write_npy(const std::string& path) const;
  /// Reads a file with one TensorProto, SequenceProto or MapProto, or for Kind::none an OptionalProto, as in ONNX's
  /// test data. The file does not contain its kind. Errors name the file: Code::bad_input if it cannot be read,
  /// Code::bad_model if it is damaged.
  static Array read_pb(const std::string& path, Kind kind = Kind::tensor);

 private:
  friend struct Access;
  struct Impl;
  void expect(Dtype wanted) const;
  void expect_single() const;
  std::shared_ptr<Impl> impl_;
};

/// Makes a tensor of numbers that are rounded to the nearest value of a float type, ties to even. Throws
/// Code::bad_input for types that are not floats, and if the number of numbers is not the product of `sizes`.
Array rounded(Dtype dtype, Sizes sizes, std::span<const float> numbers);

/// Writes a file with one TensorProto, SequenceProto or MapProto, or for Kind::none an OptionalProto, as in ONNX's test
/// data. Array::read_pb reads it. Throws Code::bad_input if it cannot be written, and for a sequence of several kinds.
void write_pb(const Array& array, const std::string& path);

/// Compares two values. Returns nullopt if they agree, else one line with the position and the difference. Kinds,
/// element types and extents must be equal. Floats and complex numbers agree as in numpy.allclose, and NaN agrees with
/// NaN. All other elements must be equal.
std::optional<std::string> difference(const Array& got, const Array& want, double rtol = 1e-3, double atol = 1e-7);

template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Dtype::boolean;
  else if constexpr (std::is_integral_v<T>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
      return is_signed ? Dtype::i8 : Dtype::u8;
    else if constexpr (sizeof(T) == 2)
      return is_signed ? Dtype::i16 : Dtype::u16;
    else if constexpr (sizeof(T) == 4)
      return is_signed ? Dtype::i32 : Dtype::u32;
    else
      return is_signed ? Dtype::i64 : Dtype::u64;
  } else if constexpr (std::is_same_v<T, float>)
    return Dtype::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Dtype::f64;
  else if constexpr (std::is_same_v<T, Half>)
    return Dtype::f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return Dtype::bf16;
#ifdef __STDCPP_FLOAT16_T__
  else if constexpr (std::is_same_v<T, std::float16_t>)
    return Dtype::f16;
#endif
#ifdef __STDCPP_BFLOAT16_T__
  else if constexpr (std::is_same_v<T, std::bfloat16_t>)
    return Dtype::bf16;
#endif
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return Dtype::c64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Dtype::c128;
  else {
    static_assert(std::is_same_v<T, std::string>, "no element type corresponds to T");
    return Dtype::string;
  }
}

template <class T>
Array Array::of(Sizes sizes, std::span<const T> values) {
  Array array(dtype_of<T>(), std::move(sizes));
  if (values.size() != static_cast<std::size_t>(array.count())) {
    throw Error(Code::bad_input, "Array::of: " + std::to_string(values.size()) + " values for " +
                                     std::to_string(array.count()) + " elements");
  }
  T* to = array.template mutable_values<T>().data();
  for (const T& value : values) *to++ = value;
  return array;
}
template <class T>
Array Array::of(Sizes sizes, std::initializer_list<T> values) {
  return of<T>(std::move(sizes), std::span<const T>(values.begin(), values.size()));
}
template <class T>
Array Array::scalar(T value) {
  return of<T>({}, std::span<const T>(&value, 1));
}

}  // namespace frazil::api
