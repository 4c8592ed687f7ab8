#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/edit/builder.h"
#include "onnx/import/declared_types.h"
#include "onnx/import/frames.h"
#include "onnx/import/functions.h"
#include "onnx/import/import.h"
#include "onnx/import/node_order.h"
#include "onnx/import/value_definer.h"
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
        repeated_(file_bytes),
        definer_(graph_, declared_, source_, options.limits),
        frames_(options.limits, order_) {
    Builder(graph_).choose({.by_key = {}, .then_branch = options.assume_branches});
  }
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;
  Result<Graph> run(Bytes bytes);
  /// Returns true if the types of a failed import follow an assumption.
  bool assumed() const { return !graph_.assumptions().empty(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Status start();
  Status walk();
  Status step();
  /// Prefixes the fault with the blocks that contain it.
  Status located(Fault fault) const;

  // ---- end of the top frame ----
  Status finish_frame();
  Status finish_main();
  Status finish_block();
  Status finish_call();
  Status finish_splice();

  // ---- nodes; importer_nodes.cc ----
  Status append_node(Bytes bytes);
  /// Returns whether the node means an operator although the model has a function of this name. ONNX leaves that to the
  /// runtime; ONNX Runtime prefers operators of its domains.
  bool prefers_operator(const NodeParts& node) const;
  Status append_plain(Draft& draft, const OpDef& op, NodeParts& node);
  Status open_region(Draft& draft, const OpDef& op, NodeParts& node);
  Status open_block(std::unique_ptr<OpenRegion> region);
  Status open_splice(std::unique_ptr<OpenSplice> spliced);
  Status open_call(const NodeParts& node, const FunctionParts& function);

  Frame& top() { return frames_.top(); }

  Source source_;
  const ImportOptions& options_;
  NodeOrder order_;
  RepeatedBytes repeated_;
  ModelParts model_;
  Functions functions_;
  CallRecords calls_;
  Graph graph_;
  DeclaredTypes declared_;
  ValueDefiner definer_;
  FrameStack frames_;
  std::vector<std::string> warnings_;
  std::size_t nodes_ = 0;
};

}  // namespace frazil::onnx
