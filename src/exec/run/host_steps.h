#pragma once

#include "exec/memory/memory.h"
#include "ir/op/opaque.h"

namespace frazil::exec {

/// Runs launch steps that are not kernels: operators' own run functions, nodes on the reference executor, and packing
/// of values that may have padding.
class HostSteps {
 public:
  HostSteps(RunContext& context, Values& values, Memory& memory)
      : context_(context), values_(values), memory_(memory) {}
  /// Returns false if the step waits for RunContext::event, after which it must run again.
  Result<bool> run(const Step& step, const step::Launch& launch);

 private:
  friend class HostCall;
  Result<bool> opaque(const Step& step, const step::Launch& launch);
  Status reference(const Step& step, const step::Launch& launch);
  Status pack(const step::Launch& launch);
  /// Returns memory for a result of known extents. First writes the registers that the step itself defines.
  Result<std::byte*> place_output(const step::Launch& launch, std::size_t k, std::span<const std::int64_t> sizes);
  void put_output(const step::Launch& launch, std::size_t k, Datum value);

  RunContext& context_;
  Values& values_;
  Memory& memory_;
  std::vector<std::int64_t> sizes_;  // extents of the current operands, kept so that steps do not allocate
};

/// The call of an Opaque operator on a session's memory. Results go into slots; nothing is allocated once buffers have
/// grown.
class HostCall : public OpaqueCall {
 public:
  HostCall(HostSteps& host, const Node& node, const step::Launch& launch);

  bool wants(std::size_t i) const override { return i < launch_.out.size() && launch_.out[i]; }
  TensorView in(std::size_t i) const override;
  Datum datum(std::size_t i) const override;
  /// Returns the fault of an input that could not be passed to the operator.
  const Status& status() const { return status_; }
  Elem out_elem(std::size_t i) const override { return host_.values_.plan.slot(launch_.out[i]).elem; }
  Result<std::byte*> out(std::size_t i, std::span<const std::int64_t> sizes) override;
  bool shares(std::size_t i) const override;
  Status put(std::size_t i, Datum value) override;
  Result<std::byte*> scratch(std::size_t bytes) override { return host_.memory_.scratch(bytes); }
  Result<bool> wait(const std::shared_ptr<Event>& event) override;
  std::shared_ptr<Event> waited() override { return std::exchange(host_.context_.event, nullptr); }
  bool waits() const { return waits_; }

 protected:
  bool given(std::size_t i) const override { return static_cast<bool>(launch_.in[i]); }

 private:
  HostSteps& host_;
  const Node& node_;
  const step::Launch& launch_;
  mutable Status status_;
  bool waits_ = false;
};

}  // namespace frazil::exec
