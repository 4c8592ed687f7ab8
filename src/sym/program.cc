#include <cassert>

#include "sym/dim.h"
#include "sym/expressions.h"
#include "sym/impl.h"
#include "sym/interval.h"
#include "sym/reach.h"
#include "sym/saturate.h"

namespace frazil {

using Op = DimProgram::Op;
using sym::Kind;

std::optional<std::uint32_t> DimRegisters::find(Dim d) const {
  const auto it = by_bits_.find(d.bits());
  if (it == by_bits_.end()) return std::nullopt;
  return it->second;
}

void DimRegisters::set(Dim d, std::uint32_t reg) { by_bits_[d.bits()] = reg; }

bool DimProgram::run(std::span<std::int64_t> regs, std::size_t from, std::size_t to) const {
  std::int64_t* const r = regs.data();
  bool ok = true;
  for (const Ins *ins = code.data() + from, *end = code.data() + to; ins != end; ++ins) {
    const std::int64_t a = r[ins->a];
    const std::int64_t b = r[ins->b];
    std::int64_t v = 0;
    switch (ins->op) {
      case Op::constant: v = ins->imm; break;
      case Op::add: v = sym::sat_add(a, b); break;
      case Op::sub: v = sym::sat_sub(a, b); break;
      case Op::mul: v = sym::sat_mul(a, b); break;
      case Op::floordiv: b == 0 ? void(ok = false) : void(v = sym::floor_div(a, b)); break;
      case Op::mod: b == 0 ? void(ok = false) : void(v = sym::floor_mod(a, b)); break;
      case Op::min: v = a < b ? a : b; break;
      case Op::max: v = a > b ? a : b; break;
    }
    r[ins->dst] = v;
  }
  return ok;
}

void DimProgram::run_bounds(std::span<Bounds> regs, std::size_t from, std::size_t to) const {
  for (std::size_t i = from; i < to; ++i) {
    const Ins& ins = code[i];
    const Bounds a = regs[ins.a], b = regs[ins.b];
    Bounds& v = regs[ins.dst];
    switch (ins.op) {
      case Op::constant: v = {ins.imm, ins.imm}; break;
      case Op::add: v = sym::add(a, b); break;
      case Op::sub: v = sym::add(a, sym::scale(b, -1)); break;
      case Op::mul: v = sym::mul(a, b); break;
      case Op::floordiv: v = sym::floordiv(a, b); break;
      case Op::mod: v = sym::remainder(b); break;
      case Op::min: v = sym::min(a, b); break;
      case Op::max: v = sym::max(a, b); break;
    }
  }
}

namespace {

/// Appends code for nodes whose operands already have registers.
class Emitter {
 public:
  Emitter(const sym::Expressions& expressions, DimProgram& program, DimRegisters& known)
      : expressions_(expressions), program_(program), known_(known) {}

  void node(Dim d) {
    const sym::Node& n = expressions_.nodes()[d];
    if (n.kind == Kind::symbol) {
      assert((program_.code.empty() || n.first < program_.code[0].dst) && "symbol was made after the first emit");
      known_.set(d, n.first);
    } else {
      known_.set(d, n.kind == Kind::sum ? sum(n) : fold(n));
    }
  }

  std::uint32_t reg(Dim d) {
    if (const auto r = known_.find(d)) return *r;
    const std::uint32_t r = ins(Op::constant, 0, 0, d.value());
    known_.set(d, r);
    return r;
  }

 private:
  std::uint32_t ins(Op op, std::uint32_t a, std::uint32_t b, std::int64_t imm = 0) {
    program_.code.push_back({op, program_.registers, a, b, imm});
    return program_.registers++;
  }

  std::uint32_t fold(const sym::Node& n) {
    const auto operands = expressions_.nodes().operands(n);
    std::uint32_t r = reg(operands[0]);
    for (Dim o : operands.subspan(1)) r = ins(op_of(n.kind), r, reg(o));
    return r;
  }

  static Op op_of(Kind kind) {
    switch (kind) {
      case Kind::floordiv: return Op::floordiv;
      case Kind::min: return Op::min;
      case Kind::max: return Op::max;
      case Kind::big_add: return Op::add;
      default: return Op::mul;
    }
  }

  // Starts with a value that needs no negation: a positive term or the constant.
  std::uint32_t sum(const sym::Node& n) {
    const auto terms = expressions_.nodes().terms(n);
    const sym::Term* start = nullptr;
    for (const sym::Term& t : terms)
      if (t.coef > 0 && !start) start = &t;
    std::uint32_t r = start ? scaled(*start) : reg(n.constant);
    for (const sym::Term& t : terms) {
      if (&t == start) continue;
      r = ins(t.coef > 0 ? Op::add : Op::sub, r, scaled(t));
    }
    if (!start || n.constant == 0) return r;
    return ins(n.constant > 0 ? Op::add : Op::sub, r, reg(std::abs(n.constant)));
  }

  std::uint32_t scaled(const sym::Term& t) {
    const std::uint32_t r = reg(expressions_.nodes().dim(t.mono));
    return std::abs(t.coef) == 1 ? r : ins(Op::mul, r, reg(std::abs(t.coef)));
  }

  const sym::Expressions& expressions_;
  DimProgram& program_;
  DimRegisters& known_;
};

}  // namespace

std::uint32_t Scope::emit(Dim d, DimProgram& program, DimRegisters& known) const {
  if (program.code.empty() && program.registers < symbol_count())
    program.registers = static_cast<std::uint32_t>(symbol_count());
  Emitter emitter(*impl_, program, known);
  for (Dim part : sym::reach(impl_->nodes(), impl_->own(d), [&](Dim x) { return known.find(x).has_value(); }))
    emitter.node(part);
  return emitter.reg(d);
}

}  // namespace frazil
