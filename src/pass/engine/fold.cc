#include "pass/engine/fold.h"

#include <algorithm>
#include <set>

#include "ir/edit/rebuild.h"
#include "ir/infer/infer.h"
#include "pass/engine/rules.h"
#include "ref/ref.h"

namespace frazil::pass {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;   // bytes of the results of one node
constexpr std::int64_t kFewBytes = 4096;      // results up to this size may be larger than the operands
constexpr std::int64_t kMaxPoints = 1 << 16;  // points of one node; about 10 ns each on the reference executor
constexpr std::int64_t kAllPoints = 1 << 20;  // points computed by all nodes of a graph
constexpr std::int64_t kMaxJoined = 1 << 22;  // elements of one Concat of constants and views of constants
constexpr std::int64_t kAllJoined = 1 << 24;  // elements of all such Concats
constexpr std::size_t kMaxViews = 8;          // in a chain on one constant

/// Returns true for nodes whose operands are all constants of few elements.
bool may_fold(const Graph& graph, const Node& node, std::span<const Value> in) {
  if (!node.blocks.empty() || in.empty() || node.op->stateful) return false;
  std::int64_t elements = 0;
  for (Value v : in) {
    if (!v) continue;
    const Constant* c = graph.constant(v);
    if (!c) return false;
    elements += c->tensor.count();
  }
  return elements <= kMaxPoints;
}

/// Returns the size of a tensor in bytes, including the text of strings.
std::int64_t bytes_of(const Tensor& tensor) {
  std::size_t bytes = tensor.bytes();
  if (tensor.elem() == Elem::string) {
    for (const std::string& s : tensor.as<std::string>()) bytes += s.size();
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t operand_bytes(const Graph& graph, std::span<const Value> in) {
  std::int64_t bytes = 0;
  for (Value v : in) bytes += v ? bytes_of(graph.constant(v)->tensor) : 0;
  return bytes;
}

/// Returns true if the node is a view that joins any number of values.
bool joins(const Node& node) {
  return std::holds_alternative<View>(node.op->form) && node.op->inputs.back().use == Port::Use::variadic;
}

/// Returns the node that makes v, if it is a view of one value and its other operands are constants.
std::optional<NodeId> view_of_one(const Graph& graph, Value v) {
  const auto maker = graph.producer(v);
  if (!maker) return std::nullopt;
  const Node& node = graph.node(*maker);
  const bool one = std::holds_alternative<View>(node.op->form) && node.out.size() == 1 && !joins(node);
  const auto rest = std::span(node.in).subspan(std::min<std::size_t>(1, node.in.size()));
  const bool fixed = std::ranges::all_of(rest, [&](Value in) { return !in || graph.constant(in) != nullptr; });
  return one && fixed && !node.in.empty() ? maker : std::nullopt;
}

/// Returns true for a constant, or a chain of views of one.
bool leads_to_constant(const Graph& graph, Value v) {
  for (std::size_t views = 0; v && graph.constant(v) == nullptr; ++views) {
    const auto view = view_of_one(graph, v);
    if (!view || views == kMaxViews) return false;
    v = graph.node(*view).in[0];
  }
  return static_cast<bool>(v);
}

/// Returns true for nodes that join constants or views of them.
bool may_join(const Graph& graph, const Node& node, std::span<const Value> in) {
  return joins(node) && std::ranges::all_of(in, [&](Value v) { return leads_to_constant(graph, v); });
}

/// Returns the elements of a constant, or of views of one. Adds the constant to `bases`.
std::optional<Tensor> elements_of(const Graph& graph, Value v, std::set<Value>& bases) {
  std::vector<NodeId> views;
  while (v && graph.constant(v) == nullptr) {
    const auto view = view_of_one(graph, v);
    if (!view || views.size() == kMaxViews) return std::nullopt;
    views.push_back(*view);
    v = graph.node(*view).in[0];
  }
  if (!v) return std::nullopt;
  bases.insert(v);
  Tensor tensor = graph.constant(v)->tensor;
  for (; !views.empty(); views.pop_back()) {
    std::vector<std::optional<Datum>> inputs{Datum(tensor)};
    for (const Value in : std::span(graph.node(views.back()).in).subspan(1)) {
      inputs.push_back(in ? std::optional(Datum(graph.constant(in)->tensor)) : std::nullopt);
    }
    auto results = run_node(graph, views.back(), inputs);
    if (!results || !results->front().is_tensor()) return std::nullopt;
    tensor = results->front().tensor();
  }
  return tensor;
}

class Folder : public Rewriter {
 public:
  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    const Node& node = from.node(id);
    const bool small = may_fold(to.graph(), node, inputs);
    const bool join = may_join(to.graph(), node, inputs);
    if (!small && !join) return std::nullopt;
    const Builder::Mark before = to.mark();
    std::vector<bool> wanted;
    for (Value v : node.out) wanted.push_back(static_cast<bool>(v));
    const auto made =
        to.append(*node.op, std::vector<Value>(inputs.begin(), inputs.end()), node.attrs, wanted, node.name);
    if (!made) return std::nullopt;
    auto results = small ? evaluate(to.graph(), *made, inputs) : std::nullopt;
    if (!results && join) results = joined(to.graph(), *made, inputs);
    to.rollback(before);
    if (!results) return std::nullopt;
    ++folded_;
    std::vector<Value> values;
    for (const Datum& d : *results) values.push_back(d.is_tensor() ? to.constant(d.tensor()).value : Value{});
    return values;
  }
  int folded() const { return folded_; }

 private:
  std::optional<std::vector<Datum>> evaluate(const Graph& graph, NodeId id, std::span<const Value> in) {
    const auto points = work(graph, id);
    if (!points || *points > kMaxPoints || points_ + *points > kAllPoints) return std::nullopt;
    points_ += *points;
    std::vector<std::optional<Datum>> inputs;
    for (std::size_t i = 0; i < graph.node(id).in.size(); ++i) {
      inputs.push_back(in[i] ? std::optional(Datum(graph.constant(in[i])->tensor)) : std::nullopt);
    }
    auto results = run_node(graph, id, inputs);
    if (!results || !is_small(graph.node(id), *results, operand_bytes(graph, in))) return std::nullopt;
    return std::move(*results);
  }

  /// Folds a join. The result is not larger than the constants, which it may replace, and a run holds it in any case.
  std::optional<std::vector<Datum>> joined(const Graph& graph, NodeId id, std::span<const Value> in) {
    const auto count = work(graph, id);
    if (!count || *count > kMaxJoined || joined_ + *count > kAllJoined) return std::nullopt;
    std::vector<std::optional<Datum>> inputs;
    std::set<Value> bases;
    for (const Value v : in) {
      auto elements = elements_of(graph, v, bases);
      if (!elements) return std::nullopt;
      inputs.emplace_back(*std::move(elements));
    }
    std::int64_t held = 0;
    for (const Value v : bases) held += graph.constant(v)->tensor.count();
    if (*count > held) return std::nullopt;
    joined_ += *count;
    auto results = run_node(graph, id, inputs);
    if (!results || !results->front().is_tensor()) return std::nullopt;
    return std::move(*results);
  }

  static bool is_small(const Node& node, const std::vector<Datum>& results, std::int64_t before) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!node.out[i]) continue;
      if (!results[i].is_tensor() || !results[i].tensor().defined()) return false;
      bytes += bytes_of(results[i].tensor());
    }
    return bytes <= kMaxBytes && bytes <= std::max(kFewBytes, 2 * before);
  }

  /// Returns the approximate number of elements or products that the node computes; nullopt if it is unknown.
  static std::optional<std::int64_t> work(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    std::int64_t total = 1;
    if (std::holds_alternative<Contraction>(node.op->form)) {
      const auto& space = node.space;
      if (!space) return std::nullopt;
      for (const Space::Axis& axis : space->axes) {
        if (!axis.extent.is_const() || __builtin_mul_overflow(total, axis.extent.value(), &total)) return std::nullopt;
      }
      return total;
    }
    for (Value v : node.out) {
      if (!v) continue;
      const Type& type = graph.type(v);
      if (!type.is_tensor() || !type.ranked) return std::nullopt;
      std::int64_t count = 1;
      for (Dim d : type.shape) {
        // Folding would replace this symbolic extent by a constant. Types that depend on it would change: which axes
        // are squeezed, which requests fail.
        if (!d.is_const() || __builtin_mul_overflow(count, d.value(), &count)) return std::nullopt;
      }
      total = std::max(total, count);
    }
    return total;
  }

  std::int64_t points_ = 0, joined_ = 0;
  int folded_ = 0;
};

bool any_may_fold(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return may_fold(graph, node, node.in) || may_join(graph, node, node.in);
  });
}

}  // namespace

Result<std::optional<Graph>> fold_constants(const Graph& graph, const PassOptions&, std::string& note) {
  if (!any_may_fold(graph)) return std::nullopt;
  Folder folder;
  FRAZIL_TRY(Graph made, rebuild(graph, folder));
  if (folder.folded() == 0) return std::nullopt;
  note = fmt::format("{} nodes computed", folder.folded());
  return made;
}

}  // namespace frazil::pass
