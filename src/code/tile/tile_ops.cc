#include <cstring>

#include "code/tile/tile_draft.h"

namespace frazil::code {
namespace {

bool is_plain(Elem e) { return compute_elem(e) == e; }

std::uint64_t constant_bits(const ScalarIns& ins) {
  std::uint64_t bits = 0;
  const auto put = [&](auto v) { std::memcpy(&bits, &v, sizeof v); };
  switch (ins.type) {
    case Elem::f32: put(static_cast<float>(ins.real)); break;
    case Elem::f64: put(ins.real); break;
    case Elem::boolean: put(static_cast<std::uint8_t>(ins.integer != 0)); break;
    default: put(ins.integer); break;  // little-endian: the low bytes are the narrower integer
  }
  return bits;
}

}  // namespace

/// Returns whether elements can be read or written in place: of the compute type, one or adjacent.
bool TileOps::is_in_place(const TileOperand& o) const {
  return is_plain(o.elem) && (is_single(o) || o.inner_step == o.size);
}

Status TileOps::add(std::uint32_t i) {
  const FusedIns& ins = code_.body[i].ins;
  single_[i] = false;
  if (ins.row == RowOp::none && ins.scalar.op == ScalarOp::constant) {
    single_[i] = true;
    add_constant(i);
    stores(i, false);
    return {};
  }
  if (ins.row == RowOp::none && ins.scalar.op == ScalarOp::load) {
    load(i);
    stores(i, false);
    return {};
  }
  TileOp& op = add_op(i);
  if (ins.row == RowOp::none)
    scalar(op, code_.body[i], i);
  else
    row(op, ins, i);
  if (op.kind == TileOp::Kind::scalar && op.fn == nullptr) {
    return fail(Code::internal, "no tile primitive for its body");
  }
  stores(i, true);
  return {};
}

void TileOps::add_constant(std::uint32_t i) {
  draft_.constants[s_.constants++] = {constant_bits(code_.body[i].ins.scalar), static_cast<std::uint16_t>(i)};
}

TileOp& TileOps::add_op(std::uint32_t i) {
  TileOp& op = draft_.ops[s_.ops++] = TileOp{};
  op.to = -1;
  op.value = static_cast<std::uint16_t>(i);
  op.buffer = code_.body[i].buffer;
  op.type = code_.body[i].ins.scalar.type;
  op.a = static_cast<std::uint16_t>(code_.body[i].ins.scalar.a);
  op.b = static_cast<std::uint16_t>(code_.body[i].ins.scalar.b);
  op.c = static_cast<std::uint16_t>(code_.body[i].ins.scalar.c);
  return op;
}

void TileOps::load(std::uint32_t i) {
  const auto k = static_cast<std::uint16_t>(code_.body[i].ins.scalar.operand);
  const TileOperand& o = draft_.operands[k];
  single_[i] = is_single(o);
  if (is_in_place(o)) {
    draft_.pointers[s_.pointers++] = {static_cast<std::uint16_t>(i), k};
    return;
  }
  TileOp& op = add_op(i);
  op.kind = TileOp::Kind::convert;
  op.a = k;
  op.once = single_[i];
}

void TileOps::scalar(TileOp& op, const TileCode::Ins& code, std::uint32_t i) {
  const ScalarIns& ins = code.ins.scalar;
  const std::uint32_t args[3] = {ins.a, ins.b, ins.c};
  const int n = code.quantises ? 3 : arity(ins.op);
  unsigned mask = 0;
  for (int k = 0; k < n; ++k) mask |= single_[args[k]] ? 1U << k : 0U;
  op.once = single_[i] = mask == (1U << n) - 1;
  for (int k = 0; k < n; ++k) {
    const bool single = (mask >> k & 1U) != 0;
    op.steps[k] = single ? 0 : static_cast<std::uint8_t>(byte_size(code_.body[args[k]].ins.scalar.type));
  }
  if (n < 2) op.b = op.a;
  if (n < 3) op.c = op.a;
  if (op.once) mask = 0;
  const Elem operand = code_.body[ins.op == ScalarOp::select ? ins.b : ins.a].ins.scalar.type;
  if (code.quantises) {
    op.fn = kernel::quantise_fn(ins.type);
    return;
  }
  op.fn = ins.op == ScalarOp::cast ? kernel::cast_fn(operand, ins.type) : kernel::tile_fn(ins.op, operand, mask);
}

void TileOps::row(TileOp& op, const FusedIns& ins, std::uint32_t i) {
  op.kind = is_fold(ins.row) ? TileOp::Kind::fold : TileOp::Kind::row;
  op.row = ins.row;
  op.once = single_[i] = is_fold(ins.row);
  op.expands = single_[ins.scalar.a] && s_.inner != 1;
  op.epsilon = static_cast<float>(ins.scalar.real);
}

/// Adds the stores of the results that instruction i holds. If it `computes`, the last op may write one of them
/// directly.
void TileOps::stores(std::uint32_t i, bool computes) {
  bool direct = computes;
  const std::uint32_t computing = s_.ops - 1;
  for (std::uint32_t k = 0; k < s_.results; ++k) {
    if (code_.stores[k].value != i) continue;
    const TileOperand& o = draft_.operands[s_.operands + k];
    if (direct && is_in_place(o) && single_[i] == is_single(o)) {
      draft_.ops[computing].to = static_cast<std::int8_t>(k);
      direct = false;
      continue;
    }
    TileOp& op = add_op(i);
    op.kind = TileOp::Kind::store;
    op.to = static_cast<std::int8_t>(k);
    op.once = single_[i] && s_.inner > 1;
  }
}

}  // namespace frazil::code
