#include "compat/onnxruntime/environment.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/pairs.h"
#include "compat/onnxruntime/status.h"

struct OrtThreadingOptions {
  int intra_op_threads = 0;
};

/// The environment of the process. There is one object, which counts its creations.
struct OrtEnv {
  std::mutex mutex;
  int references = 0;
  frazil::ort::Logger logger;
  int threads = 0;
  std::set<std::string, std::less<>> told;  ///< functions of hints that were logged
};

namespace frazil::ort {
namespace {

OrtEnv& environment() {
  static OrtEnv* const env = new OrtEnv;  // sessions may log while the process ends
  return *env;
}

// The first creation sets it up. Later ones get the same environment, as it is.
void acquire(Logger logger, const OrtThreadingOptions* threads, OrtEnv** out) {
  require(out, "out");
  OrtEnv& env = environment();
  const std::scoped_lock lock(env.mutex);
  if (env.references++ == 0) {
    env.logger = std::move(logger);
    env.threads = threads == nullptr ? 0 : threads->intra_op_threads;
  }
  *out = &env;
}

const char* name_of_severity(OrtLoggingLevel severity) {
  static constexpr const char* kTexts[] = {"verbose", "info", "warning", "error", "fatal"};
  return severity >= ORT_LOGGING_LEVEL_VERBOSE && severity <= ORT_LOGGING_LEVEL_FATAL ? kTexts[severity] : "unknown";
}

OrtLoggingLevel level_of(api::Severity severity) {
  if (severity == api::Severity::debug) return ORT_LOGGING_LEVEL_VERBOSE;
  return severity == api::Severity::info ? ORT_LOGGING_LEVEL_INFO : ORT_LOGGING_LEVEL_WARNING;
}

api::Severity severity_of(OrtLoggingLevel level) {
  if (level == ORT_LOGGING_LEVEL_VERBOSE) return api::Severity::debug;
  return level == ORT_LOGGING_LEVEL_INFO ? api::Severity::info : api::Severity::warning;
}

std::string or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

void Logger::write(OrtLoggingLevel severity, const char* category, const char* place, const char* message) const {
  if (severity < least) return;
  if (function != nullptr) {
    function(parameter, severity, category, id.c_str(), place, message);
    return;
  }
  std::fprintf(stderr, "frazil (onnxruntime): %s: %s: %s\n", name_of_severity(severity), category, message);
}

Logger logger() {
  OrtEnv& env = environment();
  const std::scoped_lock lock(env.mutex);
  return env.logger;
}

api::Log log_of(Logger logger) {
  api::Log log;
  log.least = severity_of(logger.least);
  log.function = [logger = std::move(logger)](const api::LogMessage& message) {
    logger.write(level_of(message.severity), std::string(message.category).c_str(), "frazil",
                 std::string(message.text).c_str());
  };
  return log;
}

void log_hint(std::string_view function, std::string_view why) noexcept {
  try {
    Logger to;
    {
      OrtEnv& env = environment();
      const std::scoped_lock lock(env.mutex);
      if (!env.told.emplace(function).second) return;
      to = env.logger;
    }
    to.write(ORT_LOGGING_LEVEL_INFO, "hint", "frazil", fmt::format("{} has no effect: {}", function, why).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "frazil (onnxruntime): a message is lost: %s\n", error.what());
  }
}

void log_version(std::uint32_t version) noexcept {
  std::fprintf(stderr,
               "frazil (onnxruntime): the program asks for version %u of the interface; this library has 1 to %d. "
               "Build the program with an older header, or install a newer Frazil.\n",
               version, ORT_API_VERSION);
}

int global_threads() {
  OrtEnv& env = environment();
  const std::scoped_lock lock(env.mutex);
  return env.threads;
}

OrtStatus* CreateEnv(OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) {
  return guarded([&] { acquire({nullptr, nullptr, log_severity_level, or_empty(logid)}, nullptr, out); });
}
OrtStatus* CreateEnvWithCustomLogger(OrtLoggingFunction logging_function, void* logger_param,
                                     OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) {
  return guarded([&] { acquire({logging_function, logger_param, log_severity_level, or_empty(logid)}, nullptr, out); });
}
OrtStatus* CreateEnvWithGlobalThreadPools(OrtLoggingLevel log_severity_level, const char* logid,
                                          const OrtThreadingOptions* tp_options, OrtEnv** out) {
  return guarded([&] { acquire({nullptr, nullptr, log_severity_level, or_empty(logid)}, tp_options, out); });
}
OrtStatus* CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLoggingFunction logging_function, void* logger_param,
                                                         OrtLoggingLevel log_severity_level, const char* logid,
                                                         const OrtThreadingOptions* tp_options, OrtEnv** out) {
  return guarded(
      [&] { acquire({logging_function, logger_param, log_severity_level, or_empty(logid)}, tp_options, out); });
}
OrtStatus* CreateEnvWithOptions(const OrtEnvCreationOptions* options, OrtEnv** out) {
  return guarded([&] {
    require(options, "options");
    acquire({options->custom_logging_function, options->custom_logging_param,
             static_cast<OrtLoggingLevel>(options->logging_severity_level), or_empty(options->log_id)},
            options->threading_options, out);
  });
}
OrtStatus* UpdateEnvWithCustomLogLevel(OrtEnv* env, OrtLoggingLevel log_severity_level) {
  return guarded([&] {
    require(env, "env");
    const std::scoped_lock lock(env->mutex);
    env->logger.least = log_severity_level;
  });
}
void ReleaseEnv(OrtEnv* input) {
  if (input == nullptr) return;
  const std::scoped_lock lock(input->mutex);
  if (input->references > 0) --input->references;
}

OrtStatus* CreateThreadingOptions(OrtThreadingOptions** out) {
  return guarded([&] { *out = new OrtThreadingOptions; });
}
OrtStatus* SetGlobalIntraOpNumThreads(OrtThreadingOptions* tp_options, int intra_op_num_threads) {
  return guarded([&] {
    require(tp_options, "tp_options");
    tp_options->intra_op_threads = intra_op_num_threads;
  });
}
void ReleaseThreadingOptions(OrtThreadingOptions* input) { delete input; }

const char* GetBuildInfoString() { return "Frazil " FRAZIL_VERSION ", which implements ONNX Runtime's C API 1.30.0"; }
const OrtTrainingApi* GetTrainingApi(std::uint32_t) { return nullptr; }
OrtExperimentalFnPtr GetExperimentalFunction(const char*) { return nullptr; }

OrtStatus* Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel log_severity_level, const char* message,
                             const char* file_path, int line_number, const char* func_name) {
  return guarded([&] {
    require(logger, "logger");
    const std::string place = fmt::format("{}:{} {}", or_empty(file_path), line_number, or_empty(func_name));
    logger->logger.write(log_severity_level, "custom operator", place.c_str(), message);
  });
}
OrtStatus* Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) {
  return guarded([&] { *out = logger->logger.least; });
}

}  // namespace frazil::ort
