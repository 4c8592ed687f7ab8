#pragma once

#include <memory>
#include <string>

#include "server/state/state_keeper.h"

namespace frazil::server {

/// Stores states and their pages as files of a folder, which only one process uses at a time. If the process is killed,
/// each file is complete or missing. After a power failure, files may be missing or damaged; damaged files are refused.
/// A page is removed with the last state that uses it, at the latest when the next process starts.
class StateFolder : public StateKeeper {
 public:
  /// Creates the folder, accessible to its owner only, if it is missing. Throws api::Error (bad_input) that names the
  /// folder if it is unusable, writable by others, or in use by another process.
  explicit StateFolder(const std::string& folder);
  ~StateFolder() override;

  bool shared() const override { return false; }
  std::optional<std::string> load(const std::string& key) override;
  std::string head(const std::string& key, std::size_t count) override;
  void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
            std::chrono::microseconds idle) override;
  std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) override;
  void loaded(std::span<const PagePtr> pages) override;
  void collect_garbage() override;
  void erase(const std::string& key) override;
  /// Also removes expired states and unfinished files of a killed process.
  std::vector<Found> find_stored() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
