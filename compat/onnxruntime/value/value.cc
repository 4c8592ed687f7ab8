#include "compat/onnxruntime/value/value.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"
#include "compat/onnxruntime/value/type_info.h"

using frazil::api::Array;
using frazil::api::Dtype;

namespace frazil::ort {
namespace {

std::size_t product(std::span<const std::int64_t> sizes) {
  std::size_t count = 1;
  for (const std::int64_t extent : sizes) count *= static_cast<std::size_t>(extent);
  return count;
}

bool is_borrowed(const Array& array) {
  if (array.kind() == Array::Kind::sequence) return std::ranges::any_of(array.items(), is_borrowed);
  if (!array.is_tensor() || array.dtype() == Dtype::string) return false;
  return array.layout().block == 0 && array.count() != 0;
}

// Values of different threads share few of these, and each is held for one decision.
std::mutex& mutex_of(const void* value) {
  static std::array<std::mutex, 16> mutexes;
  return mutexes[reinterpret_cast<std::uintptr_t>(value) / sizeof(OrtValue) % mutexes.size()];
}

}  // namespace

// A result may be an operand, whose memory the program reuses, or a weight, which it must not change.
Array owned(Array array) {
  if (!is_borrowed(array)) return array;
  if (array.is_tensor()) {
    array.mutable_data();
    return array;
  }
  std::vector<Array> items = array.items();
  for (Array& item : items) item = owned(std::move(item));
  return Array::sequence(items);
}

Dims checked_dims(const std::int64_t* shape, std::size_t shape_len) {
  if (shape_len != 0) require(shape, "shape");
  Dims sizes(shape, shape + shape_len);
  std::int64_t count = 1;
  for (const std::int64_t extent : sizes) {
    if (extent < 0) fail(ORT_INVALID_ARGUMENT, "extent {} of a tensor is negative", extent);
    if (extent != 0 && __builtin_mul_overflow(count, extent, &count)) {
      fail(ORT_INVALID_ARGUMENT, "a tensor has too many elements");
    }
  }
  return sizes;
}

const OrtValue& tensor(const OrtValue* value, const char* argument) {
  require(value, argument);
  if (!value->is_tensor()) fail(ORT_INVALID_ARGUMENT, "argument '{}' is not a tensor", argument);
  return *value;
}

std::unique_ptr<OrtValue> value_of(Array array) { return std::make_unique<OrtValue>(owned(std::move(array))); }

void copy_elements(const OrtValue& from, OrtValue& to, std::string_view what) {
  if (!from.is_tensor() || !to.is_tensor() || from.dtype() != to.dtype() ||
      !std::ranges::equal(from.sizes(), to.sizes())) {
    fail(ORT_INVALID_ARGUMENT, "{}: the given value has another type or other extents than the result", what);
  }
  if (from.dtype() == Dtype::string) {
    std::ranges::copy(from.strings(), to.strings().begin());
    return;
  }
  const std::size_t bytes = border_bytes(from.dtype(), from.count());
  if (bytes != 0) std::memcpy(to.data(), from.data(), bytes);
}

}  // namespace frazil::ort

OrtValue::OrtValue(Dtype dtype, frazil::ort::Dims sizes, void* data, std::size_t bytes)
    : memory_(true), dtype_(dtype), sizes_(std::move(sizes)), data_(data) {
  const std::size_t needed = frazil::ort::border_bytes(dtype, frazil::ort::product(frazil::ort::view(sizes_)));
  if (bytes < needed) {
    frazil::ort::fail(ORT_INVALID_ARGUMENT, "the tensor needs {} bytes, the buffer has {}", needed, bytes);
  }
  if (data == nullptr && needed != 0) frazil::ort::fail(ORT_INVALID_ARGUMENT, "argument 'p_data' is null");
}

OrtValue::OrtValue(Array array) : array_(std::move(array)) {}

OrtValue::~OrtValue() {
  if (owner_ != nullptr) owner_->Free(owner_, data_);
}

OrtValue* OrtValue::share() const {
  owners_.fetch_add(1, std::memory_order_relaxed);
  return const_cast<OrtValue*>(this);  // the interface hands out values without const
}

void OrtValue::release() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

std::size_t OrtValue::count() const { return frazil::ort::product(sizes()); }

void* OrtValue::data() const {
  if (void* const data = data_.load(std::memory_order_acquire); data != nullptr || over_memory()) return data;
  return resolve();
}

void* OrtValue::resolve() const {
  const std::scoped_lock lock(frazil::ort::mutex_of(this));
  if (void* const data = data_.load(std::memory_order_relaxed); data != nullptr) return data;
  void* data = array_.mutable_data();
  if (frazil::ort::packing(dtype()) != 1) {
    packed_.resize(frazil::ort::border_bytes(dtype(), count()));
    frazil::ort::pack(dtype(), static_cast<const std::uint8_t*>(data), count(), packed_.data());
    data = packed_.data();
  }
  data_.store(data, std::memory_order_release);
  return data;
}

Array OrtValue::operand() const {
  void* const data = data_.load(std::memory_order_acquire);
  if (!over_memory() && (data == nullptr || dtype() == Dtype::string)) {
    // Another thread may be about to ask for the data.
    const std::scoped_lock lock(frazil::ort::mutex_of(this));
    if (data_.load(std::memory_order_relaxed) == nullptr || dtype() == Dtype::string) return array_;
  }
  if (frazil::ort::packing(dtype()) != 1) {
    Array bytes(dtype(), frazil::ort::sizes_of(sizes()));
    frazil::ort::unpack(dtype(), static_cast<const std::uint8_t*>(this->data()), count(),
                        static_cast<std::uint8_t*>(bytes.mutable_data()));
    return bytes;
  }
  const auto* const first = static_cast<const std::byte*>(this->data());
  return Array::borrow(dtype(), frazil::ort::sizes_of(sizes()), {first, count() * frazil::api::byte_size(dtype())});
}

Array OrtValue::result() const { return frazil::ort::packing(dtype()) == 1 ? array_ : operand(); }

Array OrtValue::scalar_operand() const {
  if (count() != 1 || dtype() == Dtype::string || frazil::ort::packing(dtype()) != 1) return operand();
  return Array::borrow(dtype(), {}, {static_cast<const std::byte*>(data()), frazil::api::byte_size(dtype())});
}

std::span<std::string> OrtValue::strings() { return array_.mutable_values<std::string>(); }
std::span<const std::string> OrtValue::strings() const { return std::as_const(array_).values<std::string>(); }
