#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/edit/graph_writer.h"
#include "ir/graph/graph.h"
#include "ir/op/op.h"

namespace frazil {

/// The types, values, constraints and maps that a type rule finds for a node.
struct Inferred {
  std::vector<ResultType> outputs;
  std::vector<Constraint> constraints;
  std::shared_ptr<const Space> space;
  std::shared_ptr<const std::vector<ViewMap>> views;
  std::map<Value, Type> params;  ///< params of bodies that become more general
};

/// A node as type rules read it: the types and known values of its inputs, its attributes, and the outputs that are
/// wanted. Inputs are numbered by the operator's ports; variadic inputs continue the count.
class NodeReader {
 public:
  NodeReader(const Graph& graph, NodeId node) : read_(graph), id_(node) {}

  std::size_t input_count() const { return node().in.size(); }
  std::size_t output_count() const { return node().out.size(); }
  /// Returns true if input i is given.
  bool has(std::size_t i) const { return i < node().in.size() && static_cast<bool>(node().in[i]); }
  /// Returns true if output i is wanted.
  bool wants(std::size_t i) const { return i < node().out.size() && static_cast<bool>(node().out[i]); }
  const Type& type(std::size_t i) const { return read_.type(node().in[i]); }
  Elem elem(std::size_t i) const { return type(i).elem; }
  /// Requires that input i is a ranked tensor, which is checked before any form's rule is called.
  const Shape& shape(std::size_t i) const { return type(i).shape; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(node().attrs.get());
  }
  /// Returns `axis` made non-negative. Returns an error that names the attribute unless it is in [-rank, rank).
  Result<int> axis(std::int64_t axis, std::size_t rank, std::string_view what = "axis") const;
  /// Returns the tensor if input i is a constant, else null.
  const Tensor* constant(std::size_t i) const;
  /// Returns the known value of integer input i, else null.
  const std::vector<Dim>* known_value(std::size_t i) const;
  /// Returns the name of the port of input i.
  std::string_view port_name(std::size_t i) const;
  std::string type_str(std::size_t i) const { return str(type(i), read_.scope()); }

  /// Returns a Code::bad_model error at the node.
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> error(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(read_.describe(id_), Code::bad_model, format, std::forward<A>(args)...);
  }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> unsupported(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(read_.describe(id_), Code::unsupported, format, std::forward<A>(args)...);
  }

  const Graph& graph() const { return read_; }
  const Node& node() const { return read_.node(id_); }
  NodeId id() const { return id_; }

 private:
  const Graph& read_;
  NodeId id_;
};

/// The context of a type rule: what it reads of the node, and functions that store what it finds. A rule makes symbols
/// and assumptions, and writes nothing else to the graph.
class InferCx : public NodeReader {
 public:
  InferCx(Graph& graph, NodeId node) : NodeReader(graph, node), graph_(graph) { found_.outputs.resize(output_count()); }

  Scope& scope() { return GraphWriter(graph_)->scope; }
  /// Returns the elements of integer input i as Dims. Unknown elements become backed symbols, read at run time. This
  /// requires an element count of at most 1024, else Code::unsupported. A symbolic count is assumed.
  Result<std::vector<Dim>> ints(std::size_t i);
  /// Returns the elements of an input that must have `count` of them. A symbolic length is checked instead of assumed.
  Result<std::vector<Dim>> ints(std::size_t i, std::size_t count);
  /// Returns the only element of integer input i.
  Result<Dim> int_scalar(std::size_t i);
  /// Returns a new unbacked symbol for an extent of output `output` that is known only after the node has run
  /// (NonZero).
  Dim data_extent(std::size_t output, int axis, Bounds bounds = {});

  /// Returns the constant that types assume for `d` because ranks depend on it; `guess` by default. Returns nullopt if
  /// the graph assumes nothing. The rule then returns an error, and the results have no rank.
  std::optional<std::int64_t> assume(Dim d, std::int64_t guess);
  /// Calls assume(), but returns Code::unsupported with the name `what` instead of nullopt.
  Result<std::int64_t> assumed(Dim d, std::int64_t guess, std::string_view what);
  /// Returns the number of elements of input i that types assume.
  Result<std::int64_t> assumed_count(std::size_t i);
  /// Requires a == b: returns an error if this is disproved, and adds a run-time check if it is undecided. Without an
  /// error, returns the more precise of the two.
  Result<Dim> require_equal(Dim a, Dim b, std::string_view what);
  /// Broadcasts two shapes multidirectionally; see docs/explanation/symbolic-shapes.md.
  Result<Shape> broadcast(const Shape& a, const Shape& b);

  /// Sets output i's type. Rules of View and Contraction do not call it: their maps and spaces determine the type.
  void out(std::size_t i, Type type);
  /// Sets output i's known value.
  void out_known_value(std::size_t i, std::vector<Dim> known);
  void out_space(Space space);
  void out_views(std::vector<ViewMap> views);
  void add_constraints(std::vector<Constraint> constraints);
  /// Sets all outputs, one for each result.
  void out(std::vector<ResultType> outputs) { found_.outputs = std::move(outputs); }

  /// Returns the type that the rule has found for output i; nullopt before that, and for outputs that are not wanted.
  const std::optional<Type>& found_type(std::size_t i) const { return found_.outputs[i].type; }
  /// Returns the inference result so far.
  const Inferred& found() const { return found_; }
  /// Moves the inference result out of the context.
  Inferred take() { return std::move(found_); }
  /// Discards the inference result and its assumptions.
  void forget();

 protected:
  Graph& graph_;
  Inferred found_;

 private:
  Result<std::vector<Dim>> elements(std::size_t i, std::int64_t count);
};

/// The context of a Region's rules.
class RegionCx : public InferCx {
 public:
  using InferCx::InferCx;
  const Block& block(std::size_t index) const { return graph_.block(node().blocks[index]); }
  const Type& param_type(std::size_t block_index, std::size_t k) const {
    return type_now(block(block_index).params[k]);
  }
  const Type& result_type(std::size_t block_index, std::size_t k) const {
    return type_now(block(block_index).results[k]);
  }
  /// Makes param k of the block at least as general as `type`: extents that differ become unbacked symbols of that
  /// block. Returns true if the param changed; the bodies must then be inferred again. Differing kinds or element types
  /// are an error.
  Result<bool> widen(std::size_t block_index, std::size_t k, const Type& type);
  /// Returns the most specific type that covers both. Equal extents stay; others become unbacked symbols of the node's
  /// block.
  Result<Type> join(const Type& a, const Type& b);
  /// Returns an unbacked symbol of the node's block for an extent that control flow determines (trip counts, joined
  /// dims).
  Dim flow_extent(std::size_t output, int axis);
  /// Returns the condition that types assume for an If without a choice.
  std::int64_t first_condition() const { return graph_.choices().then_branch ? 1 : 0; }
  /// Returns true if a param was widened. The caller of the rule then infers the bodies again.
  bool widens() const { return !found_.params.empty(); }

 private:
  /// Returns the type of a param or result of a body, as widened by the rule.
  const Type& type_now(Value v) const;
};

/// Infers the types of a node whose inputs are typed. Checks the ports, applies the rule of the node's form, and writes
/// what it finds. Regions are inferred by their builder.
Status infer_node(Graph& graph, NodeId node);

/// Returns the scalar program of an Elementwise or Contraction node, with loads in compute types. The result of an
/// Elementwise node is cast to the compute type of the output.
ScalarTape tape_of(const Graph& graph, NodeId id);
/// Returns the same while the type of the result is being inferred. An Elementwise result has element type `result`.
ScalarTape tape_of(const Graph& graph, NodeId id, Elem result);

}  // namespace frazil
