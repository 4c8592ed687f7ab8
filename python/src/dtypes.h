#pragma once

#include "python/src/python.h"

namespace frazil::python {

constexpr int kDtypes = static_cast<int>(Dtype::u2) + 1;

inline bool is_integer(Dtype dtype) { return dtype >= Dtype::i8 && dtype <= Dtype::u64; }
inline bool is_real(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}

/// Returns the name in NumPy and ml_dtypes: "float32", "bfloat16".
const char* python_name(Dtype dtype);
/// Returns NumPy's dtype as a borrowed reference; strings are objects. For types that NumPy lacks it is ml_dtypes'
/// dtype if ml_dtypes can be imported, else a structure with one field of the same name that holds the bits.
PyObject* numpy_dtype(Dtype dtype);
/// Returns the type for a NumPy dtype in native byte order, or nullopt if Frazil lacks it. Texts of any kind are
/// strings.
std::optional<Dtype> dtype_of_numpy(py::handle dtype);
/// Converts a frazil.DType, or anything that numpy.dtype() accepts. Throws Code::bad_input that names `what`.
Dtype dtype_of_object(py::handle object, const std::string& what);
/// Returns the frazil.DType.
py::object object_of(Dtype dtype);
/// Returns the type for its name in a type's text, such as "f32".
std::optional<Dtype> dtype_from_name(std::string_view name);

}  // namespace frazil::python
