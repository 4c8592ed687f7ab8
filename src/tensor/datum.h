#pragma once

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits/execution_limits.h"
#include "tensor/tensor.h"

namespace frazil {

class Datum;

/// A sequence value. Immutable once it is shared.
struct Sequence {
  std::vector<Datum> items;
  mutable MemoryCharge charge{};  ///< for the items themselves; tensors are charged separately
};
/// A map value. Keys are strings or integers, in insertion order.
struct MapValue {
  std::vector<std::pair<Tensor, Datum>> items;
  mutable MemoryCharge charge{};  ///< for the entries themselves, as in Sequence
};

/// Any run-time value: a tensor, a sequence, a map, or an empty optional.
class Datum {
 public:
  Datum() = default;  ///< an empty optional
  Datum(Tensor t) : v_(std::move(t)) {}
  Datum(std::shared_ptr<const Sequence> s) : v_(std::move(s)) {}
  Datum(std::shared_ptr<const MapValue> m) : v_(std::move(m)) {}

  bool empty() const { return std::holds_alternative<std::monostate>(v_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(v_); }
  bool is_sequence() const { return std::holds_alternative<std::shared_ptr<const Sequence>>(v_); }
  bool is_map() const { return std::holds_alternative<std::shared_ptr<const MapValue>>(v_); }
  const Tensor& tensor() const { return std::get<Tensor>(v_); }
  Tensor& mutable_tensor() { return std::get<Tensor>(v_); }
  const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(v_); }
  const MapValue& map() const { return *std::get<std::shared_ptr<const MapValue>>(v_); }

 private:
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>, std::shared_ptr<const MapValue>> v_;
};

/// Makes a sequence that counts against the current thread's ExecutionLimits. Returns Code::limit if its items would
/// exceed the memory limit.
Result<Datum> make_sequence(std::vector<Datum> items);
/// Destroys items that will not become a sequence. If the run is stopping, many of them are destroyed on another
/// thread.
void free_items(std::vector<Datum> items) noexcept;
/// Same as make_sequence(), for a map.
Result<Datum> make_map(std::vector<std::pair<Tensor, Datum>> items);

}  // namespace frazil
