#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/edit/builder.h"
#include "pass/batch/varying.h"

// What the parts of the batching pass share.
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

/// The operands of a node whose maps are attributes, and texts of numbers over their extents.
class OperandTexts {
 public:
  explicit OperandTexts(const BatchSite& site) : site_(site) {}
  /// The position of the new value of `v`, which is one of `from`.
  std::size_t add(Value v);
  /// Adds a value of the new graph that stands for `v`.
  void add(Value v, Value now);
  /// Of a number of `from`; nullopt where it cannot be told from extents of values that are there. May add operands.
  std::optional<std::string> text(Dim d);
  std::optional<std::vector<std::string>> texts(std::span<const Dim> dims);
  /// The extent of the batch.
  std::string batch();
  /// The node's own conditions, for an attribute `checks`.
  std::optional<std::vector<std::string>> checks();
  std::vector<Value> values() const { return now_; }
  std::size_t size() const { return now_.size(); }

 private:
  std::optional<std::string> symbol(SymbolId s);
  std::optional<std::string> own_extent(Dim d) const;
  std::size_t place(Value v);

  const BatchSite& site_;
  std::vector<Value> from_, now_;
};

using Batched = std::optional<std::vector<Value>>;

/// New values for the wanted outputs by the rule of the node's form, each with the batch's axis; nullopt where the rule
/// does not serve the node.
Batched batch_by_form(const BatchSite& site);
/// The node's operator serves the whole batch with other attributes, or other places of axes.
Batched batch_by_operator(const BatchSite& site);
/// An output made of extents, without the batch's axis.
Result<Value> batch_extents(const BatchSite& site, Value v);
/// The node, with its blocks, for one element after the other.
Result<std::vector<Value>> batch_by_loop(const BatchSite& site);
/// v, which does not vary, once for each element.
Result<Value> repeated(Builder& to, Value v, Value batch);

}  // namespace frazil::pass
