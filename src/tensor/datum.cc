#include "tensor/datum.h"

namespace frazil {

namespace {
constexpr std::size_t kExtents = 64;  // what a tensor's extents and strides take, about
}  // namespace

Result<Datum> make_sequence(std::vector<Datum> items) {
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(items.size() * (sizeof(Datum) + kExtents)));
  return Datum(std::make_shared<const Sequence>(Sequence{std::move(items), std::move(charge)}));
}

Result<Datum> make_map(std::vector<std::pair<Tensor, Datum>> items) {
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(items.size() * (sizeof(Tensor) + sizeof(Datum) + 2 * kExtents)));
  return Datum(std::make_shared<const MapValue>(MapValue{std::move(items), std::move(charge)}));
}

}  // namespace frazil
