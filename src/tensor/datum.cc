#include "tensor/datum.h"

namespace frazil {

Result<Datum> make_sequence(std::vector<Datum> items) {
  constexpr std::size_t kExtents = 64;  // what a tensor's extents and strides take, about
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(items.size() * (sizeof(Datum) + kExtents)));
  return Datum(std::make_shared<const Sequence>(Sequence{std::move(items), std::move(charge)}));
}

}  // namespace frazil
