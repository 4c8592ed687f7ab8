#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/edit/builder.h"
#include "onnx/import/import.h"
#include "onnx/import/names.h"
#include "onnx/import/node_order.h"
#include "onnx/read/decode.h"
#include "onnx/read/wire.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {

/// One import. Subgraphs and function calls are frames on an explicit stack, so that nothing recurses natively.
class Importer {
 public:
  /// `file_bytes` determines how many bytes function calls may read again.
  Importer(Source source, const ImportOptions& options, std::size_t file_bytes)
      : source_(std::move(source)),
        options_(options),
        order_(options.limits, file_bytes),
        most_read_again_(kAnyReadAgain + kReadAgainPerByte * file_bytes) {
    Builder(graph_).choose({.by_key = {}, .then_branch = options.assume_branches});
  }
  Result<Graph> run(Bytes bytes);
  /// Returns true if the types of a failed import follow an assumption.
  bool assumed() const { return !graph_.assumptions().empty(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// The context of name look-up: the model's graph, or one call of a function. Subgraphs share their context.
  struct Context {
    Names names;
    const Opsets* opsets = nullptr;
    const FunctionParts* function = nullptr;
    std::shared_ptr<const Context> caller;
    std::map<std::string_view, NamedAttr> attrs;  ///< attributes of the call, with the function's defaults
    std::string prefix;                           ///< prefix of the names of nodes and values
  };
  /// A region node whose blocks are being filled.
  struct OpenRegion {
    const OpDef* op = nullptr;
    NodeId id;
    BlockId parent;
    std::vector<GraphParts> bodies;
    std::vector<std::shared_ptr<Context>> scopes;  ///< contexts of the bodies
    std::size_t index = 0;                         ///< the block that is open
    std::vector<bool> wanted;
    Texts outputs;
    Finish finish;
    std::string described;
    std::string_view attr() const { return std::get<Region>(op->form).block_attrs[index]; }
  };
  /// A function call whose body is being inlined.
  struct OpenCall {
    Texts outputs;
    std::size_t first_value = 0, first_node = 0;  ///< first value and first node of the body
    std::size_t number = 0;                       ///< index in calls_
    std::string described;
  };
  /// A subgraph that is being inlined.
  struct OpenSplice {
    std::unique_ptr<Splice> splice;
    Texts outputs;
    std::string described;
  };
  struct Frame {
    std::shared_ptr<Context> cx;
    BlockId block;
    NodeList nodes;
    GraphParts body;                         ///< unused for functions
    std::map<std::string_view, Bytes> said;  ///< declared types of values, as TypeProtos
    std::unique_ptr<OpenRegion> region;
    std::unique_ptr<OpenCall> call;
    std::unique_ptr<OpenSplice> spliced;
  };
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;  // domain, name, overload

  Status check_model();
  Status index_functions();
  Status start();
  Status walk();
  Status step();
  /// Prefixes the fault with the blocks that contain it.
  Status located(Fault fault) const;
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... args) {
    if (warnings_.size() < 2 * kMaxWarnings) warnings_.push_back(fmt::format(format, std::forward<A>(args)...));
  }

  // ---- metadata and declared types; importer_info.cc ----
  Status keep_info();
  Status keep_value_notes(const GraphParts& body);
  void keep_notes(NodeParts& node, NodeId id);
  void keep_calls();
  Status read_said(const std::vector<Bytes>& value_infos);
  /// The first declared types that contradict the inferred ones, and the number of all of them.
  struct Contradictions {
    std::vector<std::string> first;
    std::size_t count = 0;
  };
  Contradictions contradictions() const;
  void compare_said();
  Fault explained(Fault fault) const;
  void keep_bounds();

  // ---- blocks; all work on the top frame ----
  /// Pushes a frame. `whole` is the message with the frame's nodes.
  Status push_frame(Frame frame, Bytes whole, Tag tag = kGraphNode);
  struct Initializer {
    Bytes bytes;
    bool sparse = false;
  };
  using Initializers = std::map<std::string_view, Initializer>;
  Result<Initializers> initializers(const GraphParts& body) const;
  Result<Tensor> read_initializer(const Initializer& initializer) const;
  Status define_inputs(const Initializers& given);
  Status define_input(const ValueInfo& info, const Initializer* initializer);
  Status define_params(const std::vector<Value>& params);
  Status define_initializers();
  Status define_constant(std::string_view name, Tensor tensor);
  Result<std::vector<Value>> results(const std::string& what) const;
  Status finish_frame();
  Status finish_main();
  Status finish_block();
  Status finish_call();
  Status finish_splice();

  // ---- nodes ----
  Status append_node(Bytes bytes);
  Status check_node(const NodeParts& node) const;
  Result<std::vector<NamedAttr>> decode_attributes(const NodeParts& node);
  Result<std::int64_t> opset_of(const NodeParts& node) const;
  Result<const OpDef*> find_op(const Draft& draft) const;
  static void trim_outputs(Draft& draft, const OpDef& op);
  Status append_plain(Draft& draft, const OpDef& op, NodeParts& node);
  Status open_region(Draft& draft, const OpDef& op, NodeParts& node);
  Status open_block(std::unique_ptr<OpenRegion> region);
  Status open_splice(std::unique_ptr<OpenSplice> spliced);
  Status open_call(const NodeParts& node, const FunctionParts& function);
  Status check_call(const NodeParts& node, const FunctionParts& function);
  /// Fails if the call is inside `function`.
  Status check_recursion(const NodeParts& node, const FunctionParts& function) const;
  /// Counts bytes that occur once in the file and are read or copied again. Fails above the limit for all calls.
  Status read_again(std::size_t bytes);
  Result<std::map<std::string_view, NamedAttr>> call_attributes(const NodeParts& node, const FunctionParts& function);

  // ---- names ----
  static constexpr std::size_t kNever = ~std::size_t{0};
  Status check_name(std::string_view what, std::string_view name) const;
  using Describe = std::function<std::string()>;  ///< called for faults only
  Status define(std::string_view name, Value value, const Describe& what);
  /// Gives names to a node's outputs. Values with an id of at least `rename_from` lose their current name first.
  Status define_outputs(const Texts& names, const std::vector<Value>& values, const Describe& what,
                        std::size_t rename_from = kNever);
  Result<Value> resolve(std::string_view name, const NodeParts& node) const;
  Result<std::vector<Value>> resolve_inputs(const NodeParts& node) const;

  // ---- texts of faults; importer_faults.cc ----
  /// Returns for example "node 'If_1' (If), attribute 'then_branch'".
  static std::string described_block(std::string_view node, std::string_view attr) {
    return fmt::format("{}, attribute '{}'", node, attr);
  }
  /// Returns the fault for a result of NodeOrder::cycle.
  std::unexpected<Fault> cyclic(std::span<const Bytes> cycle) const;
  /// Returns "node 'If_1' (If), attribute 'then_branch': " for each open block, outermost first. Omits blocks in the
  /// middle.
  std::string path() const;
  /// Returns the node's name, or else that of its first output.
  std::string name_of_node(const NodeParts& node) const;
  std::string describe(const NodeParts& node) const;
  Frame& top() { return frames_.back(); }
  const Frame& top() const { return frames_.back(); }

  Source source_;
  const ImportOptions& options_;
  NodeOrder order_;
  ModelParts model_;
  std::map<FunctionKey, const FunctionParts*> functions_;
  /// For each called function, whether a call of it has ended. A function with an ended call does not call itself.
  std::unordered_map<const FunctionParts*, bool> ended_;
  std::set<std::string_view> defaults_;  ///< initializers that are defaults of inputs
  Graph graph_;
  /// A type that the model declares for a value.
  struct Said {
    Value value;
    std::string name;
    Bytes type;
  };
  std::vector<Said> said_;
  /// An entry of ModelInfo::calls while its values have no final names.
  struct Call {
    std::string name;
    const FunctionParts* function = nullptr;  ///< null if the name is too long to prefix the names inside
    std::size_t first_node = 0, last_node = 0;
    std::vector<Value> inputs, outputs;
    Notes notes;
  };
  std::vector<Call> calls_;
  std::vector<std::string> warnings_;
  std::vector<Frame> frames_;
  std::size_t nodes_ = 0;
  static constexpr std::size_t kAnyReadAgain = std::size_t{32} << 20, kReadAgainPerByte = 64;
  std::size_t read_again_ = 0;
  const std::size_t most_read_again_;
};

}  // namespace frazil::onnx
