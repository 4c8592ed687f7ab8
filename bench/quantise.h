#pragma once

#include <string>
#include <string_view>

/// Quantised forms of f32 models, with the nodes written by ONNX Runtime's tools.
namespace bench {

enum class Quantise {
  fixed,     ///< static ranges from a few requests: convolutions, products, sums and pools between DequantizeLinear and
             ///< QuantizeLinear; activations u8, weights i8 with a scale per output channel, biases i32
  products,  ///< as `fixed`, but only MatMul with a constant
  dynamic,   ///< ranges of each run: MatMul with a constant becomes DynamicQuantizeLinear and MatMulInteger
};

/// Writes the quantised form of the model `from` to `to`. `requests`, as in make_requests(), determine the ranges.
/// Throws std::runtime_error.
void quantise_model(const std::string& from, Quantise how, std::string_view requests, const std::string& to);

}  // namespace bench
