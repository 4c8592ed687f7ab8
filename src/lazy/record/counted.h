#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace frazil::lazy {

/// An object that counts its owners.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns true for the last owner, which must delete the object.
  bool release() const { return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  mutable std::atomic<std::uint32_t> owners_ = 0;
};

/// A reference that owns an object together with others. Thread-safe like std::shared_ptr, at half its size.
template <class T>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Owner(const Owner& other) : Owner(other.object_) {}
  Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owner& operator=(Owner other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owner() {
    if (object_ != nullptr && object_->release()) delete object_;
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace frazil::lazy
