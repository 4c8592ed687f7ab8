#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <frazil/session.h>

#include "compat/onnxruntime/environment.h"
#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// Settings of a session, which copies them. Copies share the flag that cancels loads.
struct OrtSessionOptions {
  std::map<std::string, std::string, std::less<>> config;
  int intra_op_threads = 0;  ///< threads of one run; 0: one per core
  int inter_op_threads = 0;
  ExecutionMode execution_mode = ORT_SEQUENTIAL;
  GraphOptimizationLevel optimization = ORT_ENABLE_ALL;
  bool mem_pattern = true;
  bool cpu_arena = true;
  bool per_session_threads = true;
  std::string log_id;
  std::optional<OrtLoggingLevel> log_severity;  ///< unset: that of the environment
  int log_verbosity = 0;
  OrtLoggingFunction log_function = nullptr;  ///< null: that of the environment
  void* log_parameter = nullptr;
  std::optional<std::string> profile_prefix;
  std::string optimized_path;
  std::map<std::string, std::int64_t> extents, denoted_extents;
  std::map<std::string, const OrtValue*> initializers;  ///< by name; the values outlive the sessions
  std::map<std::string, std::span<const std::byte>> files;
  std::vector<const OrtCustomOpDomain*> domains;
  std::shared_ptr<std::stop_source> cancelled = std::make_shared<std::stop_source>();
};

/// Settings of runs. The flag may be set by any thread.
struct OrtRunOptions {
  int log_severity = -1;
  int log_verbosity = 0;
  std::string tag;
  std::map<std::string, std::string, std::less<>> config;
  std::optional<std::string> profile_prefix;
  std::atomic<bool> terminated = false;

  /// The sessions that run with these options at present.
  mutable std::mutex mutex;
  mutable std::set<frazil::api::Session*> running;
};

namespace frazil::ort {

/// Returns the logger of a session with these options.
Logger logger_of(const OrtSessionOptions& options);

}  // namespace frazil::ort
