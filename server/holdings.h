#pragma once

#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace frazil::server {

/// What the steps of a pipeline hold beyond a request: processes, records in memory, counts. A pipeline that is made
/// anew takes over what is declared as it was in the one before.
class Holdings {
 public:
  Holdings() = default;
  /// `before`: of the pipeline that is replaced; may be null. Needed no longer than this is written to.
  explicit Holdings(const Holdings* before) : before_(before) {}

  /// What is held under a text that has all of its declaration; where nothing is, what `make` gives, a shared_ptr<T>.
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
  /// No more is taken over.
  void close() { before_ = nullptr; }

 private:
  const Holdings* before_ = nullptr;
  std::map<std::string, std::shared_ptr<void>> held_;
};

}  // namespace frazil::server
