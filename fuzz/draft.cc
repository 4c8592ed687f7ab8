#include "draft.h"

#include "ir/edit/builder.h"

namespace frazil::fuzz {
namespace {

class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph) {}

  Draft run() {
    const Block& main = graph_.main();
    for (std::size_t i = 0; i < main.params.size(); ++i) {
      const Value v = main.params[i];
      draft_.inputs.push_back({graph_.input_names()[i], number(v), draft_type(graph_.type(v), graph_.scope())});
    }
    read(Graph::kMain, draft_.main);
    draft_.main.params.clear();
    draft_.output_names = graph_.output_names();
    draft_.next = static_cast<int>(graph_.value_count());
    return std::move(draft_);
  }

 private:
  int number(Value v) {
    if (!v) return kNoValue;
    const int n = static_cast<int>(v.id);
    if (const Constant* c = graph_.constant(v)) draft_.constants.try_emplace(n, c->tensor);
    return n;
  }
  std::vector<int> numbers(const std::vector<Value>& values) {
    std::vector<int> all;
    for (Value v : values) all.push_back(number(v));
    return all;
  }
  void read(BlockId id, DraftBlock& to) {
    const Block& block = graph_.block(id);
    to.params = numbers(block.params);
    for (NodeId n : block.nodes) {
      const Node& node = graph_.node(n);
      DraftNode& copy = to.nodes.emplace_back();
      copy = {node.op, node.attrs, node.name, numbers(node.in), numbers(node.out), {}};
      for (BlockId inner : node.blocks) read(inner, copy.blocks.emplace_back());
    }
    to.results = numbers(block.results);
  }

  const Graph& graph_;
  Draft draft_;
};

class Writer {
 public:
  Writer(const Draft& draft, std::map<int, Value>& values) : draft_(draft), values_(values) {}

  Result<Graph> run() {
    Builder main(graph_);
    for (const DraftInput& input : draft_.inputs) {
      FRAZIL_TRY(Type type, type_of(input.type));
      values_[input.value] = main.input(input.name, std::move(type)).value;
    }
    FRAZIL_CHECK(fill(draft_.main, Graph::kMain));
    for (std::size_t k = 0; k < draft_.main.results.size(); ++k) {
      main.output(draft_.output_names[k], {&main, value(draft_.main.results[k])});
    }
    return std::move(graph_);
  }

 private:
  Result<Type> type_of(const DraftType& type) {
    Type made = type.type;
    made.shape.clear();
    for (const std::string& text : type.dims) {
      FRAZIL_TRY(const Dim d, parse_dim(Builder(graph_).scope(), text));
      made.shape.push_back(d);
    }
    if (!type.item.empty()) {
      FRAZIL_TRY(Type item, type_of(type.item[0]));
      made.item = std::make_shared<const Type>(std::move(item));
    }
    return made;
  }
  Value value(int n) {
    if (n == kNoValue) return {};
    Value& v = values_[n];
    const auto constant = draft_.constants.find(n);
    if (!v && constant != draft_.constants.end()) v = Builder(graph_).constant(constant->second).value;
    return v;
  }
  Result<std::vector<Value>> given(const std::vector<int>& numbers) {
    std::vector<Value> all;
    for (int n : numbers) {
      all.push_back(value(n));
      if (n != kNoValue && !all.back()) return fail(Code::bad_model, "value {} is not made before it is used", n);
    }
    return all;
  }
  void bind(const std::vector<int>& numbers, const std::vector<Value>& made) {
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (numbers[k] != kNoValue) values_[numbers[k]] = made[k];
    }
  }
  Status fill(const DraftBlock& block, BlockId at) {
    for (const DraftNode& node : block.nodes) FRAZIL_CHECK(append(node, at));
    return {};
  }
  Status append(const DraftNode& node, BlockId at) {
    Builder builder(graph_, at);
    FRAZIL_TRY(std::vector<Value> in, given(node.in));
    std::vector<bool> wanted;
    for (int n : node.out) wanted.push_back(n != kNoValue);
    if (node.blocks.empty()) {
      FRAZIL_TRY(const NodeId id, builder.append(*node.op, std::move(in), node.attrs, wanted, node.name));
      bind(node.out, graph_.node(id).out);
      return {};
    }
    std::vector<std::size_t> params;
    for (const DraftBlock& inner : node.blocks) params.push_back(inner.params.size());
    FRAZIL_TRY(const NodeId id, builder.open(*node.op, std::move(in), node.attrs, params, node.name));
    for (std::size_t k = 0; k < node.blocks.size(); ++k) {
      const BlockId inner = graph_.node(id).blocks[k];
      bind(node.blocks[k].params, graph_.block(inner).params);
      FRAZIL_CHECK(fill(node.blocks[k], inner));
      FRAZIL_TRY(std::vector<Value> results, given(node.blocks[k].results));
      builder.yield(id, k, std::move(results));
    }
    FRAZIL_CHECK(builder.close(id, wanted));
    bind(node.out, graph_.node(id).out);
    return {};
  }

  const Draft& draft_;
  std::map<int, Value>& values_;
  Graph graph_;
};

void count(const std::vector<int>& values, std::map<int, int>& uses) {
  for (int n : values) ++uses[n];
}

void count(const DraftBlock& block, std::map<int, int>& uses) {
  for (const DraftNode& node : block.nodes) {
    count(node.in, uses);
    for (const DraftBlock& inner : node.blocks) count(inner, uses);
  }
  count(block.results, uses);
}

/// Removes what is not used; true when there was something.
bool remove_unused(DraftBlock& block, const std::map<int, int>& uses) {
  const std::size_t erased = std::erase_if(block.nodes, [&](const DraftNode& node) {
    return std::ranges::none_of(node.out, [&](int n) { return n != kNoValue && uses.contains(n); });
  });
  bool any = erased > 0;
  for (DraftNode& node : block.nodes) {
    for (DraftBlock& inner : node.blocks) any |= remove_unused(inner, uses);
  }
  return any;
}

}  // namespace

Draft draft_of(const Graph& graph) { return Reader(graph).run(); }

DraftType draft_type(const Type& type, const Scope& scope) {
  DraftType draft{type, {}, {}};
  for (Dim d : type.shape) draft.dims.push_back(scope.str(d));
  if (type.item) draft.item.push_back(draft_type(*type.item, scope));
  draft.type.shape.clear();
  draft.type.item.reset();
  return draft;
}

Result<Graph> build(const Draft& draft, std::map<int, Value>* values) {
  std::map<int, Value> own;
  return Writer(draft, values ? *values : own).run();
}

std::map<int, int> uses(const Draft& draft) {
  std::map<int, int> all;
  count(draft.main, all);
  return all;
}

void prune(Draft& draft) {
  while (remove_unused(draft.main, uses(draft))) {
  }
  const auto used = uses(draft);
  std::erase_if(draft.constants, [&](const auto& c) { return !used.contains(c.first); });
}

void replace_uses(DraftBlock& block, int from, int to) {
  std::ranges::replace(block.results, from, to);
  for (DraftNode& node : block.nodes) {
    std::ranges::replace(node.in, from, to);
    for (DraftBlock& inner : node.blocks) replace_uses(inner, from, to);
  }
}

}  // namespace frazil::fuzz
