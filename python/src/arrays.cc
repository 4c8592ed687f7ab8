#include "python/src/arrays.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "python/src/docs.h"
#include "python/src/dtypes.h"
#include "python/src/lazy.h"

namespace frazil::python {
namespace {

constexpr const char* kCapsule = "frazil.Array";
using Api = py::detail::npy_api;

py::module_ numpy() { return py::module_::import("numpy"); }

// ---- references released without the lock ----

/// A lock-free list, as fork() may happen at any moment.
struct Left {
  PyObject* object;
  Left* next;
};
std::atomic<Left*> left = nullptr;

int drop_as_pending_call(void*) {
  drop_left();
  return 0;
}

/// Releases a borrowed array. It must not wait for the interpreter's lock, as its holder may wait for this thread.
void drop(const void* object) {
  auto* python = static_cast<PyObject*>(const_cast<void*>(object));
  if (Py_IsInitialized() == 0) return;
  if (PyGILState_Check() != 0) {
    Py_DECREF(python);
    return;
  }
  auto* const first = new Left{python, left.load()};
  while (!left.compare_exchange_weak(first->next, first)) {
  }
  if (first->next == nullptr) Py_AddPendingCall(drop_as_pending_call, nullptr);
}

// ---- NumPy arrays ----

/// Types by NumPy's type number; -1: none.
constexpr auto kNative = [] {
  std::array<signed char, 24> table{};
  table.fill(-1);
  const auto set = [&](int number, Dtype dtype) {
    table[static_cast<std::size_t>(number)] = static_cast<signed char>(dtype);
  };
  set(Api::NPY_BOOL_, Dtype::boolean);
  set(Api::NPY_BYTE_, Dtype::i8);
  set(Api::NPY_SHORT_, Dtype::i16);
  set(Api::NPY_INT_, Dtype::i32);
  set(Api::NPY_LONG_, sizeof(long) == 8 ? Dtype::i64 : Dtype::i32);
  set(Api::NPY_LONGLONG_, Dtype::i64);
  set(Api::NPY_UBYTE_, Dtype::u8);
  set(Api::NPY_USHORT_, Dtype::u16);
  set(Api::NPY_UINT_, Dtype::u32);
  set(Api::NPY_ULONG_, sizeof(long) == 8 ? Dtype::u64 : Dtype::u32);
  set(Api::NPY_ULONGLONG_, Dtype::u64);
  set(Api::NPY_FLOAT_, Dtype::f32);
  set(Api::NPY_DOUBLE_, Dtype::f64);
  set(Api::NPY_CFLOAT_, Dtype::c64);
  set(Api::NPY_CDOUBLE_, Dtype::c128);
  set(23, Dtype::f16);  // NPY_HALF
  return table;
}();

bool is_ndarray(py::handle value) { return Api::get().PyArray_Check_(value.ptr()); }

std::optional<Dtype> dtype_of_array(py::handle array) {
  const PyObject* descriptor = py::detail::array_proxy(array.ptr())->descr;
  const auto number = static_cast<std::size_t>(py::detail::array_descriptor_proxy(descriptor)->type_num);
  if (number < kNative.size() && kNative[number] >= 0) return static_cast<Dtype>(kNative[number]);
  return dtype_of_numpy(py::handle(py::detail::array_proxy(array.ptr())->descr));
}

/// Returns the Array of a complete result that is passed back. It may have a capacity, which a session reuses.
const Array* behind(py::handle array) {
  const auto* proxy = py::detail::array_proxy(array.ptr());
  if (proxy->base == nullptr || PyCapsule_IsValid(proxy->base, kCapsule) == 0) return nullptr;
  const auto* made = static_cast<const Array*>(PyCapsule_GetPointer(proxy->base, kCapsule));
  const Sizes& sizes = made->sizes();
  const bool whole = made->layout().data == proxy->data && std::ssize(sizes) == proxy->nd &&
                     std::equal(sizes.begin(), sizes.end(), proxy->dimensions);
  if (!whole) return nullptr;
  const auto strides = made->layout().strides;
  const auto size = static_cast<std::int64_t>(byte_size(made->dtype()));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && strides[axis] * size != proxy->strides[axis]) return nullptr;
  }
  return made;
}

std::string text_of(py::handle value, const std::string& what) {
  if (PyUnicode_Check(value.ptr())) {
    const auto bytes =
        py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogateescape"));
    if (!bytes) throw py::error_already_set();
    return bytes;
  }
  if (PyBytes_Check(value.ptr())) return py::reinterpret_borrow<py::bytes>(value);
  refuse(what + ": expected texts, got " + std::string(py::str(py::type::handle_of(value).attr("__name__"))));
}

Array strings_of(py::handle array, const std::string& what) {
  const py::object objects = numpy().attr("ascontiguousarray")(array, py::arg("dtype") = "object");
  const auto* from = py::detail::array_proxy(array.ptr());
  Array to(Dtype::string, Sizes(from->dimensions, from->dimensions + from->nd));
  auto* const* item = reinterpret_cast<PyObject* const*>(py::detail::array_proxy(objects.ptr())->data);
  for (std::string& text : to.mutable_values<std::string>()) text = text_of(*item++, what);
  return to;
}

bool is_plain(py::handle array) {
  const auto* proxy = py::detail::array_proxy(array.ptr());
  const auto* descriptor = py::detail::array_descriptor_proxy(proxy->descr);
  return (proxy->flags & Api::NPY_ARRAY_C_CONTIGUOUS_) != 0 && descriptor->byteorder != '>';
}

/// Throws Code::bad_input if NumPy's element type has no counterpart.
Dtype known_dtype(py::handle array, const std::string& what) {
  if (const auto dtype = dtype_of_array(array)) return *dtype;
  refuse(what + ": no element type corresponds to NumPy's " + std::string(py::str(array.attr("dtype"))));
}

std::size_t byte_count(Dtype dtype, const Sizes& sizes) {
  std::size_t bytes = byte_size(dtype);
  for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

Sizes sizes_of(py::handle array) {
  const auto* proxy = py::detail::array_proxy(array.ptr());
  return {proxy->dimensions, proxy->dimensions + proxy->nd};
}

Array array_of_ndarray(py::handle array, const AwaitedValues& wanted) {
  if (const Array* made = behind(array)) return *made;
  const Dtype dtype = known_dtype(array, wanted.what);
  if (dtype == Dtype::string && wanted.dtype && wanted.dtype != Dtype::string) {
    refuse(wanted.what + ": expected " + python_name(*wanted.dtype) + ", got an array of " +
           std::string(py::str(array.attr("dtype"))));
  }
  if (dtype == Dtype::string) return strings_of(array, wanted.what);
  py::object copy;
  if (!is_plain(array)) {
    const py::object native = array.attr("dtype").attr("newbyteorder")("=");
    copy = numpy().attr("ascontiguousarray")(array, py::arg("dtype") = native);
    array = copy;
  }
  const auto* data = reinterpret_cast<const std::byte*>(py::detail::array_proxy(array.ptr())->data);
  Sizes sizes = sizes_of(array);
  const std::size_t bytes = byte_count(dtype, sizes);
  return Array::borrow(dtype, std::move(sizes), {data, bytes}, kept(array));
}

// ---- numbers and lists ----

/// Returns true if NumPy's first kind of element converts to the second without loss, except for the range.
bool may_become(char from, char to) {
  constexpr std::string_view order = "biufc";
  if (from == 'u') from = 'i';
  if (to == 'u') to = 'i';
  return from == to || (to != 'b' && order.find(from) < order.find(to) && order.find(to) != std::string_view::npos);
}

py::object fitted(const py::object& array, Dtype dtype, const std::string& what) {
  const py::object wanted = py::reinterpret_borrow<py::object>(numpy_dtype(dtype));
  const py::object given = array.attr("dtype");
  if (given.equal(wanted)) return array;
  const std::string name = python_name(dtype);
  const char from = given.attr("kind").cast<char>();
  char to = wanted.attr("kind").cast<char>();
  const bool extension = dtype_of_numpy(wanted) == dtype && to == 'V';
  if (extension && !wanted.attr("names").is_none()) {
    refuse(what + ": numbers cannot become " + name + " without the package ml_dtypes; pass an array");
  }
  if (extension) to = name[0] == 'i' || name[0] == 'u' ? 'i' : 'f';
  const bool none = array.attr("size").cast<py::ssize_t>() == 0;
  if (!none && !may_become(from, to)) refuse(what + ": " + std::string(py::str(given)) + " values do not fit " + name);
  const py::object cast = array.attr("astype")(wanted);
  if (to == 'i' || to == 'u') {
    if (!numpy().attr("array_equal")(cast.attr("astype")(given), array).cast<bool>()) {
      refuse(what + ": a value is out of the range of " + name);
    }
  }
  return cast;
}

Array array_of_literal(py::handle value, const AwaitedValues& wanted) {
  py::object array;
  try {
    if (wanted.dtype == Dtype::string) {
      array = numpy().attr("asarray")(value, py::arg("dtype") = "object");
    } else {
      array = numpy().attr("asarray")(value);
    }
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    refuse(wanted.what + ": " + std::string(py::str(error.value())));
  }
  const bool own_type = py::hasattr(value, "__array__");
  if (!own_type && wanted.dtype && *wanted.dtype != Dtype::string) array = fitted(array, *wanted.dtype, wanted.what);
  if (!own_type && dtype_of_array(array) == Dtype::string && wanted.dtype && *wanted.dtype != Dtype::string) {
    refuse(wanted.what + ": expected " + python_name(*wanted.dtype) + ", got " + py::repr(value).cast<std::string>());
  }
  return array_of_ndarray(array, wanted);
}

Array sequence_of(py::handle value, const AwaitedValues& wanted) {
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) refuse(wanted.what + ": expected a list of items");
  std::vector<Array> items;
  AwaitedValues item = wanted;
  item.kind = Array::Kind::tensor;
  for (const py::handle one : value) {
    item.what = wanted.what + "[" + std::to_string(items.size()) + "]";
    const bool map = PyDict_Check(one.ptr());
    item.kind = map ? Array::Kind::map : Array::Kind::tensor;
    items.push_back(array_of(one, item));
  }
  return Array::sequence(items);
}

Array map_of(py::handle value, const AwaitedValues& wanted) {
  if (!PyDict_Check(value.ptr())) refuse(wanted.what + ": expected a dict");
  std::vector<std::pair<Array, Array>> entries;
  for (const auto [key, item] : py::reinterpret_borrow<py::dict>(value)) {
    const std::string what = wanted.what + "[" + py::repr(key).cast<std::string>() + "]";
    const bool text = PyUnicode_Check(key.ptr()) || PyBytes_Check(key.ptr());
    const Dtype key_type = wanted.key.value_or(text ? Dtype::string : Dtype::i64);
    const bool sequence = PyList_Check(item.ptr()) && !wanted.dtype;
    const AwaitedValues of_item{what, sequence ? Array::Kind::sequence : Array::Kind::tensor, wanted.dtype, {}};
    entries.emplace_back(array_of(key, {"the key of " + what, Array::Kind::tensor, key_type, {}}),
                         array_of(item, of_item));
  }
  return Array::map(entries);
}

// ---- results ----

py::object strings_object(const Array& array) {
  const Sizes& sizes = array.sizes();
  std::vector<py::ssize_t> shape(sizes.begin(), sizes.end());
  py::array objects(py::reinterpret_borrow<py::dtype>(numpy_dtype(Dtype::string)), shape);
  auto** to = static_cast<PyObject**>(objects.mutable_data());
  for (const std::string& text : array.values<std::string>()) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (made == nullptr) throw py::error_already_set();
    Py_XDECREF(*to);
    *to++ = made;
  }
  return objects;
}

py::object tensor_object(Array array, bool writable) {
  const Dtype dtype = array.dtype();
  if (dtype == Dtype::string) return strings_object(array);
  auto* held = new Array(std::move(array));
  py::object base = py::reinterpret_steal<py::object>(PyCapsule_New(
      held, kCapsule, [](PyObject* capsule) { delete static_cast<Array*>(PyCapsule_GetPointer(capsule, kCapsule)); }));
  if (!base) {
    delete held;
    throw py::error_already_set();
  }
  const Array::Layout layout = held->layout();
  const Sizes& sizes = held->sizes();
  constexpr std::size_t kMaxAxes = 32;  // NumPy's limit
  if (sizes.size() > kMaxAxes) refuse("a result has " + std::to_string(sizes.size()) + " axes; NumPy has at most 32");
  std::array<Py_ssize_t, kMaxAxes> shape, strides;
  const auto size = static_cast<Py_ssize_t>(byte_size(dtype));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    shape[axis] = sizes[axis];
    strides[axis] = layout.strides[axis] * size;
  }
  return ndarray_over(dtype, {shape.data(), sizes.size()}, strides.data(), layout.data, writable && layout.exclusive,
                      std::move(base));
}

}  // namespace

WritableArray writable_array(py::handle array, const std::string& what) {
  const auto* proxy = py::detail::array_proxy(array.ptr());
  if ((proxy->flags & Api::NPY_ARRAY_WRITEABLE_) == 0) refuse(what + ": the array cannot be written");
  if (!is_plain(array)) {
    refuse(what + ": expected an array in row-major order and native byte order; pass numpy.ascontiguousarray(...)");
  }
  const Dtype dtype = known_dtype(array, what);
  return {dtype, {reinterpret_cast<std::byte*>(proxy->data), byte_count(dtype, sizes_of(array))}};
}

std::shared_ptr<const void> kept(py::handle object) {
  object.inc_ref();
  return {static_cast<const void*>(object.ptr()), drop};
}

void drop_left() {
  if (left.load(std::memory_order_relaxed) == nullptr) return;
  for (const Left* now = left.exchange(nullptr); now != nullptr;) {
    Py_DECREF(now->object);
    delete std::exchange(now, now->next);
  }
}

py::object ndarray_over(Dtype dtype, std::span<const Py_ssize_t> sizes, const Py_ssize_t* strides, const void* data,
                        bool writable, py::object base) {
  auto& api = Api::get();
  PyObject* descriptor = numpy_dtype(dtype);
  Py_INCREF(descriptor);  // the call below steals the reference
  py::object made = py::reinterpret_steal<py::object>(
      api.PyArray_NewFromDescr_(api.PyArray_Type_, descriptor, static_cast<int>(sizes.size()), sizes.data(), strides,
                                const_cast<void*>(data), writable ? Api::NPY_ARRAY_WRITEABLE_ : 0, nullptr));
  if (!made) throw py::error_already_set();
  if (api.PyArray_SetBaseObject_(made.ptr(), base.release().ptr()) != 0) throw py::error_already_set();
  return made;
}

AwaitedValues AwaitedValues::of(const Port& port) {
  AwaitedValues wanted{"input '" + port.name + "'", port.kind, {}, {}};
  if (port.kind == Array::Kind::tensor) {
    wanted.dtype = port.dtype;
    return wanted;
  }
  const auto word_before = [&](std::size_t end) {
    const std::size_t begin = port.type.find_last_of("<, ", end - 1) + 1;
    return dtype_from_name(std::string_view(port.type).substr(begin, end - begin));
  };
  if (const std::size_t bracket = port.type.find('['); bracket != std::string::npos)
    wanted.dtype = word_before(bracket);
  const std::size_t map = port.type.find("map<");
  if (map != std::string::npos) wanted.key = word_before(port.type.find(',', map));
  return wanted;
}

Array array_of(py::handle value, const AwaitedValues& wanted) {
  if (is_ndarray(value)) return array_of_ndarray(value, wanted);
  if (const LazyArray* const lazy = lazy_of(value.ptr())) return lazy->value();
  if (value.is_none()) return {};
  if (wanted.kind == Array::Kind::sequence) return sequence_of(value, wanted);
  if (wanted.kind == Array::Kind::map) return map_of(value, wanted);
  if (py::hasattr(value, "__dlpack__")) return array_of_ndarray(array_of_dlpack(value, wanted.what), wanted);
  return array_of_literal(value, wanted);
}

bool is_literal(py::handle value) {
  return !is_ndarray(value) && !py::hasattr(value, "__array__") && !py::hasattr(value, "__dlpack__");
}

py::tuple extents_object(std::span<const std::string> dims) {
  py::tuple shape(dims.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::string& dim = dims[axis];
    const bool number = dim.find_first_not_of("0123456789") == std::string::npos;
    shape[axis] = number ? py::object(py::int_(std::stoll(dim))) : py::object(py::str(dim));
  }
  return shape;
}

Array copied(Array array) {
  const Array shared = array;  // makes the array shared, so that mutable_data() copies it
  if (array.is_tensor()) array.mutable_data();
  return array;
}

py::object read_only(const Array& array) {
  return array.empty() ? py::object(py::none()) : tensor_object(array, false);
}

py::object object_of(Array array) {
  switch (array.kind()) {
    case Array::Kind::none: return py::none();
    case Array::Kind::tensor: return tensor_object(std::move(array), true);
    case Array::Kind::sequence: {
      std::vector<Array> items = array.items();
      array = Array();
      py::list list;
      for (Array& item : items) list.append(object_of(std::move(item)));
      return list;
    }
    case Array::Kind::map: break;
  }
  py::dict entries;
  for (const auto& [key, value] : array.entries()) {
    const py::object scalar = object_of(key).attr("item")();
    py::object item = object_of(value);
    if (value.is_tensor() && value.sizes().empty()) item = item.attr("item")();
    entries[scalar] = item;
  }
  return entries;
}

void bind_arrays(py::module_& m) {
  m.def(
      "from_dlpack", [](const py::object& tensor) { return array_of_dlpack(tensor, "from_dlpack()"); },
      py::arg("tensor"), docs::kFromDlpack);
}

}  // namespace frazil::python
