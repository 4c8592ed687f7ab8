#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/memory/memory.h"
#include "exec/run/carried.h"

namespace frazil::exec {

/// The inputs and outputs of a request. Checks inputs against their types, turns their extents into registers, and
/// makes and returns results.
class Request {
 public:
  Request(RunContext& context, Values& values, Memory& memory);

  /// Binds the inputs, in graph order. An empty Datum takes the input's default.
  Status bind_inputs(std::span<const Datum> inputs);
  /// Checks extents that are declared as expressions of other extents (2*N beside N). Called after these were
  /// evaluated.
  Status check_input_expressions() const;
  /// Makes the outputs whose extents are known. Steps write them in place.
  Status make_outputs(std::vector<Datum>& outputs);
  /// Copies the other outputs.
  Status take_outputs(std::vector<Datum>& outputs);
  void finish(bool failed) { carried_.finish(failed); }
  /// Forgets the inputs and results of the last request.
  void drop();

 private:
  Status bind_input(std::size_t i, const Datum& value);
  Status bind_object(std::size_t i, const Datum& value);
  Status bind_dims(std::size_t i, const Tensor& tensor);
  Status bind_symbol(std::size_t i, std::size_t axis, const Tensor& tensor);
  Status input_error(std::size_t i, std::string what) const;
  /// Returns true for an output whose tensor is its own storage.
  bool in_place(std::size_t k) const;

  Values& values_;
  const Plan& plan_;
  std::vector<Tensor> inputs_;       // per input: keeps the caller's or a packed tensor alive
  std::vector<std::uint8_t> bound_;  // per symbol: an input of this request binds it
  CarriedResults carried_;
};

}  // namespace frazil::exec
