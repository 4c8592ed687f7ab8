#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/host_tensor.h"
#include "bench/requests.h"
#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// The C API of ONNX Runtime, the peer. The library is opened at run time and not needed for building. Every function
/// throws std::runtime_error with the peer's message if a call fails.
namespace bench {

/// The opened library and its environment. Must outlive every OrtSession made from it; not copied or moved.
class Ort {
 public:
  /// `library` is a path to libonnxruntime.so.1, as printed by scripts/fetch_peer.sh.
  explicit Ort(const std::string& library);
  ~Ort();
  Ort(const Ort&) = delete;
  Ort& operator=(const Ort&) = delete;

  /// Returns `given` if not empty, else $FRAZIL_PEER, else the library that fetch_peer.sh puts under build/peer. Throws
  /// if none exists.
  static std::string find_library(const std::string& given = {});

  const std::string& version() const { return version_; }

 private:
  friend class OrtSession;
  friend class OrtPrepared;
  template <class Function, class... Args>
  auto call(Function OrtApi::* function, Args... args) const;

  void* handle_ = nullptr;
  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  std::string version_;
};

enum class OrtLevel { none = 0, basic = 1, extended = 2, all = 99 };

/// Other options have the peer's defaults, except that execution is sequential, and spinning and the arena are on.
struct OrtOptions {
  int intra_threads = 1;
  OrtLevel level = OrtLevel::all;
};

/// A loaded model. Only tensors of fixed-size elements can be passed and returned.
class OrtSession {
 public:
  OrtSession(const Ort& ort, const std::string& model_path, const OrtOptions& options = {});
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  /// Return the ports in the model's order. Initialisers are not inputs.
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  /// Runs once and copies inputs and outputs. Use OrtPrepared for timing.
  std::vector<HostTensor> run(const NamedTensors& inputs) const;

 private:
  friend class OrtPrepared;
  std::vector<Port> ports(bool outputs) const;

  const Ort& ort_;
  ::OrtSession* session_ = nullptr;
  std::vector<Port> inputs_, outputs_;
};

/// Requests with inputs created in advance in the peer's aligned memory, so that run() costs only the peer's Run. Each
/// request releases the outputs of the previous one, and the peer allocates new ones. Refers to the session. Not
/// thread-safe.
class OrtPrepared {
 public:
  /// `requests` has a tensor for every input of the session, by name. Other names are an error.
  OrtPrepared(const OrtSession& session, const Requests& requests);
  /// Creates a single request.
  OrtPrepared(const OrtSession& session, const NamedTensors& inputs) : OrtPrepared(session, Requests{{inputs}}) {}
  ~OrtPrepared();
  OrtPrepared(const OrtPrepared&) = delete;
  OrtPrepared& operator=(const OrtPrepared&) = delete;

  /// Runs all requests in order.
  void run();
  /// Runs request `n`. Precondition: n is 0, or the previous request was n - 1.
  void step(std::size_t n);

  /// Returns copies of the last request's outputs, in the order of session.outputs(). Precondition: a request was run.
  std::vector<HostTensor> outputs() const;

 private:
  struct Carried {
    std::size_t output, input;
    OrtValue* initial;
  };
  void make_requests(const Requests& requests);
  void release(OrtValue*& value) const;
  void release_outputs();
  void release_all();
  OrtValue* make_value(const HostTensor& tensor) const;
  HostTensor read_value(OrtValue* value) const;

  const OrtSession& session_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<std::vector<OrtValue*>> requests_;  ///< inputs per request; null if carried
  std::vector<Carried> carried_;
  std::vector<OrtValue*> output_values_;
};

}  // namespace bench
