#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/array.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/value/dims.h"

/// A value: a tensor over memory that the program or an allocator owns, or an array of Frazil, which may be a tensor, a
/// sequence, a map or none. Threads may read one value at the same time. Bindings share it with the program, so it
/// counts its owners.
struct OrtValue {
  /// A tensor over memory of the program, which must stay valid as long as the value. The memory has the border's
  /// layout, in which elements of less than a byte are packed.
  OrtValue(frazil::api::Dtype dtype, frazil::ort::Dims sizes, void* data, std::size_t bytes);
  explicit OrtValue(frazil::api::Array array);
  ~OrtValue();
  OrtValue(const OrtValue&) = delete;
  OrtValue& operator=(const OrtValue&) = delete;

  bool is_tensor() const { return over_memory() || array_.is_tensor(); }
  frazil::api::Dtype dtype() const { return over_memory() ? dtype_ : array_.dtype(); }
  std::span<const std::int64_t> sizes() const { return over_memory() ? frazil::ort::view(sizes_) : array_.sizes(); }
  std::size_t count() const;
  /// Returns the elements in the border's layout. They stay where they are. Memory that something else uses is copied
  /// first. Throws ORT_INVALID_ARGUMENT if the value is a sequence or a map.
  void* data() const;
  /// Returns the value as an operand of a run, which sees later changes of the memory that data() returned.
  frazil::api::Array operand() const;
  /// Returns the element of a tensor with one element as a scalar, and operand() for other tensors.
  frazil::api::Array scalar_operand() const;
  /// Returns the value as it is now, for a value that is not over memory and that nothing else writes any more.
  frazil::api::Array result() const;
  /// Returns the array of a value that is not over memory.
  const frazil::api::Array& array() const { return array_; }
  std::span<std::string> strings();
  std::span<const std::string> strings() const;
  /// Makes the allocator release the memory with the value.
  void own(OrtAllocator& allocator) { owner_ = &allocator; }

  /// Adds an owner, and returns the value.
  OrtValue* share() const;
  /// Removes an owner. The last one destroys the value.
  void release();

 private:
  bool over_memory() const { return memory_; }
  void* resolve() const;

  bool memory_ = false;
  frazil::api::Dtype dtype_ = frazil::api::Dtype::f32;
  frazil::ort::Dims sizes_;
  OrtAllocator* owner_ = nullptr;
  mutable frazil::api::Array array_;
  mutable std::vector<std::uint8_t> packed_;   ///< the packed elements of an array of a type of less than a byte
  mutable std::atomic<void*> data_ = nullptr;  ///< what data() returned
  mutable std::atomic<std::uint32_t> owners_ = 1;
};

namespace frazil::ort {

/// Shares the ownership of a value.
class ValueHandle {
 public:
  ValueHandle() = default;
  explicit ValueHandle(OrtValue* owned) : value_(owned) {}
  ValueHandle(const ValueHandle& other) : value_(other.value_ == nullptr ? nullptr : other.value_->share()) {}
  ValueHandle(ValueHandle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  ValueHandle& operator=(ValueHandle other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~ValueHandle() {
    if (value_ != nullptr) value_->release();
  }
  OrtValue* get() const { return value_; }

 private:
  OrtValue* value_ = nullptr;
};

/// Returns the array in memory that neither the program nor the model uses.
api::Array owned(api::Array array);
/// Returns a value for a result of a run. It shares no memory with the program's.
std::unique_ptr<OrtValue> value_of(api::Array array);
/// Throws ORT_INVALID_ARGUMENT, naming the argument, for null and for other kinds of values.
const OrtValue& tensor(const OrtValue* value, const char* argument = "value");
/// Returns the extents. Throws ORT_INVALID_ARGUMENT for a negative one, and if their product exceeds an int64.
Dims checked_dims(const std::int64_t* shape, std::size_t shape_len);

/// Copies all elements. Throws ORT_INVALID_ARGUMENT, with `what`, if types or extents differ.
void copy_elements(const OrtValue& from, OrtValue& to, std::string_view what);

}  // namespace frazil::ort
