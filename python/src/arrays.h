#pragma once

#include <memory>
#include <span>

#include "python/src/python.h"

namespace frazil::python {

/// What a Python value is to become.
struct Wanted {
  std::string what;  ///< names it in errors: "input 'x'"
  Array::Kind kind = Array::Kind::tensor;
  std::optional<Dtype> dtype;  ///< of numbers and texts that are not arrays; else as NumPy sees them
  std::optional<Dtype> key;    ///< of maps
  static Wanted of(const Port& port);
};

/// The Array of a NumPy array, a DLPack tensor, a number, a text, a list (of a sequence's items too), a dict, or None.
/// Arrays in row-major order and native byte order are borrowed, without a copy, and kept alive; others are copied.
/// Arrays keep their element type; numbers and lists take the wanted one where that loses nothing. Throws
/// Code::bad_input.
Array array_of(py::handle value, const Wanted& wanted);

/// With memory of its own: for what outlives a call.
Array copied(Array array);

/// A NumPy array over the Array's memory, without a copy; a list of a sequence, a dict of a map, None. The array can be
/// written unless others use the same memory: pass the last Array of a value by std::move().
py::object object_of(Array array);

/// A NumPy array over a tensor's memory that cannot be written; None of an absent one.
py::object read_only(const Array& array);
/// Whether a value takes an element type from where it is used: a number, a list, a text.
bool is_literal(py::handle value);
/// Extents as Python has them: numbers, and texts of what runs decide.
py::tuple extents_object(std::span<const std::string> dims);

/// A NumPy array over a DLPack tensor's memory, without a copy.
py::object array_of_dlpack(py::handle tensor, const std::string& what);

/// The memory of a NumPy array that a result can be written into.
struct WritableArray {
  Dtype dtype;
  std::span<std::byte> memory;
};
/// Throws Code::bad_input for an array that cannot be written, is not in row-major order or native byte order, or whose
/// element type is none of Frazil's.
WritableArray writable_array(py::handle array, const std::string& what);

/// A reference that any thread may drop, with the interpreter's lock or without.
std::shared_ptr<const void> kept(py::handle object);

/// Drops references to Python objects that threads without the interpreter's lock left. Needs that lock.
void drop_left();

/// A new NumPy array over memory that `base` keeps alive. Strides in bytes; null: row-major.
py::object ndarray_over(Dtype dtype, std::span<const Py_ssize_t> sizes, const Py_ssize_t* strides, const void* data,
                        bool writable, py::object base);

}  // namespace frazil::python
