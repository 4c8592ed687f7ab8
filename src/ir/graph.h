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

#include "ir/attr.h"
#include "ir/handles.h"
#include "ir/type.h"
#include "sym/dim.h"
#include "tensor/tensor.h"

namespace frazil {

struct ModelInfo;
struct OpDef;

/// a == b must hold at run time; a miss is the user's error, told with `what`.
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
  std::string name;          ///< the user's: ONNX node name, or C++ / Python line; may be empty
  std::uint32_t stable = 0;  ///< survives patches and fusion; unique in the graph
  std::vector<Constraint> constraints;

  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attrs.get());
  }
};

/// A region body or the graph itself: params, nodes in order, results. Captures are ordinary uses of outer values.
struct Block {
  BlockId parent{};  ///< none for block 0
  NodeId owner{};    ///< the region node; none for block 0
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

/// Which side to assume, by the node's stable id; the others take `otherwise`, or neither: what they give has no rank
/// where their branches differ in it.
struct Choices {
  std::map<std::uint32_t, bool> by_node;
  std::optional<bool> otherwise = true;
  auto operator<=>(const Choices&) const = default;
};

/// Typed SSA with nested blocks over one value table and one symbol table. Copyable; built by Builder, edited only by
/// Patch. Reading from many threads is safe while nobody builds.
class Graph {
 public:
  Graph();

  std::string name = "graph";
  /// Shared by the graphs that are made from this one; null for one that was not imported.
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
  /// Block in which v is defined; constants belong to no block.
  std::optional<BlockId> block_of(Value v) const;
  /// Elements of an integer tensor as Dims where inference knows them (row-major), else null.
  const std::vector<Dim>* known_value(Value v) const;

  /// Names of the main block's params and results.
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  /// Default of an input that may be left out (an ONNX initializer that is also an input).
  const Tensor* input_default(std::size_t input) const;

  /// Where an unbacked symbol gets its value: element `index` of integer tensor `value`, read as soon as it is
  /// computed.
  struct Origin {
    Value value;
    std::int64_t index = 0;
  };
  std::optional<Origin> origin(SymbolId symbol) const;
  /// Where an unbacked symbol gets its value: extent `axis` of `value`, once the node that makes it has run.
  struct ExtentOrigin {
    Value value;
    int axis = 0;
  };
  std::optional<ExtentOrigin> extent_origin(SymbolId symbol) const;
  BlockId symbol_block(SymbolId symbol) const;

  /// Where the branches of an If give different ranks, types follow one side, and hold only while `predicate` (0 or 1)
  /// is `value`. Executors check this where the If stands and take another version otherwise.
  struct Assumption {
    Dim predicate;
    std::int64_t value = 1;
    std::uint32_t stable = 0;  ///< of the node
  };
  const std::vector<Assumption>& assumptions() const { return assumptions_; }
  /// The side that the node's types follow.
  std::optional<bool> assumed(const Node& node) const;

  /// "node 'If_12' (If)", or "node #7 (Add)" for one without a name.
  std::string describe(NodeId id) const;

  /// Structural: alpha-renaming of values, symbols and names does not change it.
  std::uint64_t hash() const;

 private:
  friend class Builder;
  friend class InferCx;
  friend class RegionCx;
  friend class Inference;
  friend class Rebuilder;
  friend class Lowering;
  friend class TextReader;

  struct ValueData {
    Type type;
    std::string name;
    ValueDef def;
    std::optional<std::vector<Dim>> known;
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
};

}  // namespace frazil
