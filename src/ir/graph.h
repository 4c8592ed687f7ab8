#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/assumption.h"
#include "ir/attr.h"
#include "ir/handles.h"
#include "ir/type.h"
#include "sym/dim.h"
#include "tensor/tensor.h"

namespace frazil {

struct ModelInfo;
struct OpDef;

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

  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attrs.get());
  }
};

/// A region body or the graph itself: params, nodes in order, results. Outer values are used directly, without capture
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

/// Typed SSA with nested blocks over one value table and one symbol table. Copyable; built by Builder, edited only by
/// Patch. Thread-safe for reading once it is built.
class Graph {
 public:
  Graph();

  std::string name = "graph";
  /// Shared by all graphs derived from an imported one; null when not imported.
  std::shared_ptr<const ModelInfo> info;

  static constexpr BlockId kMain{0};
  const Scope& scope() const { return scope_; }
  std::size_t value_count() const { return values_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t block_count() const { return blocks_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.id]; }
  const Block& block(BlockId id) const { return blocks_[id.id]; }
  const Block& main() const { return blocks_[0]; }

  const Type& type(Value v) const { return values_[v.id].type; }
  const ValueDef& def(Value v) const { return values_[v.id].def; }
  /// The user's name for a value; may be empty.
  const std::string& value_name(Value v) const { return values_[v.id].name; }
  const Constant* constant(Value v) const;
  std::optional<NodeId> producer(Value v) const;
  /// The block that defines v; nullopt for constants.
  std::optional<BlockId> block_of(Value v) const;
  /// The known value of an integer tensor: its elements as Dims in row-major order; null when inference does not know
  /// it.
  const std::vector<Dim>* known_value(Value v) const;

  /// Names of the main block's params and results.
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  /// The default of an optional input (an ONNX initializer that is also an input); null without one.
  const Tensor* input_default(std::size_t input) const;

  /// The source of a backed symbol's value: element `index` of integer tensor `value`, read when it has been computed.
  struct Origin {
    Value value;
    std::int64_t index = 0;
  };
  std::optional<Origin> origin(SymbolId symbol) const;
  /// The source of an unbacked symbol's value: extent `axis` of `value`, known when its node has run.
  struct ExtentOrigin {
    Value value;
    int axis = 0;
  };
  std::optional<ExtentOrigin> extent_origin(SymbolId symbol) const;
  BlockId symbol_block(SymbolId symbol) const;

  const std::vector<Assumption>& assumptions() const { return assumptions_; }
  /// Those that are checked at a node, in order of their numbers.
  std::vector<Assumption> assumptions_at(NodeId node) const;
  /// The branch that the types of an If follow.
  std::optional<bool> assumed_branch(const Node& node) const;
  /// True if types assume only what a choice says: other results whose rank depends on data have none.
  bool assumes_nothing() const { return choices_.none; }

  /// "node 'If_12' (If)", or "node #7 (Add)" for a node without a name.
  std::string describe(NodeId id) const;

  /// Structural hash: independent of the numbering of values, of symbols and of names.
  std::uint64_t hash() const;

 private:
  friend class Builder;
  friend class InferCx;
  friend class RegionCx;
  friend class Inference;
  friend class InferringNode;
  friend class Rebuilder;
  friend class Lowering;
  friend class TextReader;

  struct ValueData {
    Type type;
    std::string name;
    ValueDef def;
    std::optional<std::vector<Dim>> known;
    std::vector<Dim> read;  ///< symbols of its first elements, where their number is assumed
  };
  Scope scope_;
  std::vector<ValueData> values_;
  std::vector<Node> nodes_;
  std::vector<Block> blocks_;
  std::vector<Constant> constants_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<Tensor> input_defaults_;
  std::unordered_map<SymbolId, Origin> origins_;
  std::unordered_map<SymbolId, ExtentOrigin> extent_origins_;
  std::unordered_map<SymbolId, BlockId> symbol_blocks_;
  std::uint32_t next_stable_ = 0;
  std::vector<Assumption> assumptions_;
  Choices choices_;
  /// The node whose types are being inferred, outside of all bodies of composites.
  struct Inferring {
    NodeId node;
    AssumptionKey next;
    std::size_t values = 0, symbols = 0;  ///< before it
    bool open = false;                    ///< its rank depends on a number that the graph assumes nothing about
  };
  std::optional<Inferring> inferring_;
  /// The key of the next assumption of nodes that take the place of another graph's node; nullopt: their own.
  std::optional<AssumptionKey> next_key_;
};

}  // namespace frazil
