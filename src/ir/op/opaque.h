#pragma once

#include <memory>
#include <span>

#include "base/thread/event.h"
#include "base/value/elem.h"
#include "base/value/error.h"
#include "tensor/datum.h"

namespace frazil {

/// A contiguous tensor argument on raw memory.
struct TensorView {
  Elem elem = Elem::f32;
  std::span<const std::int64_t> sizes;
  const std::byte* data = nullptr;

  std::int64_t count() const { return element_count(sizes); }
  std::size_t rank() const { return sizes.size(); }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), static_cast<std::size_t>(count())};
  }
  /// Returns element i of an i32 or i64 tensor.
  std::int64_t integer(std::int64_t i) const {
    return elem == Elem::i32 ? reinterpret_cast<const std::int32_t*>(data)[i]
                             : reinterpret_cast<const std::int64_t*>(data)[i];
  }
};

/// One run of an Opaque operator, with the same interface in every executor. The executor owns the memory: a kernel
/// requests each output once and may then write it. Inputs are unchanged during the call. Error texts omit the node,
/// which the executor adds.
class OpaqueCall {
 public:
  virtual ~OpaqueCall() = default;

  std::size_t input_count() const { return inputs_; }
  std::size_t output_count() const { return outputs_; }
  bool has(std::size_t i) const { return i < inputs_ && given(i); }
  virtual bool wants(std::size_t i) const = 0;
  /// Returns tensor input i, contiguous. Requires has(i) and that it is a tensor.
  virtual TensorView in(std::size_t i) const = 0;
  /// Returns any input i as a value (sequence, optional, map, or tensor).
  virtual Datum datum(std::size_t i) const = 0;
  /// Returns the inferred element type of output i.
  virtual Elem out_elem(std::size_t i) const = 0;
  /// Returns memory for tensor output i with the given extents. It is uninitialised; strings are empty.
  virtual Result<std::byte*> out(std::size_t i, std::span<const std::int64_t> sizes) = 0;
  /// Returns true if put() may set output i to a tensor, whose memory is then shared: its rank is unknown.
  virtual bool shares(std::size_t i) const = 0;
  /// Sets output i to a value that is not a plain tensor, or to a tensor that it shares.
  virtual Status put(std::size_t i, Datum value) = 0;
  /// Returns uninitialised scratch memory for this call, aligned to 64 bytes. Each call invalidates the previous
  /// memory.
  virtual Result<std::byte*> scratch(std::size_t bytes) = 0;
  /// Waits for an event that another thread fires. Returns true once it has fired. Returns false if the run leaves its
  /// thread meanwhile: the operator then returns immediately, having asked for no output, and is called again after the
  /// event with waited() as `event`. Returns the fault of a run that must stop.
  virtual Result<bool> wait(const std::shared_ptr<Event>& event) { return block(*event); }
  /// Returns the event of wait() in the call after it; null in the first call.
  virtual std::shared_ptr<Event> waited() { return nullptr; }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attrs_);
  }

 protected:
  virtual bool given(std::size_t i) const = 0;
  /// Blocks this thread until the event has fired or the run must stop.
  static Result<bool> block(Event& event);
  std::size_t inputs_ = 0, outputs_ = 0;
  const void* attrs_ = nullptr;
};

}  // namespace frazil
