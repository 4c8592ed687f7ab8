#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Element types, numbered as ONNX's TensorProto.DataType.
enum class Elem : std::int32_t {
  none = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  str = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

/// Returns the bytes of one element; 0 for types without a fixed size or not listed above.
constexpr std::size_t elem_size(Elem elem) {
  switch (elem) {
    case Elem::u8:
    case Elem::i8:
    case Elem::boolean: return 1;
    case Elem::u16:
    case Elem::i16:
    case Elem::f16:
    case Elem::bf16: return 2;
    case Elem::f32:
    case Elem::i32:
    case Elem::u32: return 4;
    case Elem::f64:
    case Elem::i64:
    case Elem::u64: return 8;
    default: return 0;
  }
}

constexpr const char* elem_name(Elem elem) {
  switch (elem) {
    case Elem::f32: return "f32";
    case Elem::u8: return "u8";
    case Elem::i8: return "i8";
    case Elem::u16: return "u16";
    case Elem::i16: return "i16";
    case Elem::i32: return "i32";
    case Elem::i64: return "i64";
    case Elem::str: return "str";
    case Elem::boolean: return "bool";
    case Elem::f16: return "f16";
    case Elem::f64: return "f64";
    case Elem::u32: return "u32";
    case Elem::u64: return "u64";
    case Elem::bf16: return "bf16";
    default: return "?";
  }
}

using Dims = std::vector<std::int64_t>;

/// Returns the number of elements; 1 for a scalar. Every extent must be known (>= 0).
inline std::size_t element_count(const Dims& dims) {
  std::size_t count = 1;
  for (std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

/// Allocates memory at multiples of a cache line, as both sides do.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

/// A dense row-major tensor that owns its bytes: data.size() == element_count(dims) * elem_size(elem).
struct HostTensor {
  Elem elem = Elem::none;
  Dims dims;
  std::vector<std::byte, LineAllocator<std::byte>> data;

  HostTensor() = default;
  HostTensor(Elem type, Dims extents) : elem(type), dims(std::move(extents)), data(size() * elem_size(elem)) {}

  std::size_t size() const { return element_count(dims); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

using NamedTensors = std::map<std::string, HostTensor>;

/// An input or output of a model. A free extent is -1; `elem` is none for values that are not tensors.
struct Port {
  std::string name;
  Elem elem = Elem::none;
  Dims dims;
};

}  // namespace bench
