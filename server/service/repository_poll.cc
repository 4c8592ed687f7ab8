#include "server/service/repository_poll.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <frazil/error.h>
#include <sys/stat.h>

namespace frazil::server {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;  // of a model's folder; symbolic links may form a cycle
constexpr std::chrono::duration<double> kSecondLook{1};

/// Appends the properties of a file that change when it is written or replaced.
void append_file(std::string& to, const fs::path& file) {
  struct stat about{};
  to += file.native();
  if (::stat(file.c_str(), &about) == 0) {
    for (const std::int64_t number :
         {static_cast<std::int64_t>(about.st_ino), static_cast<std::int64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec), static_cast<std::int64_t>(about.st_mtim.tv_nsec)}) {
      (to += ' ') += std::to_string(number);
    }
  }
  to += '\n';
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

void append_folder(std::string& to, const fs::path& folder, int depth) {
  for (const fs::path& entry : sorted_entries(folder)) {
    std::error_code none;
    if (!fs::is_directory(entry, none))
      append_file(to, entry);
    else if (depth < kMaxDepth)
      append_folder(to, entry, depth + 1);
  }
}

FolderState read_state(const fs::path& folder) {
  FolderState state;
  std::string shared;  // files that any model or pipeline beside them may refer to, such as external data and code
  std::set<std::string> files;
  for (const fs::path& entry : sorted_entries(folder)) {
    const std::string name = entry.filename(), stem = entry.stem(), ending = entry.extension();
    if (name.starts_with('.')) continue;
    if (fs::is_directory(entry)) {
      append_folder(state.models[name], entry, 0);
    } else if (ending == ".onnx" || ending == ".frzc") {
      append_file(state.models[stem], entry);
      files.insert(stem);
    } else {
      append_file(ending == ".yaml" ? state.pipelines[stem] : shared, entry);
    }
  }
  for (const std::string& name : files) state.models[name] += shared;
  for (auto& [name, state_of_pipeline] : state.pipelines) state_of_pipeline += shared;
  return state;
}

}  // namespace

FolderState state_of_folder(const std::string& folder) try {
  return read_state(folder);
} catch (const fs::filesystem_error& error) {
  throw api::Error(api::Code::bad_input, folder + ": " + error.code().message());
}

RepositoryPoll::RepositoryPoll(Options options, FolderState applied)
    : options_(std::move(options)),
      applied_(std::move(applied)),
      seen_(applied_),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void RepositoryPoll::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto wait = look() ? options_.interval : std::min(options_.interval, kSecondLook);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, wait, [] { return false; });
  }
}

/// Returns false if the files have changed since the last look, so that another look follows soon.
bool RepositoryPoll::look() {
  try {
    FolderState now = state_of_folder(options_.folder);
    problem_.clear();
    if (now != seen_) return seen_ = std::move(now), false;
    if (now != applied_) apply(now);
  } catch (const std::exception& error) {
    if (std::exchange(problem_, error.what()) != problem_) {
      report_error(options_.notify, "poll", problem_ + "; what is served does not change");
    }
  }
  return true;
}

/// Loads models before the pipelines that use them, and unloads in the opposite order.
void RepositoryPoll::apply(const FolderState& next) {
  bool any = load_changed(next, &FolderState::models);
  any |= load_changed(next, &FolderState::pipelines);
  any |= unload_removed(next, &FolderState::pipelines);
  any |= unload_removed(next, &FolderState::models);
  if (any) failed_.clear();
}

bool RepositoryPoll::load_changed(const FolderState& next, Part part) {
  bool any = false;
  for (const auto& [name, files] : next.*part) {
    const auto before = (applied_.*part).find(name);
    if (before != (applied_.*part).end() && before->second == files) continue;
    if (!try_change(name, files, options_.load)) continue;
    (applied_.*part)[name] = files;
    any = true;
  }
  return any;
}

bool RepositoryPoll::unload_removed(const FolderState& next, Part part) {
  return std::erase_if(applied_.*part, [&](const auto& entry) {
           const std::string& name = entry.first;
           const bool stays = next.models.contains(name) || next.pipelines.contains(name);
           return !(next.*part).contains(name) && (stays || try_change(name, "", options_.unload));
         }) > 0;
}

bool RepositoryPoll::try_change(const std::string& name, const std::string& wanted,
                                const std::function<void(const std::string&)>& f) try {
  if (const auto at = failed_.find(name); at != failed_.end() && at->second == wanted) return false;
  f(name);
  ++applied_count_;
  return true;
} catch (const std::exception&) {
  failed_[name] = wanted;
  ++failed_count_;
  return false;
}

}  // namespace frazil::server
