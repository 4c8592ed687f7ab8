#pragma once

#include "exec/session.h"
#include "ir/opaque.h"

namespace frazil {

/// An Opaque operator's run on a session's memory: results go into slots, nothing is allocated once buffers have grown.
class SessionCall : public OpaqueCall {
 public:
  SessionCall(Session& session, const Step& step);

  bool wants(std::size_t i) const override { return i < step_.out.size() && step_.out[i] != kNone; }
  TensorView in(std::size_t i) const override;
  Datum datum(std::size_t i) const override;
  /// The fault of what could not be given to the operator.
  const Status& status() const { return status_; }
  Elem out_elem(std::size_t i) const override { return session_.plan_.slots[step_.out[i]].elem; }
  Result<std::byte*> out(std::size_t i, std::span<const std::int64_t> sizes) override;
  Status put(std::size_t i, Datum value) override;
  Result<std::byte*> scratch(std::size_t bytes) override;

 protected:
  bool given(std::size_t i) const override { return step_.in[i] != kNone; }

 private:
  void tell_extents(std::size_t i, const Datum& value);

  Session& session_;
  const Step& step_;
  mutable Status status_;
};

}  // namespace frazil
