#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value/shared_rows.h"
#include "ir/graph/assumption.h"
#include "ir/graph/attr.h"
#include "ir/graph/handles.h"
#include "ir/graph/type.h"
#include "sym/dim.h"
#include "tensor/tensor.h"

namespace frazil {

struct ModelInfo;
struct OpDef;
struct Space;
struct ViewMap;

/// a == b must hold at run time; otherwise the run fails with the text `what`.
struct Constraint {
  Dim a, b;
  std::string what;
};

/// One operation. Immutable to readers.
struct Node {
  const OpDef* op = nullptr;
  std::vector<Value> in;  ///< an absent optional input is Value{}
  std::vector<Value> out;
  Attrs attrs;
  std::vector<BlockId> blocks;
  BlockId parent{};
  std::string name;          ///< given by the user: ONNX node name or source line; may be empty
  std::uint32_t stable = 0;  ///< kept by patches and fusion; unique in the graph
  std::vector<Constraint> constraints;
  std::shared_ptr<const Space> space;                 ///< of a Contraction whose operands have known ranks
  std::shared_ptr<const std::vector<ViewMap>> views;  ///< of a View whose operands have known ranks: one per output

  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attrs.get());
  }
};

/// A region body or the graph itself: params, nodes in order, results. Nodes use outer values directly, without capture
/// lists.
struct Block {
  BlockId parent{};  ///< invalid for block 0
  NodeId owner{};    ///< the region node; invalid for block 0
  std::vector<Value> params;
  std::vector<NodeId> nodes;
  std::vector<Value> results;
};

struct ValueDef {
  enum class Kind : std::uint8_t { param, node, constant };
  Kind kind = Kind::param;
  std::uint32_t owner = 0;  ///< block, node or constant number
  std::uint32_t index = 0;  ///< position among the owner's params or outputs
};

struct Constant {
  Tensor tensor;
};

/// The source of a backed symbol's value: element `index` of integer tensor `value`, read after the tensor is computed.
struct ElementOrigin {
  Value value;
  std::int64_t index = 0;
};

/// The source of an unbacked symbol's value: extent `axis` of `value`, known after its node has run.
struct ExtentOrigin {
  Value value;
  int axis = 0;
};

/// What a type rule finds for a result.
struct ResultType {
  std::optional<Type> type;
  std::optional<std::vector<Dim>> known;  ///< elements of an integer tensor
};
/// What the body of a composite gives its results.
struct CompositeTypes {
  std::vector<ResultType> results;
  std::vector<Constraint> constraints;
};

/// The tables of a Graph. A GraphWriter writes them. Handles are indices into them. Rows that a rewrite has removed
/// stay, so that other handles keep their meaning. No block lists a removed node, and removed blocks are empty.
struct GraphTables {
  struct ValueRow {
    Type type;
    std::string name;
    ValueDef def;
    std::optional<std::vector<Dim>> known;
    std::vector<Dim> read;  ///< symbols of its first elements, if their number is assumed
  };
  Scope scope;
  SharedRows<ValueRow> values;
  SharedRows<Node> nodes;
  std::vector<Block> blocks{Block{}};  ///< the main block is the first
  SharedRows<Constant> constants;
  std::vector<std::string> input_names, output_names;
  std::vector<Tensor> input_defaults;
  std::unordered_map<SymbolId, ElementOrigin> origins;
  std::unordered_map<SymbolId, ExtentOrigin> extent_origins;
  std::unordered_map<SymbolId, BlockId> symbol_blocks;
  std::uint32_t next_stable = 0;
  std::vector<Assumption> assumptions;
  Choices choices;
  /// The node whose types are being inferred, outside of all bodies of composites.
  struct Inferring {
    NodeId node;
    AssumptionKey next;
    std::size_t values = 0, symbols = 0;  ///< table sizes before it
    bool open = false;                    ///< its rank depends on a number about which the graph assumes nothing
  };
  std::optional<Inferring> inferring;
  /// The key of the next assumption of nodes that replace another graph's node. Nullopt if nodes use their own keys.
  std::optional<AssumptionKey> next_key;
  /// The types of composites by what they depend on. A body is expanded for its types once for each key.
  std::unordered_map<std::string, CompositeTypes> composite_types;
};

/// A graph in typed SSA form, with nested blocks over one value table and one symbol table. Copies share the rows that
/// they do not change. Builder, Patch and rebuild() write it. Thread-safe for reading once it is built.
class Graph {
 public:
  std::string name = "graph";
  /// Shared by all graphs derived from an imported one; null if not imported.
  std::shared_ptr<const ModelInfo> info;

  static constexpr BlockId kMain{0};
  const Scope& scope() const { return tables_.scope; }
  /// The nodes of all blocks, block by block; blocks inside a block come after it.
  auto nodes() const { return tables_.blocks | std::views::transform(&Block::nodes) | std::views::join; }
  /// Upper bounds of handles; the tables also hold removed rows.
  std::size_t value_count() const { return tables_.values.size(); }
  std::size_t node_count() const { return tables_.nodes.size(); }
  std::size_t block_count() const { return tables_.blocks.size(); }
  const Node& node(NodeId id) const { return tables_.nodes[id.id]; }
  const Block& block(BlockId id) const { return tables_.blocks[id.id]; }
  const Block& main() const { return tables_.blocks[0]; }

  const Type& type(Value v) const { return tables_.values[v.id].type; }
  const ValueDef& def(Value v) const { return tables_.values[v.id].def; }
  /// Returns the user's name for a value; may be empty.
  const std::string& value_name(Value v) const { return tables_.values[v.id].name; }
  const Constant* constant(Value v) const;
  std::optional<NodeId> producer(Value v) const;
  /// Returns the block that defines v; nullopt for constants.
  std::optional<BlockId> block_of(Value v) const;
  /// Returns the known value of an integer tensor: its elements as Dims in row-major order. Returns null if inference
  /// does not know it.
  const std::vector<Dim>* known_value(Value v) const;

  /// Returns the names of the main block's params and results.
  const std::vector<std::string>& input_names() const { return tables_.input_names; }
  const std::vector<std::string>& output_names() const { return tables_.output_names; }
  /// Returns the default of an optional input (an ONNX initializer that is also an input); null without one.
  const Tensor* input_default(std::size_t input) const;

  std::optional<ElementOrigin> origin(SymbolId symbol) const;
  std::optional<ExtentOrigin> extent_origin(SymbolId symbol) const;
  BlockId symbol_block(SymbolId symbol) const;

  std::uint32_t next_stable() const { return tables_.next_stable; }
  const Choices& choices() const { return tables_.choices; }
  const std::vector<Assumption>& assumptions() const { return tables_.assumptions; }

  /// Returns a text such as "node 'If_12' (If)", or "node #7 (Add)" for a node without a name.
  std::string describe(NodeId id) const;

 private:
  friend class GraphWriter;
  GraphTables tables_;
};

/// Returns the assumptions that are checked at a node, in order of their numbers.
std::vector<Assumption> assumptions_at(const Graph& graph, NodeId node);
/// Returns the branch that the types of an If follow; nullopt if they follow none.
std::optional<bool> assumed_branch(const Graph& graph, const Node& node);
/// Returns a hash of a graph that is independent of names and of the numbering of values and symbols.
std::uint64_t structural_hash(const Graph& graph);

}  // namespace frazil
