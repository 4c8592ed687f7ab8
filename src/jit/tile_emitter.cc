#include "jit/tile_emitter.h"

#include <algorithm>
#include <string>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

namespace frazil::jit {
namespace {

/// Vectors of an iteration: enough to overlap their latencies, few enough for the registers.
constexpr unsigned kUnroll = 4;
/// Up to so many vectors of a row of known length are written without a loop.
constexpr std::int64_t kWrittenOut = 8;

}  // namespace

TileEmitter::TileEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::TileCode& code,
                         const code::LoopForm& form)
    : lanes_(lanes),
      b_(builder),
      code_(code),
      form_(form),
      stage_(code.body.size(), 0),
      single_(code::single_values(code, form)),
      kept_(code.body.size(), false) {
  number_stages();
  mark_used();
}

void TileEmitter::number_stages() {
  std::uint32_t stage = 0;
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    stage_[i] = stage;
    if (ins(i).row != RowOp::none) ++stage;
  }
  stages_ = stage + 1;
}

/// Marks rows that are read outside the loop that computes them. Loaded rows are loaded again instead.
void TileEmitter::mark_used() {
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    for_operands(code_.body[i], [&](std::uint32_t a) {
      if (single_[a] || ins(a).row != RowOp::none) return;
      const bool by_row = ins(i).row != RowOp::none;
      if (by_row ? !lies_ready(a) : stage_[a] != stage_[i] && !is_load(a)) kept_[a] = true;
    });
  }
}

Elem TileEmitter::stored_elem(std::uint32_t k) const {
  const std::size_t operands = code_.operands.size();
  return k < operands ? code_.operands[k].elem : code_.stores[k - operands].elem;
}

/// Returns whether instruction i is a row in memory, of adjacent elements of the type in which they are computed.
bool TileEmitter::lies_ready(std::uint32_t i) const {
  if (!is_load(i)) return false;
  const std::uint32_t k = ins(i).scalar.operand;
  return step(k) == code::InnerStep::dense && compute_elem(stored_elem(k)) == stored_elem(k);
}

void TileEmitter::row(const RowPlace& place) {
  place_ = place;
  scalar_.assign(code_.body.size(), nullptr);
  where_.assign(code_.body.size(), nullptr);
  for (std::uint32_t s = 0; s < stages_; ++s) stage(s);
}

void TileEmitter::stage(std::uint32_t number) {
  singles(number);
  loop(number);
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (stage_[i] == number && ins(i).row != RowOp::none) row_operation(i);
  }
}

// ---- one element for the whole row ----

void TileEmitter::singles(std::uint32_t number) {
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (stage_[i] != number || !single_[i] || ins(i).row != RowOp::none) continue;
    single(i);
  }
}

void TileEmitter::single(std::uint32_t i) {
  const FusedIns& in = ins(i);
  if (in.is(ScalarOp::constant)) {
    const bool read = !place_.parameters.empty() && place_.parameters[i] != nullptr;
    scalar_[i] = read ? place_.parameters[i] : constant(in.scalar);
  } else if (in.is(ScalarOp::load)) {
    const Elem stored = stored_elem(in.scalar.operand);
    llvm::Value* const x = b_.CreateAlignedLoad(lanes_.scalar(stored), place_.at[in.scalar.operand], llvm::Align(1));
    scalar_[i] = widened(stored, x);
  } else if (quantises(i)) {
    scalar_[i] = quantised_single(in.scalar);
  } else {
    scalar_[i] = compute(in, scalar_[in.scalar.a], scalar_[in.scalar.b], scalar_[in.scalar.c]);
  }
  for (std::uint32_t s = 0; s < code_.stores.size(); ++s) {
    if (code_.stores[s].value != i || step(result(s)) != code::InnerStep::one) continue;
    b_.CreateAlignedStore(narrowed(elem_of(i), code_.stores[s].elem, scalar_[i]), place_.at[result(s)], llvm::Align(1));
  }
}

llvm::Value* TileEmitter::quantised_single(const ScalarIns& ins) {
  const auto all = [&](std::uint32_t a) { return splat(scalar_[a]); };
  llvm::Value* const bytes = lanes_.quantised(b_, ins.type, true, {all(ins.a)}, all(ins.b), all(ins.c));
  return b_.CreateExtractElement(bytes, std::uint64_t{0});
}

llvm::Value* TileEmitter::constant(const ScalarIns& ins) {
  llvm::Type* const type = lanes_.scalar(ins.type);
  if (ins.type == Elem::f32) return llvm::ConstantFP::get(type, llvm::APFloat(static_cast<float>(ins.real)));
  if (ins.type == Elem::f64) return llvm::ConstantFP::get(type, llvm::APFloat(ins.real));
  const bool truth = ins.type == Elem::boolean;
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(truth ? ins.integer != 0 : ins.integer));
}

llvm::Value* TileEmitter::compute(const FusedIns& in, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  const ScalarIns& s = in.scalar;
  if (s.op == ScalarOp::cast) return elem_of(s.a) == s.type ? a : lanes_.cast(b_, elem_of(s.a), s.type, a);
  const Elem elem = elem_of(s.op == ScalarOp::select ? s.b : s.a);
  if (s.op == ScalarOp::div && elem == Elem::f32 && single_[s.b] && a->getType()->isVectorTy()) {
    return lanes_.quotient(b_, a, b);
  }
  switch (arity(s.op)) {
    case 1: return lanes_.apply(b_, s.op, elem, s.type, {a});
    case 2: return lanes_.apply(b_, s.op, elem, s.type, {a, b});
    default: return lanes_.apply(b_, s.op, elem, s.type, {a, b, c});
  }
}

// ---- loops over vectors ----

/// Writes the loop of a stage, if anything happens in it.
void TileEmitter::loop(std::uint32_t number) {
  bool any = false;
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (stage_[i] != number || ins(i).row != RowOp::none) continue;
    any |= kept_[i];
  }
  for (std::uint32_t s = 0; s < code_.stores.size(); ++s) {
    const std::uint32_t v = code_.stores[s].value;
    const bool made_by_row = ins(v).row != RowOp::none;
    any |= stage_[v] + (made_by_row ? 1 : 0) == number && step(result(s)) != code::InnerStep::one;
  }
  if (!any) return;
  splat_.assign(code_.body.size(), nullptr);
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (single_[i] && scalar_[i] != nullptr) splat_[i] = splat(scalar_[i]);
  }
  rounds(number);
}

void TileEmitter::rounds(std::uint32_t number) {
  const unsigned width = lanes_.width();
  llvm::Type* const lane = b_.getInt32Ty();
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (unsigned i = 0; i < width; ++i) numbers.push_back(b_.getInt32(i));
  llvm::Value* const indices = llvm::ConstantVector::get(numbers);
  const auto mask_of = [&](llvm::Value* left) { return b_.CreateICmpULT(indices, splat(b_.CreateTrunc(left, lane))); };
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(place_.n)) {
    const std::int64_t n = known->getSExtValue(), whole = n / width;
    if (whole <= kWrittenOut) {
      if (whole > 0) vectors_of(number, b_.getInt64(0), static_cast<unsigned>(whole), nullptr);
      if (n % width != 0)
        vectors_of(number, b_.getInt64(static_cast<std::uint64_t>(whole * width)), 1,
                   mask_of(b_.getInt64(static_cast<std::uint64_t>(n % width))));
      return;
    }
  }
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *const head = block("round"), *const body = block("vectors"), *const rest = block("rest"),
                          *const tail = block("tail"), *const done = block("done");
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::Value* const span = b_.getInt64(static_cast<std::uint64_t>(kUnroll) * width);
  llvm::Value* const end = b_.CreateSub(place_.n, b_.CreateURem(place_.n, span));
  b_.CreateBr(head);

  b_.SetInsertPoint(head);
  llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.getInt64(0), before);
  b_.CreateCondBr(b_.CreateICmpSLT(i, end), body, rest);
  b_.SetInsertPoint(body);
  vectors_of(number, i, kUnroll, nullptr);
  i->addIncoming(b_.CreateAdd(i, span), b_.GetInsertBlock());
  b_.CreateBr(head);

  b_.SetInsertPoint(rest);
  llvm::PHINode* const j = b_.CreatePHI(b_.getInt64Ty(), 2);
  j->addIncoming(i, head);
  b_.CreateCondBr(b_.CreateICmpSLT(j, place_.n), tail, done);
  b_.SetInsertPoint(tail);
  vectors_of(number, j, 1,
             mask_of(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(place_.n, j), b_.getInt64(width))));
  j->addIncoming(b_.CreateAdd(j, b_.getInt64(width)), b_.GetInsertBlock());
  b_.CreateBr(rest);
  b_.SetInsertPoint(done);
}

/// Writes `count` vectors from element `first` on. All is loaded before anything is stored, as a result may have the
/// address of an operand.
void TileEmitter::vectors_of(std::uint32_t number, llvm::Value* first, unsigned count, llvm::Value* mask) {
  vectors_.assign(code_.body.size(), {});
  groups_.assign(code_.body.size(), {});
  const auto need = [&](std::uint32_t i) {
    if (single_[i] && vectors_[i].empty()) vectors_[i].assign(count, splat_[i]);
    if (vectors_[i].empty() && (is_load(i) || stage_[i] != number || ins(i).row != RowOp::none))
      vectors_[i] = load(i, first, count, mask);
  };
  const auto in_stage = [&](std::uint32_t i) {
    return stage_[i] == number && ins(i).row == RowOp::none && !single_[i];
  };
  const auto stored_here = [&](const FusedStore& s) {
    const bool made_by_row = ins(s.value).row != RowOp::none;
    return stage_[s.value] + (made_by_row ? 1 : 0) == number;
  };
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (in_stage(i)) for_operands(code_.body[i], need);
    if (in_stage(i) && kept_[i] && is_load(i)) need(i);
  }
  for (std::uint32_t s = 0; s < code_.stores.size(); ++s) {
    const std::uint32_t v = code_.stores[s].value;
    if (stored_here(code_.stores[s]) && step(result(s)) != code::InnerStep::one &&
        (single_[v] || is_load(v) || ins(v).row != RowOp::none))
      need(v);
  }
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (!in_stage(i) || is_load(i)) continue;
    if (quantises(i)) {
      quantise(i, count);
      continue;
    }
    const ScalarIns& s = ins(i).scalar;
    const bool whole = s.op == ScalarOp::cast && s.type == Elem::f32 && is_whole(s.a);
    for (unsigned u = 0; u < count; ++u) {
      const auto at = [&](std::uint32_t a, int position) { return position < arity(s.op) ? value(a, u) : nullptr; };
      vectors_[i].push_back(whole ? vectors_[s.a][u] : compute(ins(i), at(s.a, 0), at(s.b, 1), at(s.c, 2)));
    }
  }
  const auto moved = [&](unsigned u) {
    return b_.CreateAdd(first, b_.getInt64(static_cast<std::uint64_t>(u) * lanes_.width()));
  };
  for (std::uint32_t s = 0; s < code_.stores.size(); ++s) {
    const std::uint32_t v = code_.stores[s].value;
    if (!stored_here(code_.stores[s]) || step(result(s)) == code::InnerStep::one || where_[v] == place_.at[result(s)])
      continue;
    const bool grouped = step(result(s)) == code::InnerStep::dense && elem_of(v) == code_.stores[s].elem;
    for (unsigned u = 0; u < count;) {
      if (grouped && u / Lanes::kGroup < groups_[v].size()) {
        store_vector(result(s), moved(u), groups_[v][u / Lanes::kGroup], mask);
        u += Lanes::kGroup;
      } else {
        store_vector(result(s), moved(u), narrowed(elem_of(v), code_.stores[s].elem, value(v, u)), mask);
        ++u;
      }
    }
  }
  for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
    if (!in_stage(i) || !kept_[i]) continue;
    for (unsigned u = 0; u < count; ++u) {
      llvm::Value* const to = address(buffer(code_.body[i].buffer), elem_of(i), moved(u));
      mask == nullptr ? (void)b_.CreateAlignedStore(value(i, u), to, llvm::Align(1))
                      : (void)b_.CreateMaskedStore(value(i, u), to, llvm::Align(1), mask);
    }
  }
}

/// Returns whether a later instruction converts the quantised result of instruction i to f32.
bool TileEmitter::is_widened(std::uint32_t i) const {
  for (std::uint32_t k = i + 1; k < code_.body.size(); ++k) {
    if (ins(k).is(ScalarOp::cast) && ins(k).scalar.a == i && elem_of(k) == Elem::f32) return true;
  }
  return false;
}

/// Computes instruction i: as bytes, or as whole numbers of f32 if is_widened().
void TileEmitter::quantise(std::uint32_t i, unsigned count) {
  const ScalarIns& s = ins(i).scalar;
  const bool bytes = !is_widened(i);
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

/// Returns true if instruction i was quantised in the current iteration, as f32.
bool TileEmitter::is_whole(std::uint32_t i) const {
  return quantises(i) && vectors_[i][0]->getType() == lanes_.vector(Elem::f32);
}

/// Returns vector u of instruction i, of its type.
llvm::Value* TileEmitter::value(std::uint32_t i, unsigned u) {
  llvm::Value* const x = vectors_[i][u];
  if (!is_whole(i)) return x;
  llvm::Type* const type = lanes_.vector(elem_of(i));
  return elem_of(i) == Elem::u8 ? b_.CreateFPToUI(x, type) : b_.CreateFPToSI(x, type);
}

/// Loads an operand, or a row that was kept, at elements from `first` on.
TileEmitter::Vectors TileEmitter::load(std::uint32_t i, llvm::Value* first, unsigned count, llvm::Value* mask) {
  Vectors made;
  for (unsigned u = 0; u < count; ++u) {
    llvm::Value* const at = b_.CreateAdd(first, b_.getInt64(static_cast<std::uint64_t>(u) * lanes_.width()));
    if (is_load(i)) {
      const std::uint32_t k = ins(i).scalar.operand;
      made.push_back(widened(stored_elem(k), load_vector(k, at, mask)));
      continue;
    }
    llvm::Type* const type = lanes_.vector(elem_of(i));
    llvm::Value* const from = address(row_address(i), elem_of(i), at);
    made.push_back(mask == nullptr
                       ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, from, llvm::Align(1)))
                       : b_.CreateMaskedLoad(type, from, llvm::Align(1), mask, llvm::Constant::getNullValue(type)));
  }
  return made;
}

llvm::Value* TileEmitter::load_vector(std::uint32_t k, llvm::Value* first, llvm::Value* mask) {
  const Elem elem = stored_elem(k);
  llvm::Type* const type = lanes_.vector(elem);
  llvm::Constant* const zero = llvm::Constant::getNullValue(type);
  if (step(k) == code::InnerStep::strided) {
    return b_.CreateMaskedGather(type, lane_pointers(k, first), llvm::Align(1), mask, zero);
  }
  llvm::Value* const from = address(place_.at[k], elem, first);
  if (mask == nullptr) return b_.CreateAlignedLoad(type, from, llvm::Align(1));
  return b_.CreateMaskedLoad(type, from, llvm::Align(1), mask, zero);
}

void TileEmitter::store_vector(std::uint32_t k, llvm::Value* first, llvm::Value* value, llvm::Value* mask) {
  if (step(k) == code::InnerStep::strided) {
    b_.CreateMaskedScatter(value, lane_pointers(k, first), llvm::Align(1), mask);
    return;
  }
  llvm::Value* const to = address(place_.at[k], stored_elem(k), first);
  if (mask == nullptr) {
    b_.CreateAlignedStore(value, to, llvm::Align(1));
  } else {
    b_.CreateMaskedStore(value, to, llvm::Align(1), mask);
  }
}

llvm::Value* TileEmitter::lane_pointers(std::uint32_t k, llvm::Value* first) {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (unsigned i = 0; i < lanes_.width(); ++i) numbers.push_back(b_.getInt64(i));
  llvm::Value* const indices = b_.CreateAdd(splat(first), llvm::ConstantVector::get(numbers));
  return b_.CreateGEP(b_.getInt8Ty(), place_.at[k], b_.CreateMul(indices, splat(place_.steps[k])));
}

llvm::Value* TileEmitter::address(llvm::Value* base, Elem elem, llvm::Value* index) {
  return b_.CreateGEP(lanes_.scalar(elem), base, index);
}

llvm::Value* TileEmitter::widened(Elem stored, llvm::Value* x) {
  return compute_elem(stored) == stored ? x : lanes_.cast(b_, stored, compute_elem(stored), x);
}

llvm::Value* TileEmitter::narrowed(Elem from, Elem to, llvm::Value* x) {
  return from == to ? x : lanes_.cast(b_, from, to, x);
}

// ---- operations on whole rows ----

llvm::Value* TileEmitter::buffer(std::uint32_t number) {
  return b_.CreateGEP(b_.getInt8Ty(), place_.scratch, b_.CreateMul(place_.stride, b_.getInt64(number)));
}

llvm::Value* TileEmitter::row_address(std::uint32_t i) {
  if (lies_ready(i)) return place_.at[ins(i).scalar.operand];
  return where_[i] != nullptr ? where_[i] : buffer(code_.body[i].buffer);
}

void TileEmitter::row_operation(std::uint32_t i) {
  const FusedIns& in = ins(i);
  scalar_[i] = lanes_.fold(b_, name_of(in.row), in.scalar.type, row_address(in.scalar.a), place_.n);
  for (std::uint32_t s = 0; s < code_.stores.size(); ++s) {
    if (code_.stores[s].value != i || step(result(s)) != code::InnerStep::one) continue;
    b_.CreateAlignedStore(narrowed(elem_of(i), code_.stores[s].elem, scalar_[i]), place_.at[result(s)], llvm::Align(1));
  }
}

}  // namespace frazil::jit
