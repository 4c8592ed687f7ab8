#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/memory/memory.h"
#include "exec/run/carried.h"

namespace frazil::exec {

/// What a request brings and takes away: inputs are checked against their types and their extents become registers;
/// results are made and handed out.
class Request {
 public:
  Request(RunContext& context, Values& values, Memory& memory);

  /// Inputs in graph order; an empty Datum takes the input's default.
  Status bind_inputs(std::span<const Datum> inputs);
  /// Extents declared as expressions of other extents (2*N beside N); once these are evaluated.
  Status check_input_expressions() const;
  /// Results whose extents are known are written in place.
  Status make_outputs(std::vector<Datum>& outputs);
  /// The others are copied out.
  Status take_outputs(std::vector<Datum>& outputs);
  void settle(bool failed) { carried_.settle(failed); }
  /// Forgets the inputs and results of the last request.
  void drop();

 private:
  Status bind_input(std::size_t i, const Datum& value);
  Status bind_object(std::size_t i, const Datum& value);
  Status bind_dims(std::size_t i, const Tensor& tensor);
  Status bind_symbol(std::size_t i, std::size_t axis, const Tensor& tensor);
  Status input_error(std::size_t i, std::string what) const;
  /// True for an output whose tensor is its storage.
  bool in_place(std::size_t k) const;

  Values& values_;
  const Plan& plan_;
  std::vector<Tensor> inputs_;       // per input: keeps the caller's (or a packed) tensor
  std::vector<std::uint8_t> bound_;  // per symbol: by an input of this request
  CarriedResults carried_;
};

}  // namespace frazil::exec
