#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <frazil/array.h>

#include "tool/spec.h"

namespace frazil::tool {

/// Passes outputs of one request to inputs of the next (--carry).
class Carry {
 public:
  Carry() = default;
  /// Parses "OUTPUT=INPUT" texts. Each input may appear only once.
  static Carry make(const ValueSource& source, const std::vector<std::string>& pairs);

  /// Stores the taken values in the inputs. Has no effect before the first take().
  void put(std::vector<Array>& inputs) const;
  void take(std::span<const Array> outputs);
  /// Discards the taken values.
  void reset() { held_.clear(); }
  bool empty() const { return pairs_.empty(); }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  // output, input
  std::vector<Array> held_;                                 // per pair
};

}  // namespace frazil::tool
