#pragma once

#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/frazil.h>

#include "bench/random.h"

/// Helpers for building benchmark models: constants, random weights, and expansions of larger operators as written by
/// exporters.
namespace bench {

using frazil::Array;
using frazil::Body;
using frazil::Dtype;
using frazil::Term;
using Terms = std::vector<Term>;
using Sizes = std::vector<std::int64_t>;

/// A Body and the source of its weights; for() returns the one of a nested body.
class Net {
 public:
  Net(Body& body, Random& random) : body_(body), random_(random) {}
  Net in(Body& body) const { return {body, random_}; }
  Body& body() const { return body_; }

  Term op(std::string_view name, const Terms& inputs, const frazil::api::Attributes& attributes = {}) const {
    return body_.op(name, inputs, attributes);
  }
  Terms ops(std::string_view name, const Terms& inputs, const frazil::api::Attributes& attributes,
            std::size_t outputs) const {
    return body_.ops(name, inputs, attributes, outputs);
  }

  Term f(double value) const { return body_.scalar(static_cast<float>(value)); }
  Term index(std::int64_t value) const { return body_.scalar(value); }
  Term ints(std::initializer_list<std::int64_t> values) const {
    return body_.constant(Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  /// Uniform values with this mean and standard deviation; deviation 0 selects the one that keeps a product's inputs in
  /// range.
  Term weight(const Sizes& sizes, double deviation = 0, double mean = 0) const {
    Array values(Dtype::f32, sizes);
    if (deviation == 0) {
      deviation = 1 / std::sqrt(static_cast<double>(sizes.size() > 1 ? sizes[sizes.size() - 2] : sizes[0]));
    }
    const auto spread = static_cast<float>(deviation * std::sqrt(3.0) * 0x1p-31), middle = static_cast<float>(mean);
    for (float& value : values.mutable_values<float>()) {
      value = middle + spread * static_cast<float>(static_cast<std::int32_t>(random_.bits() >> 32));
    }
    return body_.constant(values);
  }

  Term dim(Term x, std::int64_t axis) const { return op("Gather", {op("Shape", {x}), index(axis)}, {{"axis", 0}}); }
  /// The bias may be either operand of its sum.
  Term linear(Term x, std::int64_t from, std::int64_t to, bool bias_last = false) const {
    const Term y = op("MatMul", {x, weight({from, to})}), bias = weight({to}, 0.02);
    return op("Add", bias_last ? Terms{y, bias} : Terms{bias, y});
  }
  /// Layer normalisation over the last axis, as written by exporters.
  Term norm(Term x, std::int64_t width, bool bias_first = false) const {
    const Term scale = weight({width}, 0.1, 1);
    return norm(x, scale, weight({width}, 0.1), bias_first);
  }
  Term norm(Term x, Term scale, Term bias, bool bias_first) const {
    const frazil::api::Attributes keep = {{"keepdims", 1}};
    const Term centred = op("Sub", {x, op("ReduceMean", {x, ints({-1})}, keep)});
    const Term square = op("ReduceMean", {op("Pow", {centred, f(2)}), ints({-1})}, keep);
    const Term scaled = op("Mul", {op("Div", {centred, op("Sqrt", {op("Add", {square, f(1e-5)})})}), scale});
    return op("Add", bias_first ? Terms{bias, scaled} : Terms{scaled, bias});
  }
  Term gelu(Term x) const {
    const Term e = op("Add", {op("Erf", {op("Div", {x, f(std::sqrt(2.0))})}), f(1)});
    return op("Mul", {op("Mul", {x, e}), f(0.5)});
  }

 private:
  Body& body_;
  Random& random_;
};

}  // namespace bench
