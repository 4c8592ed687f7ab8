#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/model.h>
#include <frazil/profile.h>
#include <frazil/session_pool.h>

#include "compat/onnxruntime/custom/operators.h"
#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/options.h"
#include "compat/onnxruntime/session/profile.h"
#include "compat/onnxruntime/value/type_info.h"

namespace frazil::ort {

/// An input or an output of a model.
struct Place {
  std::string name;
  OrtTypeInfo type;
  std::size_t position = 0;  ///< among all inputs, or all outputs, of the model
};

/// A model with the custom operators that it uses.
struct LoadedModel {
  std::unique_ptr<CustomOperators> operators;  ///< null: none
  api::Model model;
};

/// The model that computes some of the outputs of a session, with its sessions.
struct Variant {
  std::vector<std::size_t> outputs;  ///< positions in OrtSession::outputs, ascending
  api::SessionPool pool;
};

}  // namespace frazil::ort

/// A model with the sessions that run it. Any number of threads may run it at the same time.
struct OrtSession {
  OrtSession(frazil::ort::LoadedModel loaded, const OrtSessionOptions& given);

  /// Returns the sessions for these outputs. A subset of the outputs has a model of its own, without the nodes that
  /// only the others need; after kVariants of them, all outputs are computed.
  std::shared_ptr<const frazil::ort::Variant> variant(std::span<const std::size_t> wanted);
  static constexpr std::size_t kVariants = 8;

  /// Replaces the model. No run may be in progress.
  void set_model(frazil::ort::LoadedModel loaded);

  OrtSessionOptions options;
  std::unique_ptr<frazil::ort::CustomOperators> operators;  ///< of the model, whose sessions end before it
  frazil::api::Model model;
  std::vector<frazil::ort::Place> inputs;        ///< those without a default
  std::vector<frazil::ort::Place> initializers;  ///< inputs with a default
  std::vector<frazil::ort::Place> outputs;
  std::shared_ptr<const frazil::ort::Variant> all;
  /// The file of a session of the model editor, until it is finalized, and the folder of its external data.
  std::optional<std::string> edited_file;
  std::string edited_folder;

  /// A profiled session: one at a time, on one recording.
  struct Profiling {
    std::mutex mutex;
    frazil::api::Profiler profiler{frazil::ort::kProfilerOptions};
    std::uint64_t start_ns = 0;
    bool ended = false;
  };
  std::unique_ptr<Profiling> profiling;

 private:
  frazil::api::PoolOptions pool_options() const;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const frazil::ort::Variant>> variants_;  ///< guarded by mutex_
};

namespace frazil::ort {

/// Load a model with the options of a session. Throw Failure with the codes of ONNX Runtime. External data of bytes lie
/// in `folder`, if it is not empty.
LoadedModel load_file(const std::string& path, const OrtSessionOptions& options);
LoadedModel load_bytes(const void* data, std::size_t size, const OrtSessionOptions& options,
                       const std::string& folder = {});
/// Returns the folder of a file.
std::string folder_of(const std::string& path);
/// Returns the content of a file, or what of it can be read.
std::string content_of(const std::string& path);

/// Runs the session. `values[i]` of a null pointer becomes a new value; others are written in place.
void run(OrtSession& session, const OrtRunOptions* options, std::span<const char* const> input_names,
         std::span<const OrtValue* const> inputs, std::span<const char* const> output_names,
         std::span<OrtValue*> values);

}  // namespace frazil::ort
