#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/limits/load_scope.h"
#include "base/os/io.h"
#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "tensor/onnx_proto.h"

namespace frazil {

struct ImportOptions {
  LoadLimits limits;
  std::optional<std::chrono::steady_clock::duration> time = {};
  std::stop_token stop = {};  ///< a request to it ends the import with Code::cancelled
  bool newer_opsets = false;  ///< take operators of opsets newer than this version knows by the newest known meaning
  /// From IR version 4 on, an initializer that is also a graph input is a default that requests may override. True: it
  /// is a constant and not an input.
  bool fix_defaults = false;
  /// The branch that types follow first when the branches of an If have different ranks; see Assumption.
  bool assume_branches = true;
  std::string copies = {};                                ///< of the model's files, as of MappedFile::open()
  std::set<std::string, std::less<>> keep_defaults = {};  ///< inputs that `fix_defaults` leaves as they are

  LoadBounds bounds() const { return {limits, time, stop}; }
};

/// Reads an ONNX model. Nodes of older opsets are converted to the newest form of their operator, model-local functions
/// are inlined, constants and identities become values. Weights stay in the mapped file, which the graph keeps alive.
/// Operators are looked up in OpRegistry::global(): link_operators() must have run.
///
/// External data are read from the model's folder only. Code::bad_model for damaged or invalid models,
/// Code::unsupported for operators and features that this build lacks, Code::limit or Code::cancelled for models that
/// exceed the
/// options' limits or are stopped. Never throws.
Result<Graph> import_onnx(const std::string& path, const ImportOptions& options = {});
Result<Graph> import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options = {});

/// As import_onnx, for bytes in memory, kept alive through `keep_alive`; without it weights are copied. External data
/// are an error when `model_dir` is empty.
Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                std::string_view model_dir = {}, const ImportOptions& options = {});

/// The message type for values of a type.
ProtoKind proto_kind(const Type& type);

}  // namespace frazil
