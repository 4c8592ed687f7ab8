#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/notice.h"

namespace frazil::server {

/// The settings that select the lines of the log. They may change while the server runs. Thread-safe.
class LogSettings {
 public:
  using Value = std::variant<bool, std::uint64_t, std::string>;
  using List = std::vector<std::pair<std::string, Value>>;

  bool takes(Notice::Level level) const;
  /// Returns true if the log has a line for each request.
  bool has_requests() const { return verbose_.load(std::memory_order_relaxed) > 0; }
  /// Sets the level by name: each of error, warning, info and verbose includes those before it. Returns false for
  /// another name.
  bool set_level(std::string_view name);

  /// Returns the settings by Triton's names.
  List list() const;
  /// Changes settings by Triton's names; either all or none. Throws Refusal (bad_request) for an unknown name, a value
  /// of another type, and a setting that can only be read.
  void change(const List& settings);

 private:
  struct Switch;
  static const std::vector<Switch>& switches();
  void check(const std::string& name, const Value& value) const;

  std::atomic<bool> error_ = true, warning_ = true, info_ = true;
  std::atomic<std::uint64_t> verbose_ = 0;
};

}  // namespace frazil::server
