#include "python/src/arrays.h"

// DLPack 0.x, as in its specification.
namespace frazil::python {
namespace {

struct Device {
  std::int32_t type, id;
};
struct Element {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  Element dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major
  std::uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
constexpr const char* kFresh = "dltensor";
constexpr const char* kUsed = "used_dltensor";
constexpr std::int32_t kCpu = 1, kPinned = 3;

struct DlpackRow {
  std::uint8_t code, bits;
  Dtype dtype;
};
constexpr DlpackRow kDlpackRows[] = {
    {0, 8, Dtype::i8},          {0, 16, Dtype::i16},    {0, 32, Dtype::i32},        {0, 64, Dtype::i64},
    {1, 8, Dtype::u8},          {1, 16, Dtype::u16},    {1, 32, Dtype::u32},        {1, 64, Dtype::u64},
    {2, 16, Dtype::f16},        {2, 32, Dtype::f32},    {2, 64, Dtype::f64},        {4, 16, Dtype::bf16},
    {5, 64, Dtype::c64},        {5, 128, Dtype::c128},  {6, 8, Dtype::boolean},     {10, 8, Dtype::f8e4m3fn},
    {11, 8, Dtype::f8e4m3fnuz}, {12, 8, Dtype::f8e5m2}, {13, 8, Dtype::f8e5m2fnuz}, {14, 8, Dtype::f8e8m0},
};

Dtype dtype_of_element(Element element, const std::string& what) {
  for (const DlpackRow& row : kDlpackRows) {
    if (row.code == element.code && row.bits == element.bits && element.lanes == 1) return row.dtype;
  }
  refuse(what + ": no element type corresponds to DLPack's code " + std::to_string(element.code) + " of " +
         std::to_string(element.bits) + " bits");
}

void check_device(py::handle tensor, const std::string& what) {
  if (!py::hasattr(tensor, "__dlpack_device__")) refuse(what + ": the object has no __dlpack_device__()");
  const py::tuple device = tensor.attr("__dlpack_device__")();
  const int type = py::int_(device[0]).cast<int>();
  if (type != kCpu && type != kPinned) refuse(what + ": the tensor is not in the CPU's memory");
}

/// Takes ownership of the tensor.
py::object owner_of(Managed* managed) {
  return py::capsule(managed, [](void* owned) {
    auto* tensor = static_cast<Managed*>(owned);
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  });
}

}  // namespace

py::object array_of_dlpack(py::handle tensor, const std::string& what) {
  if (!py::hasattr(tensor, "__dlpack__")) refuse(what + ": the object has no __dlpack__()");
  check_device(tensor, what);
  const py::object capsule = tensor.attr("__dlpack__")();
  if (PyCapsule_IsValid(capsule.ptr(), kFresh) == 0) refuse(what + ": __dlpack__() gave no tensor");
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kFresh));
  const Tensor& from = managed->tensor;
  const Dtype dtype = dtype_of_element(from.dtype, what);
  const py::object owner = owner_of(managed);
  if (PyCapsule_SetName(capsule.ptr(), kUsed) != 0) throw py::error_already_set();

  const std::vector<Py_ssize_t> sizes(from.shape, from.shape + from.ndim);
  std::vector<Py_ssize_t> strides;
  for (std::int32_t axis = 0; from.strides != nullptr && axis < from.ndim; ++axis) {
    strides.push_back(from.strides[axis] * static_cast<Py_ssize_t>(byte_size(dtype)));
  }
  const auto* data = static_cast<const std::byte*>(from.data) + from.byte_offset;
  return ndarray_over(dtype, sizes, from.strides != nullptr ? strides.data() : nullptr, data, true, owner);
}

}  // namespace frazil::python
