#include "api/dot.h"

#include <fmt/format.h>

#include "ir/op/op.h"

namespace frazil::api {
namespace {

/// Escapes text for a quoted string; callers write line breaks as \n.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

class DotWriter {
 public:
  DotWriter(const Graph& graph, const DotMarks& marks) : graph_(graph), marks_(marks) {}

  std::string write() {
    line("digraph \"{}\" {{", escaped(graph_.name));
    line("  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];");
    line("  edge [fontname=\"sans-serif\", fontsize=8];");
    write_blocks();
    const auto& results = graph_.main().results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      line("  out{} [label=\"{}\", shape=ellipse];", i, escaped(graph_.output_names()[i]));
      edge(results[i], fmt::format("out{}", i));
    }
    for (std::size_t i = 0; i < marks_.removed.size(); ++i) {
      line("  removed{} [label=\"{}\", style=\"rounded,dashed\", color=red, fontcolor=red];", i,
           escaped(marks_.removed[i]));
    }
    out_ += edges_ + "}\n";
    return std::move(out_);
  }

 private:
  struct Frame {
    BlockId block;
    std::size_t next = 0;        ///< next node of the block
    std::size_t next_inner = 0;  ///< next block of that node
  };

  /// Writes depth first with an explicit stack, because the nesting depth is unbounded.
  void write_blocks() {
    open_block(Graph::kMain, "");
    while (!stack_.empty()) {
      Frame& f = stack_.back();
      const auto& nodes = graph_.block(f.block).nodes;
      if (f.next == nodes.size()) {
        close_block();
        continue;
      }
      const NodeId id = nodes[f.next];
      const Node& node = graph_.node(id);
      if (f.next_inner == 0) write_node(id);
      if (f.next_inner < node.blocks.size()) {
        const std::size_t index = f.next_inner++;
        open_block(node.blocks[index], block_title(node, index));
      } else {
        ++f.next;
        f.next_inner = 0;
      }
    }
  }

  static std::string block_title(const Node& node, std::size_t index) {
    const auto* region = std::get_if<Region>(&node.op->form);
    const std::string_view role =
        region != nullptr && index < region->block_attrs.size() ? region->block_attrs[index] : "";
    return fmt::format("{} {}", node.name.empty() ? node.op->name : std::string_view(node.name), role);
  }

  void open_block(BlockId block, const std::string& title) {
    stack_.push_back({block});
    const bool main = block == Graph::kMain;
    if (!main) line("  subgraph cluster{} {{ label=\"{}\"; color=gray;", block.id, escaped(title));
    const auto& params = graph_.block(block).params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const std::string& name = main ? graph_.input_names()[i] : graph_.value_name(params[i]);
      line("  {} [label=\"{}\", shape=ellipse];", source(params[i]),
           name.empty() ? fmt::format("param {}", i) : escaped(name));
    }
  }

  void close_block() {
    const BlockId block = stack_.back().block;
    stack_.pop_back();
    if (block == Graph::kMain) return;
    const auto& results = graph_.block(block).results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string name = fmt::format("res{}_{}", block.id, i);
      line("  {} [label=\"result {}\", shape=ellipse];", name, i);
      edge(results[i], name);
      edges_ += fmt::format("  {} -> n{} [style=dashed];\n", name, graph_.block(block).owner.id);
    }
    line("  }}");
  }

  void write_node(NodeId id) {
    const Node& node = graph_.node(id);
    std::string label = escaped(node.op->name);
    if (!node.name.empty()) label += "\\n" + escaped(node.name);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (!node.in[i]) continue;
      const Constant* constant = graph_.constant(node.in[i]);
      if (constant == nullptr) {
        edge(node.in[i], fmt::format("n{}", id.id));
      } else if (constant->tensor.count() == 1) {
        label += fmt::format("\\n[{}] = {}", i, escaped(summary(constant->tensor)));
      } else {
        label += fmt::format("\\n[{}] {}", i, escaped(constant->tensor.type_str()));
      }
    }
    const auto color = marks_.colors.find(id.id);
    const std::string fill =
        color == marks_.colors.end() ? "" : fmt::format(", style=\"rounded,filled\", fillcolor={}", color->second);
    line("  n{} [label=\"{}\"{}];", id.id, label, fill);
  }

  std::string source(Value v) const {
    const ValueDef& def = graph_.def(v);
    return def.kind == ValueDef::Kind::node ? fmt::format("n{}", def.owner) : fmt::format("v{}", v.id);
  }

  void edge(Value from, const std::string& to) {
    if (!from || graph_.constant(from) != nullptr) return;
    edges_ += fmt::format("  {} -> {} [label=\"{}\"];\n", source(from), to,
                          escaped(frazil::str(graph_.type(from), graph_.scope())));
  }

  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<A>(args)...);
    out_ += '\n';
  }

  const Graph& graph_;
  const DotMarks& marks_;
  std::vector<Frame> stack_;
  std::string out_, edges_;
};

}  // namespace

std::string dot_of(const Graph& graph, const DotMarks& marks) { return DotWriter(graph, marks).write(); }

}  // namespace frazil::api
