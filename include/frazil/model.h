#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/log.h>
#include <frazil/session.h>

namespace frazil::api {

class Policy;
class Registry;
class SessionPool;
struct HostOperator;
struct PoolImpl;
struct PoolOptions;

/// One input or output of a model.
struct Port {
  std::string name;
  /// "f32[N,3]", "seq<i64[...]>". An extent with a text of more than 24 characters is "?"; full_type has it.
  std::string type;
  Array::Kind kind = Array::Kind::tensor;
  bool optional = false;                   ///< may be omitted: it has a default, or its type is an optional
  Dtype dtype = Dtype::f32;                ///< tensors only
  bool ranked = true;                      ///< tensors: false if the rank is unknown
  std::vector<std::string> dims;           ///< "3", "N", "2*N + 1": equal symbols mean equal extents
  std::vector<std::int64_t> extents = {};  ///< the constant extents; -1 for others, whose text is in `dims`
  std::string full_type = {};              ///< the type with the whole text of each extent
  /// The extents as the ONNX file declares them for the input or output of this name: "3", or the text of dim_param in
  /// any bytes ("past + seq", "?"), or "" without either. LoadOptions::extents and edits do not change them. nullopt if
  /// the file declares no shape, or the model is not from an ONNX file.
  std::optional<std::vector<std::string>> declared = {};
  bool has_default = false;  ///< inputs: an omitted input has the value of the model file
  /// The items of a sequence or the values of a map, without a name; null for tensors. `dtype` of a map is that of its
  /// keys.
  std::shared_ptr<const Port> item = nullptr;
};

/// The description in a model file. It does not affect results. Texts are as in the file and may hold any bytes;
/// they are empty, and numbers 0, if the file has none or the model is not from a file.
struct Metadata {
  std::string producer, producer_version;
  std::string domain;
  std::string description;        ///< doc_string of the model
  std::string graph_name;         ///< the same as Model::name()
  std::string graph_description;  ///< doc_string of the graph
  std::int64_t model_version = 0;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;     ///< by domain; the domain ai.onnx is ""
  std::map<std::string, std::string> properties;  ///< custom metadata; of a key that occurs twice, the last text
};

/// The options of a load. Limits that are not set are taken from the environment (`frazil knobs`). A load that exceeds
/// a limit fails with Code::limit. All limits apply again when the model is planned, in Model::open().
struct LoadOptions {
  std::shared_ptr<Policy> policy;
  bool fix_defaults = false;  ///< ONNX files: inputs with a default become constants and are removed from inputs()
  std::vector<std::string> keep_defaults = {};  ///< inputs that fix_defaults does not apply to
  /// The model runs what ONNX Runtime runs although ONNX or this library does not allow it. Edits keep the option.
  ///
  /// Extents of one name may differ between inputs. A run with equal ones is not slower. The first run with others
  /// plans the model again, with one warning; such runs use a second plan, which knows no extents.
  ///
  /// ONNX files: the faults that docs/reference/api.md lists cause warnings, and are read as ONNX Runtime reads them.
  /// Examples: the last of two initializers of one name counts, and ir_version may be missing. Some answers that ONNX
  /// leaves open are those of ONNX Runtime: a Cast of -1.0f to u8 is 255. An operator precedes a function of its name.
  ///
  /// With or without the option, declared types of outputs and inner values that differ from the inferred ones only
  /// cause warnings, and initializers below IR version 4 are constants even if they are listed as inputs.
  bool lenient = false;
  /// ONNX files: constants for the extents of inputs by their name in the file, the text of dim_param. Other names have
  /// no effect. `denoted_extents` has them by the denotation of the dimension, such as "DATA_BATCH"; it comes first.
  /// The load fails with Code::bad_input for a negative number, and for one that contradicts a number in the file or
  /// bounds of the extent.
  std::map<std::string, std::int64_t> extents = {};
  std::map<std::string, std::int64_t> denoted_extents = {};
  /// ONNX files: external data in memory. The key is the `location` in the model file. If no key is equal, one with the
  /// same last path component serves ("w.bin" for "./sub/w.bin"); two such keys are Code::bad_input. Other locations
  /// are read from the model's folder. The tensors are copied, so the bytes need to live only until the load returns.
  std::map<std::string, std::span<const std::byte>> files = {};
  /// Model::from_bytes(): the folder of external data. Empty: there is none, and external data that are not in `files`
  /// are Code::bad_input.
  std::string folder = {};
  /// Keeps the bytes of `files` alive as long as a model uses them. The tensors are then not copied, and the bytes must
  /// not change. Null: they are copied.
  std::shared_ptr<const void> files_owner = {};
  std::optional<std::uint64_t> memory_limit;    ///< bytes of the graph and of tensor data copied out of the file
  std::optional<std::uint64_t> max_elements;    ///< per tensor
  std::optional<std::uint64_t> max_nodes;       ///< including those of inlined functions
  std::optional<std::uint64_t> max_nesting;     ///< depth of subgraphs and function calls
  std::optional<std::uint64_t> max_name_bytes;  ///< per name
  std::optional<double> deadline_ms;            ///< for the load, and again for planning in open(); 0: none
  std::stop_token stop = {};                    ///< a stop request ends the load or open() with Code::cancelled
  /// A folder for private copies of the model's files, which are unnamed and end with the model. With it, the files may
  /// be written, truncated and removed while the model lives. A load fails with Code::bad_input if a file is written
  /// meanwhile. Empty: the files are mapped in place and must not change.
  std::string copies = {};
  /// Receives the messages of this model, and of models made from it by edits: of its load, plans and runs, and of
  /// compiling its code. An empty function: they go to the log of the process.
  Log log = {};
  /// The models that the graph's nodes frazil.Call run, also after edits. The model does not own it. Null:
  /// Registry::instance().
  std::shared_ptr<const Registry> registry = {};
  /// Operators of this model and of its edits only. They precede the operators of the process: two models may have
  /// different ones of one name. One of domain "" must not be built in. They are copied, and end with the last model
  /// that has or uses them. Packages cannot have them, and GraphBuilder::build() does not look them up.
  std::shared_ptr<const std::vector<HostOperator>> operators = {};
  bool check_calls = true;  ///< false: contracts of calls are not checked before Model::check_calls()
};

/// A node frazil.Call of a model.
struct ModelCall {
  std::string node;           ///< "node 'head' (Call)"
  std::string model;          ///< name of the called model in the registry
  std::uint64_t version = 0;  ///< 0: the current one
  bool operator==(const ModelCall&) const = default;
};

/// The options of writing a model.
struct SaveOptions {
  std::optional<std::int64_t> opset;  ///< opset of ai.onnx; unset: the oldest that can express the model
  std::uint64_t external_bytes = 0;   ///< smallest tensor, in bytes, to write as external data; 0: none
};

/// A graph that can be run. A handle to immutable data: copies are cheap, and moving copies. Threads may share it.
class Model {
 public:
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;

  /// Reads an ONNX file, or a package made by `frazil compile`, which is planned immediately. Weights are mapped, not
  /// copied. Throws Code::bad_input if the file cannot be read, Code::bad_model if it is damaged or invalid, and
  /// Code::unsupported for features that this version lacks.
  static Model load(const std::string& path, const LoadOptions& options = {});
  /// Reads a model from memory, as load() does. The bytes are copied. External data come from LoadOptions::files and
  /// LoadOptions::folder.
  static Model from_bytes(std::span<const std::byte> bytes, const LoadOptions& options = {});
  /// Parses the text form; `weights` holds the tensors that the text calls @name.
  static Model from_text(std::string_view text, const std::map<std::string, Array>& weights = {},
                         const LoadOptions& options = {});

  const std::string& name() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  /// Returns the extents of a tensor, an input or else an output, for these values of the names in Port::dims. Names
  /// that are not given have the value `others`, and so have extents that only a run determines. Throws Code::bad_input
  /// if no input or output has this name, if it has no rank, and for values that make an extent negative.
  Sizes sizes(std::string_view port, const std::map<std::string, std::int64_t>& names = {},
              std::int64_t others = 1) const;
  /// Returns the operators used, without duplicates, sorted: "Add", "ai.onnx.ml.Scaler".
  std::vector<std::string> operators() const;
  /// Returns the nodes that call other models, in the order of the graph.
  std::vector<ModelCall> calls() const;
  /// Checks that the called models exist and keep the contracts of calls(), as a load does. Throws Code::bad_model.
  void check_calls() const;
  /// Returns what the file says about the model. Edited models keep it.
  Metadata metadata() const;

  /// Runs on a session of the model's pool: pool().run(inputs). Any number of threads may call at the same time, and
  /// each call has a session of its own. Throws the errors of open() and Session::run().
  ///
  /// Sessions are opened on demand and used again. A value that grows from run to run, such as a KV cache, is copied
  /// when the next run has another session; use one Session for such a sequence of runs.
  Results run(std::initializer_list<Named> inputs) const;
  Results run(std::span<const Named> inputs) const;
  Results run(std::span<const Array> inputs) const;
  /// Returns the pool of run(). All copies of this handle share it.
  SessionPool pool() const;
  /// Returns a handle to the same model with another pool, which has these bounds and options.
  Model with_pool(const PoolOptions& options) const;

  /// Opens a session; use one per thread. The first call plans the model within the limits of LoadOptions. Throws
  /// Code::bad_input for invalid options, and Code::limit or Code::cancelled if planning exceeds the limits or is
  /// stopped.
  Session open(const Options& options = {}) const;

  /// Returns the model that runs requests of different lengths joined without padding. `extent` names the extent that
  /// is the length of a request. Along the axes that have it, inputs hold the rows of all requests one after the other,
  /// and so do outputs. A last input, `lengths`, receives the number of rows of each request, at least 1
  /// (i64[requests]). The other inputs are the same for all requests. Recurrent layers are fastest if lengths decrease.
  /// Weights are shared. Throws Code::bad_input if no extent has this name, and Code::unsupported, with the name of the
  /// node, if a row of an output depends on several rows of its request in another way than through recurrent layers.
  Model ragged(std::string_view extent) const;

  /// Writes the model as an ONNX file. Tensors of at least `external_bytes` bytes go to "<path>.data". By default, the
  /// opset is the oldest that can express all operators, and at least that of the loaded model. Throws Code::bad_input
  /// if `opset` is set and too old.
  void save(const std::string& path, const SaveOptions& options = {}) const;

  /// Returns the graph in the text form. from_text(text(), weights()) returns an equal model.
  std::string text() const;
  std::map<std::string, Array> weights() const;
  /// Returns "sha256:" and 64 hexadecimal digits of the text form and the weights. Models of equal content have equal
  /// digests. The digest is computed on first use; weights that models share are read once.
  std::string digest() const;
  /// Returns the graph as input for Graphviz (DOT).
  std::string dot() const;
  /// Returns the execution plan as text: its steps and the storage of each value.
  std::string explain() const;

 private:
  friend struct Access;
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl);
  Model(std::shared_ptr<Impl> impl, std::shared_ptr<PoolImpl> pool);
  std::shared_ptr<Impl> impl_;
  std::shared_ptr<PoolImpl> pool_;  ///< null in the sessions' handles, which the pool owns
};

}  // namespace frazil::api
