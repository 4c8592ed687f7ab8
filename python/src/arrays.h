#pragma once

#include <memory>
#include <span>

#include "python/src/python.h"

namespace frazil::python {

/// The target type for the conversion of a Python value.
struct AwaitedValues {
  std::string what;  ///< name in errors: "input 'x'"
  Array::Kind kind = Array::Kind::tensor;
  std::optional<Dtype> dtype;  ///< for numbers and texts other than arrays; nullopt: NumPy's type
  std::optional<Dtype> key;    ///< key type of maps
  static AwaitedValues of(const Port& port);
};

/// Converts a NumPy array, a DLPack tensor, a number, a text, a list (also of a sequence's items), a dict, or None.
/// Arrays in row-major order and native byte order are borrowed without a copy and kept alive. Other arrays are copied.
///
/// Arrays keep their element type. Numbers and lists take the wanted type if that is lossless. Throws Code::bad_input.
Array array_of(py::handle value, const AwaitedValues& wanted);

/// Returns an array with its own memory, which may outlive a call.
Array copied(Array array);

/// Returns a NumPy array over the Array's memory without a copy, a list for a sequence, a dict for a map, or None. The
/// array is writable unless its memory is shared, so pass the last Array of a value by std::move().
py::object object_of(Array array);

/// Returns a read-only NumPy array over a tensor's memory, or None for an absent tensor.
py::object read_only(const Array& array);
/// Returns true for values without an element type of their own: a number, a list, a text.
bool is_literal(py::handle value);
/// Returns extents as numbers, or as texts if they are only known at run time.
py::tuple extents_object(std::span<const std::string> dims);

/// Returns a NumPy array over a DLPack tensor's memory, without a copy.
py::object array_of_dlpack(py::handle tensor, const std::string& what);

/// The memory of a NumPy array that a result is written into.
struct WritableArray {
  Dtype dtype;
  std::span<std::byte> memory;
};
/// Throws Code::bad_input for an array that is read-only, not in row-major order or native byte order, or of an
/// unsupported element type.
WritableArray writable_array(py::handle array, const std::string& what);

/// Returns a reference that any thread may release, with or without the interpreter's lock.
std::shared_ptr<const void> kept(py::handle object);

/// Releases references that threads without the interpreter's lock have left. Requires that lock.
void drop_left();

/// Creates a NumPy array over memory that `base` keeps alive. Strides are in bytes; null means row-major.
py::object ndarray_over(Dtype dtype, std::span<const Py_ssize_t> sizes, const Py_ssize_t* strides, const void* data,
                        bool writable, py::object base);

}  // namespace frazil::python
