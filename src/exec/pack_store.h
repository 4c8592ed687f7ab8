#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/buffer.h"

namespace frazil {

/// Packed forms of weights, made once and shared by all sessions. Thread-safe.
class PackStore {
 public:
  /// The packed form of `weight` in `format`; `fill` writes it the first time.
  /// The weight's own pages are given back once it is packed, where they can be read again from its file.
  Result<const std::byte*> get(std::span<const std::byte> weight, std::string_view format, std::size_t bytes,
                               const std::function<void(std::byte*)>& fill);

  /// Of all packed forms.
  std::size_t bytes() const;

 private:
  Result<std::byte*> take(std::size_t bytes);

  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::map<std::pair<const void*, std::string>, const std::byte*> packed_;
  std::vector<Buffer> owned_;
  Buffer chunk_;  ///< small forms share one, so that its pages can be huge
  std::size_t used_ = 0;
};

}  // namespace frazil
