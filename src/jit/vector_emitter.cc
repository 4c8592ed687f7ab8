#include "jit/vector_emitter.h"

namespace frazil::jit {

llvm::Value* compute(Lanes& lanes, llvm::IRBuilder<>& b, const TileSchedule& schedule, const FusedIns& ins,
                     llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  const ScalarIns& s = ins.scalar;
  if (s.op == ScalarOp::cast) return lanes.converted(b, schedule.elem(s.a), s.type, x);
  const Elem elem = schedule.elem(s.op == ScalarOp::select ? s.b : s.a);
  if (s.op == ScalarOp::div && elem == Elem::f32 && schedule.is_single(s.b) && x->getType()->isVectorTy()) {
    return lanes.quotient(b, x, y);
  }
  switch (arity(s.op)) {
    case 1: return lanes.apply(b, s.op, elem, s.type, {x});
    case 2: return lanes.apply(b, s.op, elem, s.type, {x, y});
    default: return lanes.apply(b, s.op, elem, s.type, {x, y, z});
  }
}

VectorEmitter::VectorEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const TileSchedule& schedule, RowMemory& memory,
                             std::uint32_t stage, const std::vector<llvm::Value*>& scalars)
    : lanes_(lanes),
      b_(builder),
      schedule_(schedule),
      memory_(memory),
      stage_(stage),
      splat_(schedule.size(), nullptr) {
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
    if (schedule_.is_single(i) && scalars[i] != nullptr) splat_[i] = b_.CreateVectorSplat(lanes_.width(), scalars[i]);
  }
}

void VectorEmitter::write(llvm::Value* first, unsigned count, llvm::Value* mask) {
  const Span span{first, count, mask};
  vectors_.assign(schedule_.size(), {});
  groups_.assign(schedule_.size(), {});
  load_operands(span);
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
    if (!computes(i) || schedule_.is_load(i)) continue;
    schedule_.quantises(i) ? quantise(i, count) : compute_vectors(i, count);
  }
  for (std::uint32_t s = 0; s < schedule_.code().stores.size(); ++s) {
    if (schedule_.stores_in(s, stage_)) store(s, span);
  }
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
    if (!computes(i) || !schedule_.is_kept(i)) continue;
    for (unsigned u = 0; u < count; ++u) memory_.keep(i, at(span, u), value(i, u), mask);
  }
}

void VectorEmitter::load_operands(const Span& span) {
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
    if (!computes(i)) continue;
    for_operands(schedule_.code().body[i], [&](std::uint32_t a) { need(a, span); });
    if (schedule_.is_kept(i) && schedule_.is_load(i)) need(i, span);
  }
  for (std::uint32_t s = 0; s < schedule_.code().stores.size(); ++s) {
    const std::uint32_t v = schedule_.code().stores[s].value;
    if (!schedule_.stores_in(s, stage_)) continue;
    if (schedule_.is_single(v) || schedule_.is_load(v) || schedule_.is_row(v)) need(v, span);
  }
}

/// Makes the vectors of a value that this loop does not compute.
void VectorEmitter::need(std::uint32_t i, const Span& span) {
  if (!vectors_[i].empty()) return;
  if (schedule_.is_single(i)) {
    vectors_[i].assign(span.count, splat_[i]);
  } else if (schedule_.is_load(i) || !schedule_.in_loop(i, stage_)) {
    for (unsigned u = 0; u < span.count; ++u) {
      llvm::Value* const from = at(span, u);
      vectors_[i].push_back(schedule_.is_load(i) ? memory_.load(schedule_.ins(i).scalar.operand, from, span.mask)
                                                 : memory_.load_row(i, from, span.mask));
    }
  }
}

void VectorEmitter::compute_vectors(std::uint32_t i, unsigned count) {
  const ScalarIns& s = schedule_.ins(i).scalar;
  const bool whole = s.op == ScalarOp::cast && s.type == Elem::f32 && is_whole(s.a);
  for (unsigned u = 0; u < count; ++u) {
    const auto operand = [&](std::uint32_t a, int position) { return position < arity(s.op) ? value(a, u) : nullptr; };
    vectors_[i].push_back(
        whole ? vectors_[s.a][u]
              : compute(lanes_, b_, schedule_, schedule_.ins(i), operand(s.a, 0), operand(s.b, 1), operand(s.c, 2)));
  }
}

/// Computes instruction i: as whole numbers of f32 if it is widened, else as bytes.
void VectorEmitter::quantise(std::uint32_t i, unsigned count) {
  const ScalarIns& s = schedule_.ins(i).scalar;
  const bool bytes = !schedule_.is_widened(i);
  for (unsigned u = 0; u < count;) {
    const unsigned n = count - u >= Lanes::kGroup ? Lanes::kGroup : 1;
    Vectors x;
    for (unsigned k = 0; k < n; ++k) x.push_back(value(s.a, u + k));
    llvm::Value* const made = lanes_.quantised(b_, s.type, bytes, x, value(s.b, u), value(s.c, u));
    for (unsigned k = 0; k < n; ++k) {
      llvm::SmallVector<int, 16> lanes;
      for (unsigned lane = 0; lane < lanes_.width(); ++lane)
        lanes.push_back(static_cast<int>(k * lanes_.width() + lane));
      vectors_[i].push_back(bytes ? b_.CreateShuffleVector(made, lanes) : b_.CreateExtractValue(made, k));
    }
    if (bytes && n == Lanes::kGroup) groups_[i].push_back(made);
    u += n;
  }
}

void VectorEmitter::store(std::uint32_t store, const Span& span) {
  const std::uint32_t k = schedule_.result(store), v = schedule_.code().stores[store].value;
  const Elem elem = schedule_.elem(v);
  const bool grouped = schedule_.step(k) == code::InnerStep::dense && elem == schedule_.stored_elem(k);
  for (unsigned u = 0; u < span.count;) {
    const bool group = grouped && u / Lanes::kGroup < groups_[v].size();
    llvm::Value* const x = group ? groups_[v][u / Lanes::kGroup] : value(v, u);
    memory_.store(k, at(span, u), elem, x, span.mask);
    u += group ? Lanes::kGroup : 1;
  }
}

/// Returns true if instruction i was quantised in the current iteration, as f32.
bool VectorEmitter::is_whole(std::uint32_t i) const {
  return schedule_.quantises(i) && vectors_[i][0]->getType() == lanes_.vector(Elem::f32);
}

/// Returns vector u of instruction i, of its type.
llvm::Value* VectorEmitter::value(std::uint32_t i, unsigned u) {
  llvm::Value* const x = vectors_[i][u];
  if (!is_whole(i)) return x;
  llvm::Type* const type = lanes_.vector(schedule_.elem(i));
  return schedule_.elem(i) == Elem::u8 ? b_.CreateFPToUI(x, type) : b_.CreateFPToSI(x, type);
}

/// Returns the number of the first element of vector u.
llvm::Value* VectorEmitter::at(const Span& span, unsigned u) {
  return b_.CreateAdd(span.first, b_.getInt64(static_cast<std::uint64_t>(u) * lanes_.width()));
}

}  // namespace frazil::jit
