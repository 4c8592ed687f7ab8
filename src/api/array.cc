#include <algorithm>
#include <cstring>

#include <frazil/array.h>
#include <frazil/half.h>

#include "api/access.h"
#include "base/os/io.h"
#include "base/value/float.h"
#include "tensor/compare.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"

namespace frazil::api {
namespace {

Elem elem_of(Dtype dtype) {
  if (dtype > Dtype::u2) refuse(frazil::Code::bad_input, "there is no element type {}", static_cast<int>(dtype));
  return static_cast<Elem>(dtype);
}

std::string_view kind_name(Array::Kind kind) {
  constexpr std::string_view names[] = {"nothing", "a tensor", "a sequence", "a map"};
  return names[static_cast<int>(kind)];
}

const Tensor& tensor_of(const Array& array) {
  if (!array.is_tensor()) refuse(frazil::Code::bad_input, "expected a tensor, got {}", kind_name(array.kind()));
  return Access::datum(array).tensor();
}

/// Returns a packed, aligned copy that owns its memory.
Tensor copy_of(const Tensor& from) {
  const Tensor packed = take(from.packed());
  Tensor to = take(Tensor::make(packed.elem(), packed.sizes()));
  if (packed.elem() == Elem::string) {
    std::ranges::copy(packed.as<std::string>(), to.as_mutable<std::string>().begin());
  } else if (packed.bytes() > 0) {
    std::memcpy(to.mutable_data(), packed.data(), packed.bytes());
  }
  return to;
}

}  // namespace

std::string_view name_of(Dtype dtype) { return frazil::name_of(elem_of(dtype)); }
std::size_t byte_size(Dtype dtype) { return frazil::byte_size(elem_of(dtype)); }
int onnx_number(Dtype dtype) { return onnx_data_type(elem_of(dtype)); }

Half::Half(float value) : bits(float_to_half(value)) {}
Half::operator float() const { return half_to_float(bits); }
BFloat16::BFloat16(float value) : bits(float_to_bfloat16(value)) {}
BFloat16::operator float() const { return bfloat16_to_float(bits); }

const Datum& Access::datum(const Array& array) {
  static const Datum none;
  return array.impl_ ? array.impl_->datum : none;
}

Datum Access::dense(const Array& array) {
  const Datum& raw = datum(array);
  return raw.is_tensor() ? Datum(array.impl_->elements()) : raw;
}

/// Copies the tensor once, on the first read of elements: a carried value returns to a session with its padding.
const Tensor& Array::Impl::elements() const {
  const Tensor& raw = datum.tensor();
  if (raw.contiguous()) return raw;
  const std::scoped_lock lock(mutex);
  if (!dense.defined()) dense = copy_of(raw);
  return dense;
}

const Tensor& Access::elements(const Array& array) {
  (void)tensor_of(array);
  return array.impl_->elements();
}

Array Access::array(Datum datum) {
  if (datum.is_tensor() && !is_aligned(datum.tensor())) datum = copy_of(datum.tensor());
  Array array;
  if (!datum.empty()) array.impl_ = std::make_shared<Array::Impl>(std::move(datum));
  return array;
}

void Access::assign(Array& array, Datum datum) {
  const bool plain = datum.is_tensor() && is_aligned(datum.tensor());
  if (plain && array.impl_ && array.impl_.use_count() == 1) {
    array.impl_->datum = std::move(datum);
    array.impl_->dense = Tensor();
  } else {
    array = Access::array(std::move(datum));
  }
}

Datum Access::release(Array& array) {
  if (!array.impl_ || array.impl_.use_count() > 1) return {};
  array.impl_->dense = Tensor();
  return std::exchange(array.impl_->datum, Datum());
}

Array::Array(Dtype dtype, Sizes sizes) {
  Tensor tensor = take(Tensor::make(elem_of(dtype), std::move(sizes)));
  if (dtype != Dtype::string && tensor.bytes() > 0) std::memset(tensor.mutable_data(), 0, tensor.bytes());
  *this = Access::array(std::move(tensor));
}

Array Array::borrow(Dtype dtype, Sizes sizes, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> keep_alive) {
  if (dtype == Dtype::string) refuse(frazil::Code::bad_input, "strings cannot be borrowed");
  Buffer buffer = Buffer::borrow(bytes, std::move(keep_alive));
  return Access::array(take(Tensor::over(elem_of(dtype), std::move(sizes), std::move(buffer))));
}

Array Array::sequence(const std::vector<Array>& items) {
  auto sequence = std::make_shared<Sequence>();
  for (const Array& item : items) sequence->items.push_back(Access::dense(item));
  return Access::array(std::shared_ptr<const Sequence>(std::move(sequence)));
}

namespace {

bool is_integer(Dtype dtype) { return dtype >= Dtype::i8 && dtype <= Dtype::u64; }

/// Throws unless the array is a scalar integer or string.
void check_key(const Array& key) {
  const Tensor& tensor = tensor_of(key);
  if (tensor.count() == 1 && (key.dtype() == Dtype::string || is_integer(key.dtype()))) return;
  refuse(frazil::Code::bad_input, "a map's key is a scalar of integers or strings, got {}", tensor.type_str());
}

}  // namespace

Array Array::map(const std::vector<std::pair<Array, Array>>& entries) {
  auto map = std::make_shared<MapValue>();
  for (const auto& [key, value] : entries) {
    check_key(key);
    map->items.emplace_back(Access::elements(key), Access::dense(value));
  }
  return Access::array(std::shared_ptr<const MapValue>(std::move(map)));
}

Array::Kind Array::kind() const noexcept {
  const Datum& datum = Access::datum(*this);
  if (datum.is_tensor()) return Kind::tensor;
  if (datum.is_sequence()) return Kind::sequence;
  return datum.is_map() ? Kind::map : Kind::none;
}

Dtype Array::dtype() const { return static_cast<Dtype>(tensor_of(*this).elem()); }
const Sizes& Array::sizes() const { return tensor_of(*this).sizes(); }
std::int64_t Array::count() const { return tensor_of(*this).count(); }
std::size_t Array::bytes() const { return tensor_of(*this).bytes(); }
const void* Array::data() const { return Access::elements(*this).data(); }
Array::Layout Array::layout() const {
  const Tensor& tensor = tensor_of(*this);
  const Buffer& buffer = tensor.buffer();
  const bool may_grow = buffer.block_bytes() != 0;
  const bool exclusive = impl_.use_count() == 1 && buffer.unique() && buffer.writable() && !may_grow;
  return {tensor.data(), tensor.strides(), exclusive, buffer.allocated() ? buffer.size() : 0};
}
Array Array::alias() const { return Access::array(Access::datum(*this)); }
double Array::number(std::int64_t i) const {
  const Tensor& tensor = tensor_of(*this);
  if (i < 0 || i >= tensor.count()) refuse(frazil::Code::bad_input, "element {} of {}", i, tensor.type_str());
  if (tensor.elem() == Elem::string) refuse(frazil::Code::bad_input, "{} has no numbers", tensor.type_str());
  return tensor.number_at(i);
}

void* Array::mutable_data() {
  const Tensor& tensor = tensor_of(*this);
  const Buffer& buffer = tensor.buffer();
  const bool own = impl_.use_count() == 1 && buffer.unique() && buffer.writable() && tensor.contiguous();
  if (!own) *this = Access::array(copy_of(tensor));
  return impl_->datum.mutable_tensor().mutable_data();
}

void Array::expect(Dtype wanted) const {
  if (dtype() != wanted) {
    refuse(frazil::Code::bad_input, "expected elements of type {}, got {}", name_of(wanted),
           tensor_of(*this).type_str());
  }
}

void Array::expect_single() const {
  if (count() != 1) refuse(frazil::Code::bad_input, "expected one element, got {}", tensor_of(*this).type_str());
}

std::vector<Array> Array::items() const {
  const Datum& datum = Access::datum(*this);
  if (!datum.is_sequence()) refuse(frazil::Code::bad_input, "expected a sequence, got {}", kind_name(kind()));
  std::vector<Array> items;
  for (const Datum& item : datum.sequence().items) items.push_back(Access::array(item));
  return items;
}

std::vector<std::pair<Array, Array>> Array::entries() const {
  const Datum& datum = Access::datum(*this);
  if (!datum.is_map()) refuse(frazil::Code::bad_input, "expected a map, got {}", kind_name(kind()));
  std::vector<std::pair<Array, Array>> entries;
  for (const auto& [key, value] : datum.map().items) entries.emplace_back(Access::array(key), Access::array(value));
  return entries;
}

std::string Array::str() const {
  const Datum& datum = Access::datum(*this);
  if (datum.is_tensor()) return datum.tensor().type_str() + " " + summary(datum.tensor());
  if (datum.is_sequence()) return fmt::format("seq({} items)", datum.sequence().items.size());
  return datum.is_map() ? fmt::format("map({} entries)", datum.map().items.size()) : "none";
}

Array Array::read_npy(const std::string& path) { return Access::array(take(frazil::read_npy(path))); }
void Array::write_npy(const std::string& path) const { check(frazil::write_npy(path, Access::elements(*this))); }

Array Array::read_pb(const std::string& path, Kind kind) {
  if (kind > Kind::map) refuse(frazil::Code::bad_input, "there is no kind {}", static_cast<int>(kind));
  constexpr ProtoKind kKinds[] = {ProtoKind::optional, ProtoKind::tensor, ProtoKind::sequence, ProtoKind::map};
  return Access::array(take(frazil::read_pb(path, kKinds[static_cast<std::size_t>(kind)])));
}

Array rounded(Dtype dtype, Sizes sizes, std::span<const float> numbers) {
  const Elem elem = elem_of(dtype);
  if (!is_float(elem)) refuse(frazil::Code::bad_input, "rounded: {} is not a float type", name_of(dtype));
  Tensor tensor = take(Tensor::make(elem, std::move(sizes)));
  if (numbers.size() != static_cast<std::size_t>(tensor.count())) {
    refuse(frazil::Code::bad_input, "rounded: {} numbers for {}", numbers.size(), tensor.type_str());
  }
  if (elem == Elem::f64) {
    std::ranges::copy(numbers, tensor.as_mutable<double>().begin());
  } else if (elem == Elem::f32) {
    std::ranges::copy(numbers, tensor.as_mutable<float>().begin());
  } else {
    from_f32(elem, numbers.data(), tensor.mutable_data(), numbers.size());
  }
  return Access::array(std::move(tensor));
}

void write_pb(const Array& array, const std::string& path) {
  constexpr ProtoKind kKinds[] = {ProtoKind::optional, ProtoKind::tensor, ProtoKind::sequence, ProtoKind::map};
  const ProtoKind kind = kKinds[static_cast<std::size_t>(array.kind())];
  check(write_file(path, take(datum_to_proto(kind, Access::dense(array)))));
}

std::optional<std::string> difference(const Array& got, const Array& want, double rtol, double atol) {
  return frazil::difference(Access::datum(got), Access::datum(want), {.rtol = rtol, .atol = atol});
}

}  // namespace frazil::api
