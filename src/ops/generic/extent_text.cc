#include "ops/generic/extent_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/value/text.h"

namespace frazil::ops {
namespace {

/// The meaning of a symbol in an expression: an extent or an element of an operand.
struct Ref {
  bool element = false;  ///< an element of an integer operand, else an extent
  std::size_t operand = 0;
  std::int64_t index = 0;
};

std::optional<Ref> read_ref(std::string_view name) {
  if (name.size() < 4 || (name[0] != 'd' && name[0] != 'v')) return std::nullopt;
  Ref ref{.element = name[0] == 'v'};
  const char* const past = name.data() + name.size();
  const auto operand = std::from_chars(name.data() + 1, past, ref.operand);
  if (operand.ec != std::errc{} || operand.ptr == past || *operand.ptr != '_') return std::nullopt;
  const auto index = std::from_chars(operand.ptr + 1, past, ref.index);
  if (index.ec != std::errc{} || index.ptr != past || ref.index < 0) return std::nullopt;
  return ref;
}

/// An expression in its own scope, whose symbols are refs.
struct Expression {
  Scope scope;
  Dim value;
  std::vector<Ref> refs;  ///< by symbol
};

/// Parses `text`. An error message does not name the node or the attribute; named() adds both.
Result<Expression> parse_expression(std::string_view text) {
  if (text.size() > kMaxExtentText) {
    return fail(Code::bad_model, "an expression of {} characters, at most {} are read", text.size(), kMaxExtentText);
  }
  Scope names;
  FRAZIL_TRY([[maybe_unused]] const Dim unbounded, parse_dim(names, text));
  Expression e;
  for (SymbolId s = 0; s < names.symbol_count(); ++s) {
    const auto ref = read_ref(names.symbol_name(s));
    if (!ref) {
      return fail(Code::bad_model, "'{}' is not an extent (d0_1) or element (v0_1) of an operand",
                  printable(names.symbol_name(s)));
    }
    e.refs.push_back(*ref);
    // An element can be negative, but an extent cannot. Simplification uses these bounds.
    e.scope.symbol(names.symbol_name(s), ref->element ? Bounds{Dim::kMin, Dim::kMax} : Bounds{});
  }
  FRAZIL_TRY(e.value, parse_dim(e.scope, text));
  return e;
}

Result<Dim> resolve(InferCx& cx, const Ref& ref) {
  if (!cx.has(ref.operand)) return fail(Code::bad_model, "there is no operand {}", ref.operand);
  if (!ref.element) {
    if (static_cast<std::size_t>(ref.index) >= cx.rank(ref.operand)) {
      return fail(Code::bad_model, "operand {} has no axis {}: {}", ref.operand, ref.index, cx.type_str(ref.operand));
    }
    return cx.shape(ref.operand)[static_cast<std::size_t>(ref.index)];
  }
  if (!contains(elems::kIndex, cx.elem(ref.operand))) {
    return fail(Code::bad_model, "operand {} is no i64 or i32: {}", ref.operand, cx.type_str(ref.operand));
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

/// Returns the expression in another scope, with its symbols replaced.
Dim replay(const Expression& e, std::span<const Dim> symbols, Scope& to) {
  DimProgram program;
  DimRegisters known;
  const std::uint32_t result = e.scope.emit(e.value, program, known);
  std::vector<Dim> regs(std::max<std::size_t>(program.registers, symbols.size()), 0);
  std::ranges::copy(symbols, regs.begin());
  for (const DimProgram::Ins& ins : program.code) {
    regs[ins.dst] = ins.op == DimProgram::Op::constant ? Dim(ins.imm) : combined(to, ins.op, regs[ins.a], regs[ins.b]);
  }
  return regs[result];
}

Result<Dim> read(InferCx& cx, std::string_view text) {
  FRAZIL_TRY(const Expression e, parse_expression(text));
  std::vector<Dim> symbols;
  for (const Ref& ref : e.refs) {
    FRAZIL_TRY(const Dim d, resolve(cx, ref));
    symbols.push_back(d);
  }
  return replay(e, symbols, cx.scope());
}

/// Adds the node and the attribute to a fault. A fault from `cx` begins with the node already.
std::unexpected<Fault> named(InferCx& cx, std::string_view what, Fault fault) {
  const std::string node = cx.graph().describe(cx.id()) + ": ";
  if (fault.message.starts_with(node)) fault.message.erase(0, node.size());
  return within(fmt::format("{}attribute '{}': ", node, what), std::move(fault));
}

}  // namespace

Result<Dim> read_extent(InferCx& cx, std::string_view text, std::string_view what) {
  auto d = read(cx, text);
  if (!d) return named(cx, what, std::move(d).error());
  return *d;
}

Result<std::int64_t> eval_extent(OpaqueCall& call, std::string_view text, std::string_view what) {
  auto e = parse_expression(text);
  if (!e) return within(fmt::format("attribute '{}': ", what), std::move(e).error());
  std::vector<std::int64_t> symbols;
  for (const Ref& ref : e->refs) {
    const bool there = call.has(ref.operand);
    const auto at = static_cast<std::size_t>(ref.index);
    const TensorView x = there ? call.in(ref.operand) : TensorView{};
    const bool inside = ref.element ? ref.index < x.count() : at < x.rank();
    if (!there || !inside) return fail(Code::bad_input, "attribute '{}' reads past operand {}", what, ref.operand);
    symbols.push_back(ref.element ? x.integer(ref.index) : x.sizes[at]);
  }
  const auto value = eval(e->scope, e->value, symbols);
  if (!value) return fail(Code::bad_input, "attribute '{}': division by zero", what);
  return *value;
}

namespace {

/// A writer of a program as text. Each register is written out where it is used.
class Writer {
 public:
  std::string operator()(const DimProgram::Ins& ins) const {
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
  std::vector<std::string> regs;
};

}  // namespace

std::optional<std::string> write_extent(const Scope& scope, Dim d,
                                        const std::function<std::optional<std::string>(SymbolId)>& name) {
  if (d.is_const()) return fmt::format("{}", d.value());
  DimProgram program;
  DimRegisters known;
  const std::uint32_t result = scope.emit(d, program, known);
  Writer writer;
  writer.regs.resize(program.registers);
  for (SymbolId s : scope.symbols_of(d)) {
    auto text = name(s);
    if (!text) return std::nullopt;
    writer.regs[s] = std::move(*text);
  }
  for (const DimProgram::Ins& ins : program.code) {
    writer.regs[ins.dst] = writer(ins);
    if (writer.regs[ins.dst].size() > kMaxExtentText) return std::nullopt;
  }
  return std::move(writer.regs[result]);
}

Status read_checks(InferCx& cx, const Strings& checks) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::string_view text = checks[i];
    const std::string what = fmt::format("checks[{}]", i);
    const std::size_t equal = text.find("=="), colon = text.find(": ");
    if (equal == text.npos || colon == text.npos || colon < equal) {
      return cx.error("attribute '{}': expected 'a == b: what', got '{}'", what, printable(text, 60));
    }
    FRAZIL_TRY(const Dim a, read_extent(cx, text.substr(0, equal), what));
    FRAZIL_TRY(const Dim b, read_extent(cx, text.substr(equal + 2, colon - equal - 2), what));
    FRAZIL_CHECK(cx.require_equal(a, b, text.substr(colon + 2)));
  }
  return {};
}

}  // namespace frazil::ops
