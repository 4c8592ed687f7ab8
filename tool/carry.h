#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/datum.h"
#include "tool/spec.h"

namespace frazil::tool {

/// Outputs that become inputs of the next request.
class Carry {
 public:
  Carry() = default;
  /// From "OUTPUT=INPUT" texts; an input may be carried to only once.
  static Result<Carry> make(const ValueSource& source, const std::vector<std::string>& pairs);

  /// Puts what was taken into the inputs; before the first take() nothing.
  void put(std::vector<Datum>& inputs) const;
  void take(std::span<const Datum> outputs);
  /// Back to the start.
  void reset() { held_.clear(); }
  bool empty() const { return pairs_.empty(); }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  // output, input
  std::vector<Datum> held_;                                 // per pair
};

}  // namespace frazil::tool
