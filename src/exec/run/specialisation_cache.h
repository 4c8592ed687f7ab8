#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread/mutex.h"
#include "base/value/error.h"
#include "ir/graph/assumption.h"

namespace frazil::exec {

class Executable;

/// The executables of one graph whose types follow other choices than the graph's own. Each is made once. Thread-safe.
class SpecialisationCache {
 public:
  static constexpr std::size_t kMaxEntries = 64;

  using Make = std::function<Result<std::shared_ptr<Executable>>(const Choices&)>;
  /// Returns the executable for `choices`, made by `make` if it is missing. Once there are kMaxEntries, other choices
  /// get the one that assumes nothing. Other callers wait while `make` runs.
  Result<std::shared_ptr<Executable>> get(const Choices& choices, const Make& make);
  /// Returns the choices for which there are executables.
  std::vector<Choices> choices() const;

 private:
  mutable Mutex mutex_;
  std::map<Choices, std::shared_ptr<Executable>> made_;
};

}  // namespace frazil::exec
