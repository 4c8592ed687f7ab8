#include "exec/call.h"

namespace frazil {

SessionCall::SessionCall(Session& session, const Step& step) : session_(session), step_(step) {
  inputs_ = step.in.size();
  outputs_ = step.out.size();
  attrs_ = session.plan_.graph->node(step.node).attrs.get();
  std::size_t rank = 0;
  for (std::uint32_t s : step.in) rank += s == kNone ? 0 : session.plan_.slots[s].dims.size();
  if (session.shape_memory_.size() < rank) session.shape_memory_.resize(rank);
}

TensorView SessionCall::in(std::size_t i) const {
  const Slot& slot = session_.plan_.slots[step_.in[i]];
  if (slot.object) {
    const Tensor& t = session_.objects_[slot.storage].tensor();
    return {t.elem(), t.sizes(), t.data()};
  }
  std::size_t at = 0;
  for (std::size_t k = 0; k < i; ++k) at += step_.in[k] == kNone ? 0 : session_.plan_.slots[step_.in[k]].dims.size();
  std::int64_t* sizes = session_.shape_memory_.data() + at;
  for (std::size_t d = 0; d < slot.dims.size(); ++d) sizes[d] = session_.regs_[slot.dims[d]];
  return {slot.elem, {sizes, slot.dims.size()}, session_.pointer(step_.in[i])};
}

/// Whoever asks for a value may keep it in a sequence.
Datum SessionCall::datum(std::size_t i) const {
  auto value = session_.owned_datum_of(step_.in[i]);
  if (value) return std::move(*value);
  if (status_) status_ = std::unexpected(std::move(value).error());
  return Datum();
}

Result<std::byte*> SessionCall::out(std::size_t i, std::span<const std::int64_t> sizes) {
  if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
  const Slot& slot = session_.plan_.slots[step_.out[i]];
  if (!slot.object) return session_.place_output(step_, i, sizes);
  FRAZIL_TRY(Tensor t, Tensor::make(slot.elem, Sizes(sizes.begin(), sizes.end())));
  Datum& place = session_.objects_[slot.storage];
  place = Datum(std::move(t));
  tell_extents(i, place);
  return place.mutable_tensor().mutable_data();
}

Status SessionCall::put(std::size_t i, Datum value) {
  if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
  tell_extents(i, value);
  return session_.put_output(step_, i, std::move(value));
}

/// Symbols that the step defines, where the session's memory does not: see Session::place_output.
void SessionCall::tell_extents(std::size_t i, const Datum& value) {
  if (!value.is_tensor()) return;
  for (const auto& [symbol, place] : step_.pairs) {
    if (place >> 8 == i) session_.regs_[symbol] = value.tensor().sizes()[place & 0xff];
  }
}

Result<std::byte*> SessionCall::scratch(std::size_t bytes) {
  FRAZIL_CHECK(session_.grow_scratch(bytes));
  return session_.scratch_.data();
}

}  // namespace frazil
