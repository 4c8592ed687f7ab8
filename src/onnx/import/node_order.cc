#include "onnx/import/node_order.h"

#include <algorithm>
#include <map>

#include "base/limits/load_scope.h"
#include "onnx/import/names.h"
#include "onnx/read/decode.h"

namespace frazil::onnx {

namespace {

struct Edge {
  std::size_t reader, maker;
};

/// A depth-first topological sort in the order of the file.
class Sorter {
 public:
  Sorter(std::size_t count, const std::vector<Edge>& edges)
      : first_(count + 1), next_(count), state_(count, State::unseen), makers_(edges.size()) {
    for (const Edge& e : edges) ++first_[e.reader + 1];
    for (std::size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    next_.assign(first_.begin(), first_.end() - 1);
    for (const Edge& e : edges) makers_[next_[e.reader]++] = e.maker;
    next_.assign(first_.begin(), first_.end() - 1);
  }

  /// Returns false if there is a cycle.
  bool run() {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == State::unseen) visit(i);
      while (!open_.empty()) {
        if (!step()) return false;
      }
    }
    return true;
  }
  const std::vector<std::size_t>& order() const { return order_; }
  /// Returns the nodes of the cycle. Each node reads from the next one, and the last node reads from the first.
  const std::vector<std::size_t>& cycle() const { return open_; }

 private:
  enum class State : std::uint8_t { unseen, open, done };

  void visit(std::size_t node) {
    state_[node] = State::open;
    open_.push_back(node);
  }
  bool step() {
    const std::size_t node = open_.back();
    if (next_[node] == first_[node + 1]) {
      state_[node] = State::done;
      order_.push_back(node);
      open_.pop_back();
      return true;
    }
    const std::size_t maker = makers_[next_[node]++];
    if (state_[maker] == State::open) {
      open_.erase(open_.begin(), std::ranges::find(open_, maker));
      return false;
    }
    if (state_[maker] == State::unseen) visit(maker);
    return true;
  }

  std::vector<std::size_t> first_, next_;  ///< for each node, an index into makers_
  std::vector<State> state_;
  std::vector<std::size_t> makers_, open_, order_;
};

/// The graph that an AttributeProto holds or refers to.
struct GraphAttribute {
  std::string_view name, ref;
  std::optional<Bytes> graph;
};
Result<GraphAttribute> read_graph_attribute(Bytes bytes) {
  GraphAttribute attribute;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, attribute.name);
      case 6: return store(reader, attribute.graph.emplace());
      case 21: return store(reader, attribute.ref);
      default: return false;
    }
  }));
  return attribute;
}

}  // namespace

Result<std::optional<Bytes>> NodeList::next() {
  if (!nodes_.empty()) {
    const Bytes node = nodes_.front();
    nodes_ = nodes_.subspan(1);
    return node;
  }
  if (!rest_.next(tag_)) return std::nullopt;
  FRAZIL_TRY(const Bytes node, message_field(rest_));
  return node;
}

Result<std::optional<Bytes>> subgraph_of(Bytes attribute) {
  FRAZIL_TRY(const GraphAttribute read, read_graph_attribute(attribute));
  return read.graph;
}

namespace {

/// Returns the names of a graph's inputs and initializers.
Texts params_of(const GraphParts& graph) {
  Texts names;
  for (const Bytes input : graph.inputs) {
    if (const auto info = read_value_info(input)) names.push_back(info->name);
  }
  for (const Bytes tensor : graph.initializers) {
    if (const auto header = tensor_header(tensor)) names.push_back(header->name);
  }
  for (const Bytes tensor : graph.sparse_initializers) {
    if (const auto name = sparse_tensor_name(tensor)) names.push_back(*name);
  }
  return names;
}

}  // namespace

/// The scan of one body and the graphs inside it. It opens each graph at the position of its node.
class NodeOrder::Scan {
 public:
  /// `defaults` are the AttributeProtos of a function.
  Scan(NodeOrder& order, const std::vector<Bytes>& defaults) : order_(order) {
    for (const Bytes bytes : defaults) {
      const auto attribute = read_graph_attribute(bytes);
      if (attribute && attribute->graph) defaults_.try_emplace(attribute->name, *attribute->graph);
    }
  }

  Status run(Bytes whole, Tag tag, const Texts& params) {
    FRAZIL_CHECK(open({.whole = whole}, tag, params));
    while (!open_.empty()) FRAZIL_CHECK(step());
    return {};
  }

 private:
  static constexpr std::size_t kParam = ~std::size_t{0};
  struct Definition {
    std::size_t depth, node;  ///< indices of the body in open_ and of the node; kParam for inputs and initializers
  };
  /// The ends of a node's parts in the lists of its body.
  struct Ends {
    std::size_t reads = 0, makes = 0, graphs = 0;
  };
  struct Body {
    Bytes whole;
    Texts results = {};
    std::vector<Bytes> nodes = {};
    std::vector<Ends> ends = {};  ///< one per node
    Texts reads = {}, makes = {};
    std::vector<Bytes> graphs = {};
    std::size_t node = 0;  ///< index of the node being scanned
    Ends done = {};
    std::vector<Edge> edges = {};
    bool unsorted = false;
  };

  Status open(Body body, Tag tag, const Texts& params) {
    if (open_.size() > order_.max_nesting_) return {};  // the import reports this
    FRAZIL_CHECK(check_load());
    bool fits = true;
    if (const Status read = read_nodes(body, tag, fits); !fits || !read) {
      return fits ? Status() : too_many_nodes(order_.max_nodes_);
    }
    made_.push();
    all_.push();
    for (const std::string_view name : params) made_.define(name, {open_.size(), kParam});
    std::size_t name = 0;
    for (std::size_t node = 0; node < body.nodes.size(); ++node) {
      for (; name < body.ends[node].makes; ++name) all_.define(body.makes[name], {open_.size(), node});
    }
    open_.push_back(std::move(body));
    return {};
  }

  Status open_graph(Bytes bytes) {
    const auto graph = read_graph(bytes);
    if (!graph) return {};
    Body body{.whole = bytes};
    for (const Bytes output : graph->outputs) {
      if (const auto info = read_value_info(output)) body.results.push_back(info->name);
    }
    return open(std::move(body), kGraphNode, params_of(*graph));
  }

  Status read_nodes(Body& body, Tag tag, bool& fits) {
    NodeList list(body.whole, tag);
    while (true) {
      FRAZIL_TRY(const std::optional<Bytes> node, list.next());
      if (!node) return {};
      if (++order_.seen_nodes_ > order_.max_nodes_) {
        fits = false;
        return {};
      }
      body.nodes.push_back(*node);
      FRAZIL_CHECK(read_node(*node, body));
      body.ends.push_back({body.reads.size(), body.makes.size(), body.graphs.size()});
    }
  }

  Status read_node(Bytes node, Body& body) const {
    return each_field(node, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag == 1) return store(reader, body.reads);
      if (tag == 2) return store(reader, body.makes);
      if (tag != 5) return false;
      FRAZIL_TRY(const Bytes bytes, message_field(reader));
      FRAZIL_TRY(const GraphAttribute attribute, read_graph_attribute(bytes));
      const auto standard = defaults_.find(attribute.ref);
      if (attribute.graph) body.graphs.push_back(*attribute.graph);
      if (standard != defaults_.end()) body.graphs.push_back(standard->second);
      return true;
    });
  }

  /// Opens one graph of the current node of the top body, or moves to the next node.
  Status step() {
    Body& body = open_.back();
    if (body.node == body.nodes.size()) return close();
    const Ends& ends = body.ends[body.node];
    if (body.done.graphs < ends.graphs) return open_graph(body.graphs[body.done.graphs++]);
    for (; body.done.reads < ends.reads; ++body.done.reads) read(body.reads[body.done.reads]);
    for (; body.done.makes < ends.makes; ++body.done.makes) {
      made_.define(body.makes[body.done.makes], {open_.size() - 1, body.node});
    }
    ++body.node;
    return {};
  }

  void read(std::string_view name) {
    if (name.empty()) return;
    auto definition = made_.find(name);
    const bool later = !definition;
    if (later) definition = all_.find(name);
    if (!definition || definition->node == kParam) return;
    Body& body = open_[definition->depth];
    if (body.node == body.nodes.size()) return;  // read as a result of the body itself
    body.edges.push_back({body.node, definition->node});
    body.unsorted |= later;
  }

  Status close() {
    for (const std::string_view name : open_.back().results) read(name);
    if (open_.back().unsorted) sort(open_.back());
    made_.pop();
    all_.pop();
    open_.pop_back();
    return {};
  }

  void sort(const Body& body) {
    Sorter sorter(body.nodes.size(), body.edges);
    const bool sorts = sorter.run();
    Sorted& sorted = order_.sorted_[body.whole.data()] = {};
    std::vector<Bytes>& nodes = sorts ? sorted.nodes : sorted.cycle;
    for (const std::size_t node : sorts ? sorter.order() : sorter.cycle()) nodes.push_back(body.nodes[node]);
  }

  NodeOrder& order_;
  std::map<std::string_view, Bytes> defaults_;  ///< graphs for attributes that refer to a function's attribute
  std::vector<Body> open_;
  ScopedNames<Definition> made_;  ///< definitions before the node being scanned
  ScopedNames<Definition> all_;   ///< outputs of all nodes of the open bodies
};

Status NodeOrder::scan(const GraphParts& graph) {
  return Scan(*this, {}).run(graph.whole, kGraphNode, params_of(graph));
}

Status NodeOrder::scan(const FunctionParts& function) {
  if (!scanned_.insert(&function).second) return {};
  return Scan(*this, function.defaults).run(function.whole, kFunctionNode, function.inputs);
}

NodeList NodeOrder::nodes(Bytes whole, Tag tag) const {
  const auto found = sorted_.find(whole.data());
  return found == sorted_.end() || found->second.nodes.empty() ? NodeList(whole, tag) : NodeList(found->second.nodes);
}

std::span<const Bytes> NodeOrder::cycle(Bytes whole) const {
  const auto found = sorted_.find(whole.data());
  return found == sorted_.end() ? std::span<const Bytes>() : std::span<const Bytes>(found->second.cycle);
}

std::unexpected<Fault> NodeOrder::too_many_nodes(std::uint64_t limit) {
  return fail(Code::limit, "the model has more than {} nodes, with those of inlined functions", limit);
}

}  // namespace frazil::onnx
