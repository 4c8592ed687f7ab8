#pragma once

#include "python/src/python.h"

namespace frazil::python {

constexpr int kDtypes = static_cast<int>(Dtype::u2) + 1;

inline bool is_integer(Dtype dtype) { return dtype >= Dtype::i8 && dtype <= Dtype::u64; }
inline bool is_real(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}

/// NumPy's and ml_dtypes' name: "float32", "bfloat16".
const char* python_name(Dtype dtype);
/// NumPy's dtype, a borrowed reference: ml_dtypes' where NumPy has none and ml_dtypes can be imported, else a structure
/// with one field of the same name that holds the bits. Strings are objects.
PyObject* numpy_dtype(Dtype dtype);
/// Of a NumPy dtype in native byte order; none where Frazil has no such type. Texts of any kind are strings.
std::optional<Dtype> dtype_of_numpy(py::handle dtype);
/// Of a frazil.DType, or of anything that numpy.dtype() takes. Throws Code::bad_input, naming `what`.
Dtype dtype_of_object(py::handle object, const std::string& what);
/// The frazil.DType.
py::object object_of(Dtype dtype);
/// Of the name in a type's text: "f32".
std::optional<Dtype> dtype_from_name(std::string_view name);

}  // namespace frazil::python
