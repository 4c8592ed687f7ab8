#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/io.h"
#include "base/limits.h"
#include "ir/graph.h"
#include "tensor/onnx_proto.h"

namespace frazil {

struct ImportOptions {
  LoadLimits limits;
  bool newer_opsets = false;  ///< take operators of opsets newer than this version knows by the newest known meaning
  /// From IR version 4 on, an initializer that is also a graph input is only its default, which a request may
  /// override. True: it is a constant, and no input.
  bool fix_defaults = false;
  /// The side that types follow first where the branches of an If give different ranks; see Graph::Assumption.
  bool assume_branches = true;
};

/// Reads an ONNX model. Older opsets are brought to the newest form of each operator, model-local functions are
/// inlined, constants and identities become plain values. Weights stay in the file's mapping, which the graph keeps
/// alive. Operators are looked up in OpRegistry::global(): link_operators() must have run.
///
/// External data are read from the model's folder only. A damaged or invalid model is Code::bad_model, an operator or
/// feature that this build lacks Code::unsupported, a model past the options' limits Code::limit. Never throws.
Result<Graph> import_onnx(const std::string& path, const ImportOptions& options = {});
Result<Graph> import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options = {});

/// The same for bytes in memory, which are kept through `keep_alive`; without it weights are copied. External data
/// are an error when `model_dir` is empty.
Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                std::string_view model_dir = {}, const ImportOptions& options = {});

/// The message that holds values of a type.
ProtoKind proto_kind(const Type& type);

}  // namespace frazil
