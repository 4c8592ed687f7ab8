#include "compat/onnxruntime/options.h"

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/pairs.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"
#include "compat/onnxruntime/value/value.h"

/// An object without content: sessions share weights whose content is equal.
struct OrtPrepackedWeightsContainer {};

namespace frazil::ort {
namespace {

/// Calls `change` on the options. Null is ORT_INVALID_ARGUMENT.
template <class Options, class F>
OrtStatus* with(Options* options, F&& change) {
  return guarded([&] {
    require(options, "options");
    change(*options);
  });
}

const std::string* find(const std::map<std::string, std::string, std::less<>>& entries, const char* key) {
  require(key, "key");
  const auto found = entries.find(std::string_view(key));
  return found == entries.end() ? nullptr : &found->second;
}

void put(std::map<std::string, std::string, std::less<>>& entries, const char* key, const char* value) {
  require(key, "key");
  require(value, "value");
  if (*key == '\0') fail(ORT_INVALID_ARGUMENT, "the key of a configuration entry is empty");
  entries[key] = value;
}

OrtLoggingLevel level_of(int severity) {
  if (severity < ORT_LOGGING_LEVEL_VERBOSE || severity > ORT_LOGGING_LEVEL_FATAL) {
    fail(ORT_INVALID_ARGUMENT, "log severity {} is not in 0 (verbose) to 4 (fatal)", severity);
  }
  return static_cast<OrtLoggingLevel>(severity);
}

void keep_initializer(OrtSessionOptions& options, const char* name, const OrtValue* value) {
  require(name, "name");
  if (*name == '\0') fail(ORT_INVALID_ARGUMENT, "the name of an initializer is empty");
  tensor(value, "val");
  if (!options.initializers.emplace(name, value).second) {
    fail(ORT_INVALID_ARGUMENT, "initializer '{}' is given twice", name);
  }
}

}  // namespace

Logger logger_of(const OrtSessionOptions& options) {
  Logger result = logger();
  if (options.log_function != nullptr) {
    result.function = options.log_function;
    result.parameter = options.log_parameter;
  }
  if (options.log_severity) result.least = *options.log_severity;
  if (!options.log_id.empty()) result.id = options.log_id;
  return result;
}

// ---- session options ----

OrtStatus* CreateSessionOptions(OrtSessionOptions** options) {
  return guarded([&] { *options = new OrtSessionOptions; });
}
OrtStatus* CloneSessionOptions(const OrtSessionOptions* in_options, OrtSessionOptions** out_options) {
  return with(in_options, [&](const OrtSessionOptions& from) { *out_options = new OrtSessionOptions(from); });
}
void ReleaseSessionOptions(OrtSessionOptions* input) { delete input; }

OrtStatus* SetOptimizedModelFilePath(OrtSessionOptions* options, const char* optimized_model_filepath) {
  return with(options, [&](OrtSessionOptions& to) { to.optimized_path = optimized_model_filepath; });
}
OrtStatus* SetSessionExecutionMode(OrtSessionOptions* options, ExecutionMode execution_mode) {
  return with(options, [&](OrtSessionOptions& to) {
    if (execution_mode != ORT_SEQUENTIAL && execution_mode != ORT_PARALLEL) {
      fail(ORT_INVALID_ARGUMENT, "execution mode {} is not 0 (sequential) or 1 (parallel)",
           static_cast<int>(execution_mode));
    }
    to.execution_mode = execution_mode;
  });
}
OrtStatus* GetSessionExecutionMode(const OrtSessionOptions* options, ExecutionMode* out) {
  return with(options, [&](const OrtSessionOptions& from) { *out = from.execution_mode; });
}
OrtStatus* EnableProfiling(OrtSessionOptions* options, const char* profile_file_prefix) {
  return with(options, [&](OrtSessionOptions& to) { to.profile_prefix = profile_file_prefix; });
}
OrtStatus* DisableProfiling(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.profile_prefix.reset(); });
}
OrtStatus* EnableMemPattern(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.mem_pattern = true; });
}
OrtStatus* DisableMemPattern(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.mem_pattern = false; });
}
OrtStatus* GetMemPatternEnabled(const OrtSessionOptions* options, int* out) {
  return with(options, [&](const OrtSessionOptions& from) { *out = from.mem_pattern ? 1 : 0; });
}
OrtStatus* EnableCpuMemArena(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.cpu_arena = true; });
}
OrtStatus* DisableCpuMemArena(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.cpu_arena = false; });
}
OrtStatus* SetSessionLogId(OrtSessionOptions* options, const char* logid) {
  return with(options, [&](OrtSessionOptions& to) { to.log_id = logid; });
}
OrtStatus* SetSessionLogVerbosityLevel(OrtSessionOptions* options, int session_log_verbosity_level) {
  return with(options, [&](OrtSessionOptions& to) { to.log_verbosity = session_log_verbosity_level; });
}
OrtStatus* SetSessionLogSeverityLevel(OrtSessionOptions* options, int session_log_severity_level) {
  return with(options, [&](OrtSessionOptions& to) { to.log_severity = level_of(session_log_severity_level); });
}
OrtStatus* SetUserLoggingFunction(OrtSessionOptions* options, OrtLoggingFunction user_logging_function,
                                  void* user_logging_param) {
  return with(options, [&](OrtSessionOptions& to) {
    to.log_function = user_logging_function;
    to.log_parameter = user_logging_param;
  });
}
OrtStatus* SetSessionGraphOptimizationLevel(OrtSessionOptions* options,
                                            GraphOptimizationLevel graph_optimization_level) {
  return with(options, [&](OrtSessionOptions& to) {
    switch (graph_optimization_level) {
      case ORT_DISABLE_ALL:
      case ORT_ENABLE_BASIC:
      case ORT_ENABLE_EXTENDED:
      case ORT_ENABLE_LAYOUT:
      case ORT_ENABLE_ALL: to.optimization = graph_optimization_level; return;
    }
    fail(ORT_INVALID_ARGUMENT, "graph optimization level {} is not 0, 1, 2, 3 or 99",
         static_cast<int>(graph_optimization_level));
  });
}
OrtStatus* SetIntraOpNumThreads(OrtSessionOptions* options, int intra_op_num_threads) {
  return with(options, [&](OrtSessionOptions& to) { to.intra_op_threads = intra_op_num_threads; });
}
OrtStatus* SetInterOpNumThreads(OrtSessionOptions* options, int inter_op_num_threads) {
  return with(options, [&](OrtSessionOptions& to) { to.inter_op_threads = inter_op_num_threads; });
}
OrtStatus* DisablePerSessionThreads(OrtSessionOptions* options) {
  return with(options, [&](OrtSessionOptions& to) { to.per_session_threads = false; });
}
OrtStatus* AddFreeDimensionOverride(OrtSessionOptions* options, const char* dim_denotation, std::int64_t dim_value) {
  return with(options, [&](OrtSessionOptions& to) { to.denoted_extents[dim_denotation] = dim_value; });
}
OrtStatus* AddFreeDimensionOverrideByName(OrtSessionOptions* options, const char* dim_name, std::int64_t dim_value) {
  return with(options, [&](OrtSessionOptions& to) { to.extents[dim_name] = dim_value; });
}
OrtStatus* SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool cancel) {
  return with(options, [&](OrtSessionOptions& to) {
    if (cancel)
      to.cancelled->request_stop();
    else if (to.cancelled->stop_requested())
      to.cancelled = std::make_shared<std::stop_source>();
  });
}

OrtStatus* AddSessionConfigEntry(OrtSessionOptions* options, const char* config_key, const char* config_value) {
  return with(options, [&](OrtSessionOptions& to) { put(to.config, config_key, config_value); });
}
OrtStatus* HasSessionConfigEntry(const OrtSessionOptions* options, const char* config_key, int* out) {
  return with(options, [&](const OrtSessionOptions& from) { *out = find(from.config, config_key) != nullptr ? 1 : 0; });
}
OrtStatus* GetSessionConfigEntry(const OrtSessionOptions* options, const char* config_key, char* config_value,
                                 std::size_t* size) {
  return with(options, [&](const OrtSessionOptions& from) {
    const std::string* const value = find(from.config, config_key);
    if (value == nullptr) fail(ORT_FAIL, "the session options have no entry '{}'", config_key);
    copy_text(*value, config_value, size);
  });
}
OrtStatus* GetSessionOptionsConfigEntries(const OrtSessionOptions* options, OrtKeyValuePairs** out) {
  return with(options, [&](const OrtSessionOptions& from) {
    *out = new OrtKeyValuePairs{.entries = from.config};
    (*out)->update();
  });
}

OrtStatus* AddInitializer(OrtSessionOptions* options, const char* name, const OrtValue* val) {
  return with(options, [&](OrtSessionOptions& to) { keep_initializer(to, name, val); });
}
OrtStatus* AddExternalInitializers(OrtSessionOptions* options, const char* const* initializer_names,
                                   const OrtValue* const* initializers, std::size_t num_initializers) {
  return with(options, [&](OrtSessionOptions& to) {
    for (std::size_t i = 0; i < num_initializers; ++i) keep_initializer(to, initializer_names[i], initializers[i]);
  });
}
OrtStatus* AddExternalInitializersFromFilesInMemory(OrtSessionOptions* options,
                                                    const char* const* external_initializer_file_names,
                                                    char* const* external_initializer_file_buffer_array,
                                                    const std::size_t* external_initializer_file_lengths,
                                                    std::size_t num_external_initializer_files) {
  return with(options, [&](OrtSessionOptions& to) {
    for (std::size_t i = 0; i < num_external_initializer_files; ++i) {
      require(external_initializer_file_names[i], "external_initializer_file_names");
      const auto* const first = reinterpret_cast<const std::byte*>(external_initializer_file_buffer_array[i]);
      to.files[external_initializer_file_names[i]] = {first, external_initializer_file_lengths[i]};
    }
  });
}

// ---- run options ----

OrtStatus* CreateRunOptions(OrtRunOptions** out) {
  return guarded([&] { *out = new OrtRunOptions; });
}
void ReleaseRunOptions(OrtRunOptions* input) { delete input; }
OrtStatus* RunOptionsSetRunLogVerbosityLevel(OrtRunOptions* options, int log_verbosity_level) {
  return with(options, [&](OrtRunOptions& to) { to.log_verbosity = log_verbosity_level; });
}
OrtStatus* RunOptionsSetRunLogSeverityLevel(OrtRunOptions* options, int log_severity_level) {
  return with(options, [&](OrtRunOptions& to) { to.log_severity = log_severity_level; });
}
OrtStatus* RunOptionsSetRunTag(OrtRunOptions* options, const char* run_tag) {
  return with(options, [&](OrtRunOptions& to) { to.tag = run_tag == nullptr ? "" : run_tag; });
}
OrtStatus* RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions* options, int* log_verbosity_level) {
  return with(options, [&](const OrtRunOptions& from) { *log_verbosity_level = from.log_verbosity; });
}
OrtStatus* RunOptionsGetRunLogSeverityLevel(const OrtRunOptions* options, int* log_severity_level) {
  return with(options, [&](const OrtRunOptions& from) { *log_severity_level = from.log_severity; });
}
OrtStatus* RunOptionsGetRunTag(const OrtRunOptions* options, const char** run_tag) {
  return with(options, [&](const OrtRunOptions& from) { *run_tag = from.tag.c_str(); });
}
OrtStatus* RunOptionsSetTerminate(OrtRunOptions* options) {
  return with(options, [&](OrtRunOptions& to) {
    to.terminated = true;
    const std::scoped_lock lock(to.mutex);
    for (api::Session* const session : to.running) session->cancel();
  });
}
OrtStatus* RunOptionsUnsetTerminate(OrtRunOptions* options) {
  return with(options, [&](OrtRunOptions& to) { to.terminated = false; });
}
OrtStatus* AddRunConfigEntry(OrtRunOptions* options, const char* config_key, const char* config_value) {
  return with(options, [&](OrtRunOptions& to) { put(to.config, config_key, config_value); });
}
const char* GetRunConfigEntry(const OrtRunOptions* options, const char* key) {
  if (options == nullptr || key == nullptr) return nullptr;
  const auto found = options->config.find(std::string_view(key));
  return found == options->config.end() ? nullptr : found->second.c_str();
}
OrtStatus* RunOptionsEnableProfiling(OrtRunOptions* options, const char* profile_file_prefix) {
  return with(options, [&](OrtRunOptions& to) { to.profile_prefix = profile_file_prefix; });
}
OrtStatus* RunOptionsDisableProfiling(OrtRunOptions* options) {
  return with(options, [&](OrtRunOptions& to) { to.profile_prefix.reset(); });
}

// ---- containers of packed weights ----

OrtStatus* CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) {
  return guarded([&] { *out = new OrtPrepackedWeightsContainer; });
}
void ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* input) { delete input; }

}  // namespace frazil::ort
