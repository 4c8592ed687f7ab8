#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/limits/load_scope.h"
#include "base/os/file_check.h"
#include "base/os/io.h"
#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "onnx/read/fixed_extents.h"
#include "onnx/read/memory_files.h"
#include "tensor/onnx_proto.h"

namespace frazil {

class OpSet;

struct ImportOptions {
  LoadLimits limits;
  std::optional<std::chrono::steady_clock::duration> time = {};
  std::stop_token stop = {};  ///< a stop request ends the import with Code::cancelled
  bool newer_opsets =
      false;  ///< accept opsets newer than the newest known one; operators take their newest known meaning
  /// Treat initializers that are also graph inputs as constants and not as inputs. Otherwise, from IR version 4 on,
  /// they are defaults that requests may override.
  bool fix_defaults = false;
  const OpSet* operators = nullptr;  ///< operators that precede those of the registry
  bool lenient = false;              ///< accept what ONNX Runtime accepts; see LoadOptions::lenient
  /// The branch whose types are assumed first if the branches of an If have different ranks: true for `then`. See
  /// Assumption.
  bool assume_branches = true;
  std::string copies = {};                                ///< copies of the model's files, as for MappedFile::open()
  std::set<std::string, std::less<>> keep_defaults = {};  ///< inputs that `fix_defaults` does not change
  onnx::FixedExtents extents = {};                        ///< numbers from 0 to Dim::kMax
  onnx::MemoryFiles files = {};                           ///< external data that are not read from the folder
  FileCheck check_file = {};  ///< called for the model, before it is read, and for each file of external data

  LoadBounds bounds() const { return {limits, time, stop}; }
};

/// Reads an ONNX model. Nodes of older opsets are converted to the newest form of their operator. Model-local functions
/// are inlined; constants and identities become values. Weights stay in the mapped file, which the graph keeps alive.
/// Operators are looked up in ImportOptions::operators and OpRegistry::global(): call link_operators() before.
///
/// External data are read from ImportOptions::files and the model's folder only. Fails with Code::bad_model for damaged
/// or invalid models, and with Code::unsupported for operators and features that this build lacks. Fails with
/// Code::limit or Code::cancelled for models that exceed the limits in the options or are stopped. Never throws.
Result<Graph> import_onnx(const std::string& path, const ImportOptions& options = {});
Result<Graph> import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options = {});

/// Reads an ONNX model from bytes in memory. `keep_alive` keeps the bytes alive; if it is null, weights are copied.
/// External data that are not in ImportOptions::files are an error if `model_dir` is empty. ImportOptions::check_file
/// is called with `path`.
Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                std::string_view model_dir = {}, const ImportOptions& options = {},
                                std::string_view path = {});

/// Returns the kind of message that holds values of a type.
ProtoKind proto_kind(const Type& type);

}  // namespace frazil
