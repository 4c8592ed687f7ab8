#pragma once

#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace frazil::server {

/// Resources that the steps of a pipeline keep between requests: processes, cached records, counters. A reloaded
/// pipeline takes over the resources with an unchanged declaration.
class Holdings {
 public:
  Holdings() = default;
  /// `before`: the holdings of the replaced pipeline, or null. It must stay valid until close().
  explicit Holdings(const Holdings* before) : before_(before) {}

  /// Returns the resource for a declaration, which must contain everything it depends on. `make` creates a missing one
  /// as a shared_ptr<T>.
  template <class T, class Make>
  std::shared_ptr<T> get(const std::string& declaration, Make make) {
    const std::string key = std::string(typeid(T).name()).append("\n").append(declaration);
    std::shared_ptr<void> held;
    if (before_ != nullptr) {
      if (const auto at = before_->held_.find(key); at != before_->held_.end()) held = at->second;
    }
    if (held == nullptr) held = make();
    held_[key] = held;
    return std::static_pointer_cast<T>(held);
  }
  /// Stops taking over resources.
  void close() { before_ = nullptr; }

 private:
  const Holdings* before_ = nullptr;
  std::map<std::string, std::shared_ptr<void>> held_;
};

}  // namespace frazil::server
