#pragma once

#include <string>
#include <string_view>

/// Quantised forms of f32 models, with the nodes that ONNX Runtime's tools write.
namespace bench {

enum class Quantise {
  fixed,     ///< ranges seen in a few requests: convolutions, products, sums and pools between DequantizeLinear and
             ///< QuantizeLinear; activations u8, weights i8 with a scale per output channel, biases i32
  products,  ///< the same of MatMul with a constant alone
  dynamic,   ///< ranges of each run: MatMul with a constant becomes DynamicQuantizeLinear and MatMulInteger
};

/// Writes the quantised form of the model in the file `from` to `to`. `requests`, as for make_requests(), give the
/// ranges. Throws std::runtime_error.
void quantise_model(const std::string& from, Quantise how, std::string_view requests, const std::string& to);

}  // namespace bench
