#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace frazil::server {

/// Ends the calls that other objects make to the owner of this member. Thread-safe.
template <class T>
class Tether {
 public:
  explicit Tether(T& owner) : slot_(std::make_shared<Slot>(owner)) {}
  /// Waits for a call in progress.
  ~Tether() {
    const std::scoped_lock lock(slot_->mutex);
    slot_->owner = nullptr;
  }
  Tether(const Tether&) = delete;
  Tether& operator=(const Tether&) = delete;

  /// Returns a function that calls `(owner.*method)(arguments...)`, one call at a time, and does nothing after the
  /// owner's end.
  template <class... A>
  auto caller(void (T::*method)(A...)) const {
    return [slot = slot_, method](A... arguments) {
      const std::scoped_lock lock(slot->mutex);
      if (slot->owner != nullptr) (slot->owner->*method)(std::forward<A>(arguments)...);
    };
  }

 private:
  struct Slot {
    explicit Slot(T& o) : owner(&o) {}
    std::mutex mutex;  // guards the member below
    T* owner;
  };
  std::shared_ptr<Slot> slot_;
};

}  // namespace frazil::server
