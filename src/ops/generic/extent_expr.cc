#include "ops/generic/extent_expr.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/value/text.h"

namespace frazil::ops {
namespace {

std::optional<OperandRef> read_ref(std::string_view name) {
  if (name.size() < 4 || (name[0] != 'd' && name[0] != 'v')) return std::nullopt;
  OperandRef ref{.element = name[0] == 'v'};
  const char* const past = name.data() + name.size();
  const auto operand = std::from_chars(name.data() + 1, past, ref.operand);
  if (operand.ec != std::errc{} || operand.ptr == past || *operand.ptr != '_') return std::nullopt;
  const auto index = std::from_chars(operand.ptr + 1, past, ref.index);
  if (index.ec != std::errc{} || index.ptr != past || ref.index < 0) return std::nullopt;
  return ref;
}

Result<Dim> resolve(InferCx& cx, const OperandRef& ref) {
  if (!cx.has(ref.operand)) return fail(Code::bad_model, "there is no operand {}", ref.operand);
  if (!ref.element) {
    if (static_cast<std::size_t>(ref.index) >= cx.rank(ref.operand)) {
      return fail(Code::bad_model, "operand {} has no axis {}: {}", ref.operand, ref.index, cx.type_str(ref.operand));
    }
    return cx.shape(ref.operand)[static_cast<std::size_t>(ref.index)];
  }
  if (!contains(elems::kIndex, cx.elem(ref.operand))) {
    return fail(Code::bad_model, "operand {} is not of type i64 or i32: {}", ref.operand, cx.type_str(ref.operand));
  }
  FRAZIL_TRY(const std::vector<Dim> elements, cx.ints(ref.operand));
  if (static_cast<std::size_t>(ref.index) < elements.size()) return elements[static_cast<std::size_t>(ref.index)];
  return fail(Code::bad_model, "operand {} has no element {}: {}", ref.operand, ref.index, cx.type_str(ref.operand));
}

Dim combined(Scope& s, DimProgram::Op op, Dim a, Dim b) {
  switch (op) {
    case DimProgram::Op::add: return s.add(a, b);
    case DimProgram::Op::sub: return s.sub(a, b);
    case DimProgram::Op::mul: return s.mul(a, b);
    case DimProgram::Op::floordiv: return s.floordiv(a, b);
    case DimProgram::Op::mod: return mod(s, a, b);
    case DimProgram::Op::min: return s.min(a, b);
    case DimProgram::Op::max: return s.max(a, b);
    case DimProgram::Op::constant: break;
  }
  return a;
}

std::string text_of(const OperandRef& ref) {
  return fmt::format("{}{}_{}", ref.element ? 'v' : 'd', ref.operand, ref.index);
}

/// Writes a program as text. Each register is written out where it is used.
std::string text_of(const DimProgram::Ins& ins, const std::vector<std::string>& regs) {
  const std::string &a = regs[ins.a], &b = regs[ins.b];
  switch (ins.op) {
    case DimProgram::Op::constant: return ins.imm < 0 ? fmt::format("({})", ins.imm) : fmt::format("{}", ins.imm);
    case DimProgram::Op::add: return fmt::format("({} + {})", a, b);
    case DimProgram::Op::sub: return fmt::format("({} - {})", a, b);
    case DimProgram::Op::mul: return fmt::format("{}*{}", a, b);
    case DimProgram::Op::floordiv: return fmt::format("floordiv({}, {})", a, b);
    case DimProgram::Op::mod: return fmt::format("mod({}, {})", a, b);
    case DimProgram::Op::min: return fmt::format("min({}, {})", a, b);
    case DimProgram::Op::max: return fmt::format("max({}, {})", a, b);
  }
  return {};
}

/// Removes the registers of symbols other than `symbols`, which get the first registers in this order.
std::uint32_t renumber(DimProgram& program, std::uint32_t result, std::span<const SymbolId> symbols) {
  std::vector<std::uint32_t> now(program.registers, 0);
  std::uint32_t next = 0;
  for (const SymbolId s : symbols) now[s] = next++;
  for (DimProgram::Ins& ins : program.code) {
    now[ins.dst] = next;
    ins = {ins.op, next++, now[ins.a], now[ins.b], ins.imm};
  }
  program.registers = next;
  return now[result];
}

}  // namespace

ExtentExpr::ExtentExpr(std::int64_t value) : text_(std::to_string(value)) {
  program_ = {.code = {{DimProgram::Op::constant, 0, 0, 0, value}}, .registers = 1};
}

ExtentExpr::ExtentExpr(const OperandRef& ref) : text_(text_of(ref)), refs_{ref} { program_.registers = 1; }

Result<ExtentExpr> ExtentExpr::parse(std::string_view text) {
  if (text.size() > kMaxExtentText) {
    return fail(Code::bad_model, "an expression of {} characters, at most {} are read", text.size(), kMaxExtentText);
  }
  Scope names;
  FRAZIL_TRY([[maybe_unused]] const Dim unbounded, parse_dim(names, text));
  Scope scope;
  ExtentExpr e;
  for (SymbolId s = 0; s < names.symbol_count(); ++s) {
    const auto ref = read_ref(names.symbol_name(s));
    if (!ref) {
      return fail(Code::bad_model, "'{}' is not an extent (d0_1) or element (v0_1) of an operand",
                  printable(names.symbol_name(s)));
    }
    e.refs_.push_back(*ref);
    // An element can be negative, but an extent cannot. Simplification uses these bounds.
    scope.symbol(names.symbol_name(s), ref->element ? Bounds{Dim::kMin, Dim::kMax} : Bounds{});
  }
  FRAZIL_TRY(const Dim value, parse_dim(scope, text));
  DimRegisters known;
  e.program_ = {};
  e.result_ = scope.emit(value, e.program_, known);
  e.text_ = trimmed(text);
  return e;
}

std::optional<ExtentExpr> ExtentExpr::of(const Scope& scope, Dim d,
                                         const std::function<std::optional<OperandRef>(SymbolId)>& ref_of) {
  if (d.is_const()) return ExtentExpr(d.value());
  const std::vector<SymbolId> symbols = scope.symbols_of(d);
  ExtentExpr e;
  std::vector<std::string> texts;
  for (const SymbolId s : symbols) {
    const auto ref = ref_of(s);
    if (!ref) return std::nullopt;
    e.refs_.push_back(*ref);
    texts.push_back(text_of(*ref));
  }
  DimRegisters known;
  e.program_ = {};
  e.result_ = scope.emit(d, e.program_, known);
  e.result_ = renumber(e.program_, e.result_, symbols);
  for (const DimProgram::Ins& ins : e.program_.code) {
    texts.push_back(text_of(ins, texts));
    if (texts.back().size() > kMaxExtentText) return std::nullopt;
  }
  e.text_ = texts[e.result_];
  return e;
}

Result<Dim> ExtentExpr::infer(InferCx& cx, std::string_view what) const {
  std::vector<Dim> regs(std::max<std::size_t>(program_.registers, refs_.size()), 0);
  for (std::size_t i = 0; i < refs_.size(); ++i) {
    auto d = resolve(cx, refs_[i]);
    if (!d) {
      d.error().message.insert(0, fmt::format("attribute '{}': ", what));
      return at_node(cx.graph().describe(cx.id()), std::move(d).error());
    }
    regs[i] = *d;
  }
  for (const DimProgram::Ins& ins : program_.code) {
    const bool constant = ins.op == DimProgram::Op::constant;
    regs[ins.dst] = constant ? Dim(ins.imm) : combined(cx.scope(), ins.op, regs[ins.a], regs[ins.b]);
  }
  return regs[result_];
}

Result<std::int64_t> ExtentExpr::eval(OpaqueCall& call, std::string_view what) const {
  std::vector<std::int64_t> regs(std::max<std::size_t>(program_.registers, refs_.size()), 0);
  for (std::size_t i = 0; i < refs_.size(); ++i) {
    const OperandRef& ref = refs_[i];
    const bool there = call.has(ref.operand);
    const auto at = static_cast<std::size_t>(ref.index);
    const TensorView x = there ? call.in(ref.operand) : TensorView{};
    const bool inside = ref.element ? ref.index < x.count() : at < x.rank();
    if (!there || !inside) return fail(Code::bad_input, "attribute '{}' reads past operand {}", what, ref.operand);
    regs[i] = ref.element ? x.integer(ref.index) : x.sizes[at];
  }
  if (!program_.run(regs, 0, program_.code.size())) {
    return fail(Code::bad_input, "attribute '{}': division by zero", what);
  }
  return regs[result_];
}

Result<ExtentCheck> ExtentCheck::parse(std::string_view text) {
  const std::size_t equal = text.find("=="), colon = text.find(": ");
  if (equal == text.npos || colon == text.npos || colon < equal) {
    return fail(Code::bad_model, "expected 'a == b: what', got '{}'", printable(text, 60));
  }
  FRAZIL_TRY(ExtentExpr a, ExtentExpr::parse(text.substr(0, equal)));
  FRAZIL_TRY(ExtentExpr b, ExtentExpr::parse(text.substr(equal + 2, colon - equal - 2)));
  return ExtentCheck{std::move(a), std::move(b), std::string(text.substr(colon + 2))};
}

Status require(InferCx& cx, const std::vector<ExtentCheck>& checks) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::string what = fmt::format("checks[{}]", i);
    FRAZIL_TRY(const Dim a, checks[i].a.infer(cx, what));
    FRAZIL_TRY(const Dim b, checks[i].b.infer(cx, what));
    FRAZIL_CHECK(cx.require_equal(a, b, checks[i].what));
  }
  return {};
}

}  // namespace frazil::ops
