#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/memory/memory.h"

namespace frazil::exec {

/// Results that append to an input: requests carry them, and each continues the memory of the one before where it can.
class CarriedResults {
 public:
  CarriedResults(RunContext& context, Values& values, Memory& memory, const std::vector<Tensor>& inputs);

  /// The append whose older value is input `i`, and the one whose result is output `k`, of Plan::appends; kNone.
  std::uint32_t of_input(std::size_t i) const { return of_input_[i]; }
  std::uint32_t of_output(std::size_t k) const { return of_output_[k]; }
  /// Makes `in` the tensor of an append's result. Where its input is a result of a run before, has a capacity, and no
  /// other result has taken it, it is the same memory, and the input goes on to be what it was.
  Status make(std::uint32_t index, Datum& in);
  /// At the end of a run. After a failure what it took may be taken again.
  void settle(bool failed);

 private:
  struct Handed {
    std::weak_ptr<const void> last{};  ///< the memory that the run before gave out
    Buffer claimed{};                  ///< where this run writes behind what is there: these bytes of each block
    std::size_t from = 0, to = 0;
  };
  bool claim(Handed& handed, const Tensor& old, const AxisRows& rows, std::size_t axis);

  RunContext& context_;
  Values& values_;
  Memory& memory_;
  const std::vector<Tensor>& inputs_;
  std::vector<std::uint32_t> of_input_, of_output_;
  std::vector<Handed> handed_;  // per append
};

}  // namespace frazil::exec
