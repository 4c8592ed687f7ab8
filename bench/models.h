#pragma once

#include <string>

/// ONNX models that the benchmarks write themselves. Functions throw std::runtime_error that names the file.
namespace bench {

/// Alternating Add and Mul with f32[1] weights on x: f32[N,4].
void write_chain(const std::string& path, int nodes);

/// A layer normalisation and a softmax on x: f32[N,64].
void write_norm(const std::string& path);

/// Products of x: f32[N,width] with f32[width,width] weights, one after the other.
void write_products(const std::string& path, int layers, int width);

}  // namespace bench
