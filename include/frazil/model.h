#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/session.h>

namespace frazil::api {

class Policy;

/// One input or output of a model.
struct Port {
  std::string name;
  std::string type;  ///< "f32[N,3]", "seq<i64[...]>"
  Array::Kind kind = Array::Kind::tensor;
  bool optional = false;          ///< may be left out: it has a default, or is an optional
  Dtype dtype = Dtype::f32;       ///< tensors only
  bool ranked = true;             ///< tensors: false when even the rank is open
  std::vector<std::string> dims;  ///< "3", "N", "2*N + 1": the same symbol means the same extent
};

/// How a model is loaded. Limits that are left open come from the environment's knobs (`frazil knobs`); past one of
/// them the load fails with Code::limit.
struct LoadOptions {
  std::shared_ptr<Policy> policy;
  bool fix_defaults = false;                  ///< an input with a default becomes a constant, and is no input any more
  std::optional<std::uint64_t> memory_limit;  ///< bytes of tensors that are not read where they lie in the file
  std::optional<std::uint64_t> max_elements;  ///< of one tensor
  std::optional<std::uint64_t> max_nodes;     ///< with those of inlined functions
  std::optional<std::uint64_t> max_nesting;   ///< of subgraphs and function calls
  std::optional<std::uint64_t> max_name_bytes;  ///< of one name
};

/// How a model is written.
struct SaveOptions {
  std::optional<std::int64_t> opset;  ///< of ai.onnx
  std::uint64_t external_bytes = 0;   ///< 0: no external data
};

/// A graph that is ready to run. A cheap handle to something immutable: threads share it freely.
class Model {
 public:
  /// Reads an ONNX file; weights stay in the file's mapping. Code::bad_model for a damaged or invalid one,
  /// Code::bad_input when it cannot be read, Code::unsupported for what this version lacks.
  static Model load(const std::string& path, const LoadOptions& options = {});
  /// The same from memory; the bytes are copied. External data are an error.
  static Model from_bytes(std::span<const std::byte> bytes, const LoadOptions& options = {});
  /// From the text form, with the tensors that it names as @name.
  static Model from_text(std::string_view text, const std::map<std::string, Array>& weights = {},
                         const LoadOptions& options = {});

  const std::string& name() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  /// The operators used, each once, sorted: "Add", "ai.onnx.ml.Scaler".
  std::vector<std::string> operators() const;

  /// Opens a session; open one per thread. The first one plans the model.
  Session open(const Options& options = {}) const;

  /// Writes the model as an ONNX file, and with external_bytes tensors of at least so many bytes into a file beside it,
  /// "<path>.data". The opset is the oldest that every operator fits into, and not older than the one it came in; one
  /// that is asked for and too old is Code::bad_input.
  void save(const std::string& path, const SaveOptions& options = {}) const;

  /// The graph in the text form; from_text(text(), weights()) gives an equal model.
  std::string text() const;
  std::map<std::string, Array> weights() const;
  /// The graph in Graphviz's language.
  std::string dot() const;
  /// What runs and where values lie: the plan, step by step.
  std::string explain() const;

 private:
  friend struct Access;
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace frazil::api
