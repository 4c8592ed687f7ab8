#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/memory/memory.h"

namespace frazil::exec {

/// Results that append to an input. Requests carry such a result to the next run, which continues its memory if
/// possible.
class CarriedResults {
 public:
  CarriedResults(RunContext& context, Values& values, Memory& memory, const std::vector<Tensor>& inputs);

  /// Return the index in Plan::appends of the append whose older value is input `i`, or whose result is output `k`;
  /// kNone if there is none.
  std::uint32_t of_input(std::size_t i) const { return of_input_[i]; }
  std::uint32_t of_output(std::size_t k) const { return of_output_[k]; }
  /// Makes `in` the tensor of an append's result. Reuses the input's memory if it comes from an earlier run, has spare
  /// capacity, and no other result has claimed that. The input keeps its value.
  Status make(std::uint32_t index, Datum& in);
  /// Ends a run. After a failure, the capacity that the run claimed may be claimed again.
  void finish(bool failed);

 private:
  struct HandedOver {
    std::weak_ptr<const void> last{};  ///< the memory that the previous run returned
    Buffer claimed{};  ///< the memory whose capacity this run claims: bytes `from` to `to` of each block
    std::size_t from = 0, to = 0;
  };
  bool claim(HandedOver& handed, const Tensor& old, const AxisRows& rows, std::size_t axis);

  RunContext& context_;
  Values& values_;
  Memory& memory_;
  const std::vector<Tensor>& inputs_;
  std::vector<std::uint32_t> of_input_, of_output_;
  std::vector<HandedOver> handed_;  // per append
};

}  // namespace frazil::exec
