#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onnx/import/names.h"
#include "onnx/import/node_order.h"
#include "onnx/read/decode.h"
#include "onnx/read/wire.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {

/// The context of name look-up: the model's graph, or one call of a function. Subgraphs share their context.
struct NameContext {
  Names names;
  const Opsets* opsets = nullptr;
  const FunctionParts* function = nullptr;
  std::shared_ptr<const NameContext> caller;
  std::map<std::string_view, NamedAttr> attrs;  ///< attributes of the call, with the function's defaults
  std::string prefix;                           ///< prefix of the names of nodes and values
};

/// Returns the node's name, or else that of its first output, after the prefix of the context.
std::string name_of_node(const NameContext& cx, const NodeParts& node);
/// Returns for example "node 'If_1' (If)".
std::string describe(const NameContext& cx, const NodeParts& node);
/// Returns for example "node 'If_1' (If), attribute 'then_branch'".
std::string described_block(std::string_view node, std::string_view attr);
/// Returns the values that the node reads. An absent input is an absent value.
Result<std::vector<Value>> resolve_inputs(const NameContext& cx, const NodeParts& node);

/// A region node whose blocks are being filled.
struct OpenRegion {
  const OpDef* op = nullptr;
  NodeId id;
  BlockId parent;
  std::vector<GraphParts> bodies;
  std::vector<std::shared_ptr<NameContext>> scopes;  ///< contexts of the bodies
  std::size_t index = 0;                             ///< the block that is open
  std::vector<bool> wanted;
  Texts outputs;
  Finish finish;
  std::string described;
  std::string_view attr() const { return std::get<Region>(op->form).block_attrs[index]; }
};

/// A function call whose body is being inlined.
struct OpenCall {
  Texts outputs;
  std::size_t first_value = 0;  ///< first value of the body
  std::size_t number = 0;       ///< index in CallRecords
  std::string described;
};

/// A subgraph that is being inlined.
struct OpenSplice {
  std::unique_ptr<Splice> splice;
  Texts outputs;
  std::string described;
};

/// The main graph, a subgraph or the body of a function call while its nodes are appended to a block.
struct Frame {
  std::shared_ptr<NameContext> cx;
  BlockId block;
  NodeList nodes;
  GraphParts body;                             ///< unused for functions
  std::map<std::string_view, Bytes> declared;  ///< declared types of values, as TypeProtos
  std::unique_ptr<OpenRegion> region;
  std::unique_ptr<OpenCall> call;
  std::unique_ptr<OpenSplice> spliced;
};

/// Returns the results of the frame's graph. `what` names the graph in errors.
Result<std::vector<Value>> results(const Frame& frame, const std::string& what);

/// The open frames, outermost first.
class FrameStack {
 public:
  /// `order` provides the nodes of the frames.
  FrameStack(const LoadLimits& limits, const NodeOrder& order) : limits_(limits), order_(order) {}

  bool empty() const { return frames_.empty(); }
  Frame& top() { return frames_.back(); }
  const Frame& top() const { return frames_.back(); }
  /// Adds a frame. `whole` is the message with the frame's nodes, which NodeOrder has scanned. Fails with Code::limit
  /// above the limit of nesting, and with Code::bad_model if the nodes form a cycle.
  Status push(Frame frame, Bytes whole, Tag tag = kGraphNode);
  void pop() { frames_.pop_back(); }
  /// Returns "node 'If_1' (If), attribute 'then_branch': " for each open block, outermost first. Omits blocks in the
  /// middle.
  std::string path() const;

 private:
  const LoadLimits& limits_;
  const NodeOrder& order_;
  std::vector<Frame> frames_;
};

}  // namespace frazil::onnx
