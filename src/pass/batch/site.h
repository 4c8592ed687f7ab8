#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/edit/builder.h"
#include "ops/generic/generic_attrs.h"
#include "pass/batch/varying.h"

// Shared by the parts of the batching pass.
namespace frazil::pass {

/// A varying node while the batched graph is written.
struct BatchSite {
  const Graph& from;
  NodeId id;
  const Node& node;
  Builder& to;
  std::span<const Value> in;  ///< the node's inputs in the new graph; the varying ones have the batch's axis
  const Varying& varying;
  const std::function<Value(Value)>& now;
  Value batch;  ///< a value of the new graph with the batch's axis

  bool varies(std::size_t k) const { return varying.value(node.in[k]); }
  const Type& type(std::size_t k) const { return from.type(node.in[k]); }
  std::vector<bool> wanted() const {
    std::vector<bool> w;
    for (Value v : node.out) w.push_back(static_cast<bool>(v));
    return w;
  }
};

using ops::ExtentExpr;
using ops::OperandRef;

/// The operands of a node whose maps are attributes. Numbers become expressions over the operands' extents.
class OperandExprs {
 public:
  explicit OperandExprs(const BatchSite& site) : site_(site) {}
  /// Adds the new value of `v`, a value of `from`. Returns its position.
  std::size_t add(Value v);
  /// Adds `now`, a value of the new graph, as the new value of `v`.
  void add(Value v, Value now);
  /// Returns an expression for a number of `from`; nullopt if no extents of available values give it. May add operands.
  std::optional<ExtentExpr> expr(Dim d);
  std::optional<std::vector<ExtentExpr>> exprs(std::span<const Dim> dims);
  /// Returns the batch's extent.
  ExtentExpr batch();
  /// Returns the node's own constraints, for an attribute `checks`.
  std::optional<std::vector<ops::ExtentCheck>> checks();
  std::vector<Value> values() const { return now_; }
  std::size_t size() const { return now_.size(); }

 private:
  std::optional<OperandRef> symbol(SymbolId s);
  std::optional<OperandRef> own_extent(Dim d) const;
  /// Returns the extent of operand k that was `axis` before the batch's axis was added.
  OperandRef extent(std::size_t k, std::int64_t axis) const;
  std::size_t place(Value v);

  const BatchSite& site_;
  std::vector<Value> from_, now_;
};

using Batched = std::optional<std::vector<Value>>;

/// Batches a node by the rule of its form. Returns new values for the wanted outputs, each with the batch's axis;
/// nullopt if the rule does not serve the node.
Batched batch_by_form(const BatchSite& site);
/// Batches a node whose operator processes the whole batch with other attributes, or with axes at other positions.
Batched batch_by_operator(const BatchSite& site);
/// Returns an output that is made of extents, without the batch's axis.
Result<Value> batch_extents(const BatchSite& site, Value v);
/// Batches a node, with its blocks, by running it on one element after the other.
Result<std::vector<Value>> batch_by_loop(const BatchSite& site);
/// Repeats v, which does not vary, for each element.
Result<Value> repeated(Builder& to, Value v, Value batch);

}  // namespace frazil::pass
