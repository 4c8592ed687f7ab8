#pragma once

#include <memory>
#include <string>

#include "server/state_keeper.h"

namespace frazil::server {

/// Keeps states and their pages as files of a folder, which one process uses at a time. A file is there as a whole or
/// not at all when the process is killed; it may be lost or damaged, and is then refused, when the machine loses its
/// power. A page goes with the last state that has it, at the latest when the next process begins.
class StateFolder : public StateKeeper {
 public:
  /// Makes the folder, for its owner only, where there is none. Throws api::Error (bad_input), naming it, when it
  /// cannot be used, others may write to it, or another process uses it.
  explicit StateFolder(const std::string& folder);
  ~StateFolder() override;

  bool shared() const override { return false; }
  std::optional<std::string> load(const std::string& key) override;
  std::string head(const std::string& key, std::size_t count) override;
  void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
            std::chrono::microseconds idle) override;
  std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) override;
  void loaded(std::span<const PagePtr> pages) override;
  void tidy() override;
  void erase(const std::string& key) override;
  /// Removes what has expired, and what a killed process has not finished.
  std::vector<Found> find_left() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
