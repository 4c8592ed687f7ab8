#pragma once

#include <memory>
#include <mutex>

#include "base/thread/mutex.h"
#include "base/value/error.h"

namespace frazil::ops {

/// A cache of data that an opaque operator derives from its attributes. It is a member of the attributes' struct. The
/// data are computed on first use and shared by all runs. A copy of the struct starts without the data, because its
/// fields may change. Thread-safe.
template <class T>
class Memo {
 public:
  Memo() = default;
  Memo(const Memo&) {}
  Memo& operator=(const Memo&) = delete;

  /// Returns the data. make() returns a Result<T>; a fault is not cached.
  template <class F>
  Result<std::shared_ptr<const T>> get(F make) const {
    const std::scoped_lock lock(mutex_);
    if (!made_) {
      FRAZIL_TRY(T made, make());
      made_ = std::make_shared<const T>(std::move(made));
    }
    return made_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::shared_ptr<const T> made_;
};

}  // namespace frazil::ops
