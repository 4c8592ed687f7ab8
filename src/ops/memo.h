#pragma once

#include <memory>
#include <mutex>

#include "base/error.h"

namespace frazil::ops {

/// What an opaque operator derives from its attributes: a member of their struct, made at first use and shared by all
/// runs. A copy of the struct, whose fields may then change, begins without it.
template <class T>
class Memo {
 public:
  Memo() = default;
  Memo(const Memo&) {}
  Memo& operator=(const Memo&) = delete;

  /// make() gives a Result<T>; a fault is not kept.
  template <class F>
  Result<std::shared_ptr<const T>> get(F make) const {
    const std::lock_guard lock(mutex_);
    if (!made_) {
      FRAZIL_TRY(T made, make());
      made_ = std::make_shared<const T>(std::move(made));
    }
    return made_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const T> made_;
};

}  // namespace frazil::ops
