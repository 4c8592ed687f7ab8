#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/edit/graph_writer.h"
#include "ir/graph/graph.h"
#include "ir/infer/infer.h"
#include "ir/op/op.h"

namespace frazil {

class Builder;

/// A value under construction. Calling an operator on Exprs appends a node. A failed call returns a poisoned Expr:
/// calls on it are skipped, and Builder::status() holds the first error.
struct Expr {
  Builder* builder = nullptr;
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
  const Type& type() const;
};

/// Appends typed nodes to one block of a Graph. Types are inferred as nodes are appended.
class Builder {
 public:
  explicit Builder(Graph& graph, BlockId block = Graph::kMain) : graph_(graph), block_(block) {}

  Graph& graph() { return graph_; }
  BlockId block() const { return block_; }
  /// Returns the first error since construction.
  const Status& status() const { return status_; }

  /// Adds a graph input (main block only). Symbols in the type are looked up or created by name with dim().
  Expr input(std::string_view name, Type type, Tensor default_value = {});
  Dim dim(std::string_view name, Bounds bounds = {});
  /// Returns the graph's symbols and expressions, to which more can be added.
  Scope& scope() { return GraphWriter(graph_)->scope; }
  Expr constant(Tensor tensor, std::string_view name = {});
  template <class T>
  Expr scalar(T value) {
    return constant(Tensor::scalar(value));
  }
  Expr ints(std::span<const std::int64_t> values);  ///< a 1-D i64 constant
  void output(std::string_view name, Expr value);
  Expr absent() { return {this, {}}; }  ///< an omitted optional input

  /// Appends a node with `outputs` results. An error poisons the results.
  std::vector<Expr> add(const OpDef& op, std::span<const Expr> inputs, Attrs attrs, std::size_t outputs = 1,
                        std::string_view name = {});
  /// Appends a node like add(), on raw values, for importers. Omits output k if `wanted[k]` is false.
  Result<NodeId> append(const OpDef& op, std::vector<Value> inputs, Attrs attrs, const std::vector<bool>& wanted,
                        std::string name);

  /// Starts a region node: creates its blocks and types their params. `params` has the number of params of each block.
  /// Fill each block through Builder(graph, block) and yield(), then call close().
  Result<NodeId> open(const OpDef& op, std::vector<Value> inputs, Attrs attrs, const std::vector<std::size_t>& params,
                      std::string name);
  /// Ends block `index` of an open region with its results.
  void yield(NodeId region, std::size_t index, std::vector<Value> results);
  /// Infers the region, repeatedly while params are widened, and appends it to this block.
  Status close(NodeId region, const std::vector<bool>& wanted);

  /// Sets the choices for later assumptions; see Assumption.
  void choose(Choices choices);
  void name_value(Value v, std::string_view name);
  /// The end of a block at some point. rollback() returns to it after a speculative build.
  using Mark = GraphWriter::Mark;
  Mark mark() const;
  void rollback(const Mark& mark);

 private:
  friend struct Expr;
  Expr poison(Fault fault);
  Graph& graph_;
  BlockId block_;
  Status status_;
};

/// The context passed to a composite's body.
class CompositeCx {
 public:
  CompositeCx(Builder& builder, std::vector<Expr> inputs, const void* attrs, std::size_t outputs)
      : builder_(builder), inputs_(std::move(inputs)), attrs_(attrs), outputs_(outputs) {}
  Builder& builder() { return builder_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && static_cast<bool>(inputs_[i]); }
  Expr in(std::size_t i) const { return inputs_[i]; }
  const Type& type(std::size_t i) const { return inputs_[i].type(); }
  Elem elem(std::size_t i) const { return type(i).elem; }
  std::size_t rank(std::size_t i) const { return type(i).rank(); }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attrs_);
  }
  std::size_t output_count() const { return outputs_; }
  /// Returns a scalar constant of element type `elem`. Integers saturate, strings are empty.
  Expr number(Elem elem, double value);
  Expr ints(std::initializer_list<std::int64_t> values) {
    return builder_.ints(std::span(values.begin(), values.size()));
  }
  Expr ints(std::span<const std::int64_t> values) { return builder_.ints(values); }
  void out(std::size_t i, Expr value);
  template <class... A>
  void error(fmt::format_string<A...> format, A&&... args) {
    if (status_) status_ = fail(Code::bad_model, format, std::forward<A>(args)...);
  }
  template <class... A>
  void unsupported(fmt::format_string<A...> format, A&&... args) {
    if (status_) status_ = fail(Code::unsupported, format, std::forward<A>(args)...);
  }
  /// Ends the body with the given error.
  void stop(Fault fault) {
    if (status_) status_ = std::unexpected(std::move(fault));
  }
  const std::vector<Expr>& results() const { return results_; }
  const Status& status() const { return status_; }

 private:
  Builder& builder_;
  std::vector<Expr> inputs_;
  const void* attrs_;
  std::size_t outputs_;
  std::vector<Expr> results_;
  Status status_;
};

/// Expands a composite at the end of `builder`'s block. Returns its results, one per wanted output.
Result<std::vector<Value>> expand(Builder& builder, const OpDef& op, std::span<const Value> inputs, const void* attrs,
                                  std::size_t outputs);

}  // namespace frazil
