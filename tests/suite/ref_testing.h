#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits/execution_limits.h"
#include "ir/edit/builder.h"
#include "ops/control/control.h"
#include "ref/ref.h"

namespace frazil::test {

using Values = std::vector<Value>;

/// A graph under construction, with region builders for tests.
struct Net {
  Graph graph;
  Builder b{graph};

  Expr input(std::string_view name, Elem elem, std::initializer_list<Dim> shape) {
    return b.input(name, Type::tensor(elem, Shape(shape)));
  }
  Result<std::vector<Datum>> run(std::vector<Datum> inputs, const Limits& limits = {}) {
    if (!b.status()) return std::unexpected(b.status().error());
    ExecutionLimits execution_limits(limits);
    const LimitsScope scope(&execution_limits);
    return run_reference(graph, inputs);
  }
  /// The only output, as a tensor.
  Tensor one(std::vector<Datum> inputs) {
    auto results = run(std::move(inputs));
    if (!results) {
      ADD_FAILURE() << results.error().text();
      return Tensor::scalar<float>(-12345);
    }
    return results->at(0).tensor();
  }
  std::string error(std::vector<Datum> inputs, Code code) {
    auto results = run(std::move(inputs));
    if (results) return "no error";
    EXPECT_EQ(name_of(results.error().code), name_of(code));
    return results.error().text();
  }
};

/// A region node whose blocks are filled by functions from params to results.
using Body = std::function<std::vector<Expr>(Builder& b, std::span<const Expr> params)>;
inline std::vector<Expr> region(Builder& b, const OpDef& op, std::vector<Expr> inputs, Attrs attrs,
                                const std::vector<std::size_t>& params, const std::vector<Body>& bodies,
                                std::size_t outputs, std::string name = {}) {
  Values in;
  for (const Expr& e : inputs) in.push_back(e.value);
  auto node = b.open(op, std::move(in), std::move(attrs), params, std::move(name));
  if (!node) {
    ADD_FAILURE() << node.error().text();
    return std::vector<Expr>(outputs, b.absent());
  }
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const BlockId block = b.graph().node(*node).blocks[k];
    Builder inner(b.graph(), block);
    std::vector<Expr> exprs;
    for (Value v : b.graph().block(block).params) exprs.push_back({&inner, v});
    Values results;
    for (const Expr& e : bodies[k](inner, exprs)) results.push_back(e.value);
    EXPECT_TRUE(inner.status()) << inner.status().error().text();
    b.yield(*node, k, std::move(results));
  }
  const Status closed = b.close(*node, std::vector<bool>(outputs, true));
  EXPECT_TRUE(closed) << closed.error().text();
  std::vector<Expr> out;
  for (Value v : b.graph().node(*node).out) out.push_back({&b, v});
  return out;
}

/// An outer value for use in a body.
inline Expr capture(Builder& b, Expr e) { return {&b, e.value}; }

inline std::vector<Expr> if_else(Builder& b, Expr condition, const Body& then_body, const Body& else_body,
                                 std::size_t outputs = 1, std::string name = {}) {
  return region(b, ops::If, {condition}, nullptr, {0, 0}, {then_body, else_body}, outputs, std::move(name));
}
inline std::vector<Expr> loop(Builder& b, Expr count, Expr condition, std::vector<Expr> carried, const Body& body,
                              std::size_t outputs, std::string name = {}) {
  std::vector<Expr> in{count, condition};
  in.insert(in.end(), carried.begin(), carried.end());
  return region(b, ops::Loop, in, nullptr, {in.size()}, {body}, outputs, std::move(name));
}
inline std::vector<Expr> scan(Builder& b, std::vector<Expr> in, ops::ScanAttrs attrs, const Body& body,
                              std::size_t outputs, std::string name = {}) {
  const std::size_t params = in.size();
  return region(b, ops::Scan, std::move(in), std::make_shared<const ops::ScanAttrs>(std::move(attrs)), {params}, {body},
                outputs, std::move(name));
}

template <class T>
Tensor vec(std::initializer_list<T> values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor f32(std::initializer_list<float> values) { return vec<float>(values); }
inline Tensor f32(Sizes sizes, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(sizes), values);
}
inline Tensor i64(std::initializer_list<std::int64_t> values) { return vec<std::int64_t>(values); }

/// EXPECT that two tensors are bit-equal.
inline void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_TRUE(identical(got, want)) << got.type_str() << " " << summary(got, 40) << "\nwanted " << want.type_str()
                                    << " " << summary(want, 40);
}

}  // namespace frazil::test
