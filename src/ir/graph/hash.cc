#include "base/value/hash.h"

#include "ir/graph/graph.h"
#include "ir/graph/key.h"
#include "ir/op/op.h"
#include "ir/text/text_names.h"
#include "ir/text/text_walk.h"

namespace frazil {
namespace {

enum class Tag : std::uint8_t { enter, leave, node, done, absent, constant, value, nothing };

std::uint64_t hash_of(const Tensor& tensor) { return Hasher().add(Key().add(tensor).bytes()).value(); }

class GraphHasher {
 public:
  explicit GraphHasher(const Graph& graph) : graph_(graph), dims_(graph.scope(), DimText::Rename::all) {}

  std::uint64_t run() {
    if (graph_.choices().none) tag(Tag::nothing);
    [[maybe_unused]] const Status done = walk(graph_, *this);
    for (SymbolId s : dims_.named()) {
      const Bounds b = symbol_bounds(graph_.scope(), s);
      h_.add(static_cast<std::uint64_t>(b.min)).add(static_cast<std::uint64_t>(b.max));
    }
    return h_.value();
  }

  Status enter(BlockId id) {
    tag(Tag::enter);
    const auto& params = graph_.block(id).params;
    h_.add(params.size());
    for (Value v : params) define(v);
    for (std::size_t i = 0; id == Graph::kMain && i < params.size(); ++i) {
      const Tensor* value = graph_.input_default(i);
      value ? static_cast<void>(h_.add(hash_of(*value))) : tag(Tag::nothing);
    }
    return {};
  }

  Status node(NodeId id) {
    const Node& n = graph_.node(id);
    tag(Tag::node);
    h_.add(n.op->domain).add(n.op->name).add(n.in.size());
    for (Value v : n.in) use(v);
    h_.add(Key().add_attributes(n).bytes());
    for (const Assumption& a : assumptions_at(graph_, id)) h_.add(a.value);
    h_.add(n.blocks.size());
    if (n.blocks.empty()) results(n);
    return {};
  }

  Status done(NodeId id) {
    tag(Tag::done);
    results(graph_.node(id));
    return {};
  }

  Status leave(BlockId id) {
    tag(Tag::leave);
    h_.add(graph_.block(id).results.size());
    for (Value v : graph_.block(id).results) use(v);
    return {};
  }

 private:
  void tag(Tag t) { h_.add(static_cast<std::uint64_t>(t)); }

  void results(const Node& n) {
    h_.add(n.out.size());
    for (Value v : n.out) v ? define(v) : tag(Tag::absent);
  }

  void define(Value v) {
    numbers_.emplace(v.id, numbers_.size());
    const std::string type = dims_.str(graph_.type(v));
    h_.add(type.size()).add(type);
  }

  void use(Value v) {
    if (!v) return tag(Tag::absent);
    if (const Constant* c = graph_.constant(v)) {
      tag(Tag::constant);
      auto [it, fresh] = constants_.try_emplace(v.id, 0);
      if (fresh) it->second = hash_of(c->tensor);
      h_.add(it->second);
      return;
    }
    tag(Tag::value);
    const auto it = numbers_.find(v.id);
    h_.add(it == numbers_.end() ? ~std::uint64_t{0} : it->second);
  }

  const Graph& graph_;
  DimText dims_;
  Hasher h_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_, constants_;  // by value
};

}  // namespace

std::uint64_t structural_hash(const Graph& graph) { return GraphHasher(graph).run(); }

}  // namespace frazil
