#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "server/core/notice.h"

namespace frazil::server {

/// The files of a folder's models and pipelines: a fingerprint of names, sizes and times by model or pipeline.
struct FolderState {
  std::map<std::string, std::string> models, pipelines;

  bool operator==(const FolderState&) const = default;
};

/// Reads the state of a folder in the layout of Loader. Throws api::Error (bad_input) if it cannot be read.
FolderState state_of_folder(const std::string& folder);

/// Follows the changes of a folder's models on its own thread, at an interval. A change is applied once two consecutive
/// looks, at most a second apart, find the same files. A change that fails is tried again after a further change.
class RepositoryPoll {
 public:
  struct Options {
    std::string folder;
    std::chrono::duration<double> interval{15};
    std::function<void(const std::string&)> load, unload;  ///< throw std::exception; report to operators
    NoticeSink notify;                                     ///< receives problems of the folder itself
  };
  /// `applied`: the state of the folder that is served.
  RepositoryPoll(Options options, FolderState applied);
  /// Waits for a change that is being applied.
  ~RepositoryPoll() = default;
  RepositoryPoll(const RepositoryPoll&) = delete;
  RepositoryPoll& operator=(const RepositoryPoll&) = delete;

  /// The numbers of applied and of failed loads and unloads.
  struct Counts {
    std::uint64_t applied, failed;
  };
  Counts counts() const { return {.applied = applied_count_, .failed = failed_count_}; }

 private:
  using Part = std::map<std::string, std::string> FolderState::*;
  void run(const std::stop_token& stop);
  bool look();
  void apply(const FolderState& next);
  bool load_changed(const FolderState& next, Part part);
  bool unload_removed(const FolderState& next, Part part);
  bool try_change(const std::string& name, const std::string& wanted, const std::function<void(const std::string&)>& f);

  const Options options_;
  FolderState applied_, seen_;
  std::map<std::string, std::string> failed_;  // by name: the fingerprint whose change failed; empty: the removal
  std::string problem_;                        // the last problem of the folder
  std::atomic<std::uint64_t> applied_count_ = 0, failed_count_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: uses the other members
};

}  // namespace frazil::server
