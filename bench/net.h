#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/frazil.h>

#include "bench/random.h"

/// Helpers for building benchmark models: constants, random weights, and expansions of larger operators as in
/// exporters.
namespace bench {

using frazil::Array;
using frazil::Body;
using frazil::Dtype;
using frazil::Term;
using Terms = std::vector<Term>;
using Sizes = std::vector<std::int64_t>;

/// A Body and the source of its weights. in() returns the Net of a nested body.
class Net {
 public:
  /// `type` is the type of weights and numbers: f32, f16 or bf16. All types are rounded from the same numbers.
  Net(Body& body, Random& random, Dtype type = Dtype::f32) : body_(body), random_(random), type_(type) {}
  Net in(Body& body) const { return {body, random_, type_}; }
  Body& body() const { return body_; }
  bool is_half() const { return type_ != Dtype::f32; }

  Term op(std::string_view name, const Terms& inputs, const frazil::api::Attributes& attributes = {}) const {
    return body_.op(name, inputs, attributes);
  }
  Terms ops(std::string_view name, const Terms& inputs, const frazil::api::Attributes& attributes,
            std::size_t outputs) const {
    return body_.ops(name, inputs, attributes, outputs);
  }

  Term f(double value) const { return constant(Array::of<float>({}, {static_cast<float>(value)})); }
  /// Adds an f32 constant, converted to the type of this Net.
  Term constant(const Array& wide) const {
    if (!is_half()) return body_.constant(wide);
    Array half(type_, wide.sizes());
    if (type_ == Dtype::f16)
      round(wide, half.mutable_values<frazil::Half>());
    else
      round(wide, half.mutable_values<frazil::BFloat16>());
    return body_.constant(half);
  }
  Term to(Term x, Dtype type) const {
    const std::int64_t number = type == Dtype::f32 ? 1 : type == Dtype::f16 ? 10 : 16;  // ONNX's numbers
    return op("Cast", {x}, {{"to", number}});
  }
  Term narrowed(Term x) const { return is_half() ? to(x, type_) : x; }
  Term widened(Term x) const { return is_half() ? to(x, Dtype::f32) : x; }
  Term index(std::int64_t value) const { return body_.scalar(value); }
  Term ints(std::initializer_list<std::int64_t> values) const {
    return body_.constant(Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  /// Returns uniform values with this mean and standard deviation. Deviation 0 selects the one that keeps a product's
  /// results in range.
  Term weight(const Sizes& sizes, double deviation = 0, double mean = 0) const {
    Array values(Dtype::f32, sizes);
    if (deviation == 0) {
      deviation = 1 / std::sqrt(static_cast<double>(sizes.size() > 1 ? sizes[sizes.size() - 2] : sizes[0]));
    }
    const auto spread = static_cast<float>(deviation * std::sqrt(3.0) * 0x1p-31), middle = static_cast<float>(mean);
    for (float& value : values.mutable_values<float>()) {
      value = middle + spread * static_cast<float>(static_cast<std::int32_t>(random_.bits() >> 32));
    }
    return constant(values);
  }

  Term dim(Term x, std::int64_t axis) const { return op("Gather", {op("Shape", {x}), index(axis)}, {{"axis", 0}}); }
  /// Adds a product and a bias. The bias may be either operand of the sum.
  Term linear(Term x, std::int64_t from, std::int64_t to, bool bias_last = false) const {
    const Term y = op("MatMul", {x, weight({from, to})}), bias = weight({to}, 0.02);
    return op("Add", bias_last ? Terms{y, bias} : Terms{bias, y});
  }
  /// Adds a layer normalisation over the last axis: expanded as in exporters, or one operator for 16-bit floats.
  Term norm(Term x, std::int64_t width, bool bias_first = false) const {
    const Term scale = weight({width}, 0.1, 1);
    return norm(x, scale, weight({width}, 0.1), bias_first);
  }
  Term norm(Term x, Term scale, Term bias, bool bias_first) const {
    if (is_half()) return op("LayerNormalization", {x, scale, bias}, {{"epsilon", 1e-5f}});
    const frazil::api::Attributes keep = {{"keepdims", 1}};
    const Term centred = op("Sub", {x, op("ReduceMean", {x, ints({-1})}, keep)});
    const Term square = op("ReduceMean", {op("Pow", {centred, f(2)}), ints({-1})}, keep);
    const Term scaled = op("Mul", {op("Div", {centred, op("Sqrt", {op("Add", {square, f(1e-5)})})}), scale});
    return op("Add", bias_first ? Terms{bias, scaled} : Terms{scaled, bias});
  }
  Term gelu(Term x) const {
    if (is_half()) return op("Gelu", {x});
    const Term e = op("Add", {op("Erf", {op("Div", {x, f(std::sqrt(2.0))})}), f(1)});
    return op("Mul", {op("Mul", {x, e}), f(0.5)});
  }

 private:
  template <class T>
  static void round(const Array& wide, std::span<T> to) {
    std::ranges::transform(wide.values<float>(), to.begin(), [](float x) { return T(x); });
  }

  Body& body_;
  Random& random_;
  Dtype type_;
};

}  // namespace bench
