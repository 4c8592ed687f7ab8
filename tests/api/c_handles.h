#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <frazil/c.h>
#include <gtest/gtest.h>

// Handles that free their objects, and calls that have to succeed, for the tests of the C API.
namespace frazil::test::c {

template <class T, void (*free)(T*)>
struct Handle {
  T* p = nullptr;
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { free(p); }
  T** operator&() { return &p; }
  operator T*() const { return p; }
};
using HeldError = Handle<frazil_error, frazil_error_free>;
using HeldArray = Handle<frazil_array, frazil_array_free>;
using HeldModel = Handle<frazil_model, frazil_model_free>;
using HeldSession = Handle<frazil_session, frazil_session_free>;
using HeldGraph = Handle<frazil_graph, frazil_graph_free>;
using HeldText = Handle<char, frazil_text_free>;

/// Calls a function that must succeed: good(frazil_x, arguments...).
template <class F, class... A>
void good(F f, A&&... arguments) {
  HeldError error;
  ASSERT_EQ(f(arguments..., &error), FRAZIL_OK) << frazil_error_message(error);
  ASSERT_EQ(error.p, nullptr);
}

template <class T>
void make(HeldArray& array, frazil_dtype dtype, const std::vector<std::int64_t>& dims, const std::vector<T>& values) {
  good(frazil_array_copy, dtype, dims.data(), dims.size(), values.data(), values.size() * sizeof(T), &array);
}

template <class T>
std::vector<T> values_in(const frazil_array* array) {
  const void* data = nullptr;
  std::size_t bytes = 0;
  good(frazil_array_data, array, &data, &bytes);
  std::vector<T> values(bytes / sizeof(T));
  if (bytes != 0) std::memcpy(values.data(), data, bytes);
  return values;
}

/// y = x * x, z = -y
inline void squares(HeldModel& model) {
  HeldGraph graph;
  const char* dims[] = {"N"};
  frazil_term x[2], y, z;
  good(frazil_graph_new, "squares", &graph);
  good(frazil_graph_input, graph, "x", FRAZIL_F32, dims, 1u, &x[0]);
  x[1] = x[0];
  good(frazil_graph_op, graph, "Mul", x, 2u, nullptr, 0u, "product", &y, 1u);
  good(frazil_graph_op, graph, "Neg", &y, 1u, nullptr, 0u, "negated", &z, 1u);
  good(frazil_graph_output, graph, "y", y);
  good(frazil_graph_output, graph, "z", z);
  good(frazil_graph_build, graph, &model);
}

}  // namespace frazil::test::c
