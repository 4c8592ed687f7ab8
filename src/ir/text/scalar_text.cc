#include "ir/text/scalar_text.h"

#include <charconv>

#include <fmt/format.h>

namespace frazil {
namespace {

template <class N>
Result<N> number(Tokens& t, std::string_view what) {
  const std::string_view text = t.peek_str();
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return t.expected(what);
  t.next();
  return value;
}

}  // namespace

std::optional<ScalarOp> scalar_op_from_name(std::string_view name) {
  for (int op = 0; op <= static_cast<int>(ScalarOp::load); ++op) {
    if (name_of(static_cast<ScalarOp>(op)) == name) return static_cast<ScalarOp>(op);
  }
  return std::nullopt;
}

std::string text_of(const ScalarIns& ins) {
  if (ins.op == ScalarOp::load) return fmt::format("load {}", ins.operand);
  if (ins.op == ScalarOp::constant) {
    return is_float(ins.type) ? fmt::format("constant {}", ins.real) : fmt::format("constant {}", ins.integer);
  }
  std::string text(name_of(ins.op));
  const std::uint32_t all[] = {ins.a, ins.b, ins.c};
  for (int i = 0; i < arity(ins.op); ++i) text += fmt::format(" %{}", all[i]);
  return text;
}

Result<std::uint32_t> read_scalar_value(Tokens& tokens) {
  const std::string_view text = tokens.peek_str();
  std::uint32_t id = 0;
  if (tokens.peek().kind != Token::Kind::value) return tokens.expected("an instruction");
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size()) return tokens.expected("an instruction");
  tokens.next();
  return id;
}

Status read_scalar(Tokens& tokens, ScalarIns& ins) {
  const auto op = scalar_op_from_name(tokens.peek_str());
  if (!op) return tokens.expected("a scalar operation");
  tokens.next();
  ins.op = *op;
  if (ins.op == ScalarOp::load) {
    FRAZIL_TRY(ins.operand, number<std::uint32_t>(tokens, "an operand"));
  } else if (ins.op == ScalarOp::constant && is_float(ins.type)) {
    FRAZIL_TRY(ins.real, number<double>(tokens, "a number"));
  } else if (ins.op == ScalarOp::constant) {
    FRAZIL_TRY(ins.integer, number<std::int64_t>(tokens, "a number"));
  }
  std::uint32_t* const all[] = {&ins.a, &ins.b, &ins.c};
  for (int i = 0; i < arity(ins.op); ++i) {
    FRAZIL_TRY(*all[i], read_scalar_value(tokens));
  }
  return {};
}

namespace {

Result<ScalarIns> parse_instruction(std::string_view text) {
  FRAZIL_TRY(Tokens tokens, Tokens::read(text));
  ScalarIns ins;
  const auto elem = elem_from_name(tokens.peek_str());
  if (!elem) return tokens.expected("an element type");
  tokens.next();
  ins.type = *elem;
  FRAZIL_CHECK(read_scalar(tokens, ins));
  if (tokens.peek().kind != Token::Kind::end) return tokens.expected("the end of the instruction");
  return ins;
}

}  // namespace

Result<ScalarTape> parse_tape(std::span<const std::string> instructions) {
  ScalarTape tape;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    auto ins = parse_instruction(instructions[i]);
    if (!ins) return within(fmt::format("instruction {} ", i), std::move(ins).error());
    tape.code.push_back(*ins);
  }
  return tape;
}

std::vector<std::string> lines_of(const ScalarTape& tape) {
  std::vector<std::string> lines;
  for (const ScalarIns& ins : tape.code) lines.push_back(fmt::format("{} {}", name_of(ins.type), text_of(ins)));
  return lines;
}

namespace {

bool is_logic(ScalarOp op) { return op == ScalarOp::land || op == ScalarOp::lor || op == ScalarOp::lxor; }
bool is_order(ScalarOp op) {
  return op == ScalarOp::min || op == ScalarOp::max || op == ScalarOp::lt || op == ScalarOp::le || op == ScalarOp::eq;
}
bool is_arithmetic(ScalarOp op) {
  return op == ScalarOp::add || op == ScalarOp::sub || op == ScalarOp::mul || op == ScalarOp::div ||
         op == ScalarOp::neg;
}

/// Returns true if the primitive is defined on operands of `elem`.
bool is_defined(ScalarOp op, Elem elem) {
  const bool bits = is_logic(op) || op == ScalarOp::lnot;
  if (op == ScalarOp::eq) return elem != Elem::string;
  if (elem == Elem::boolean) return bits || op == ScalarOp::min || op == ScalarOp::max;
  if (is_complex(elem)) return is_arithmetic(op);
  if (elem == Elem::string) return false;
  const bool shift = op == ScalarOp::shl || op == ScalarOp::shr;
  if (is_float(elem)) return !bits && !shift;
  const bool whole =
      op == ScalarOp::abs || op == ScalarOp::sign || op == ScalarOp::mod || op == ScalarOp::fmod || op == ScalarOp::pow;
  return bits || shift || whole || is_arithmetic(op) || is_order(op);
}

Status check_load(const ScalarIns& ins, std::span<const Elem> operands) {
  if (ins.operand >= operands.size()) {
    return fail(Code::bad_model, "operand {} is not there: there are {}", ins.operand, operands.size());
  }
  const Elem want = compute_elem(operands[ins.operand]);
  if (ins.type == want) return {};
  return fail(Code::bad_model, "operand {} is computed with as {}, not {}", ins.operand, name_of(want),
              name_of(ins.type));
}

bool can_cast(Elem from, Elem to) {
  return from == to || (from != Elem::string && to != Elem::string && (is_complex(to) || !is_complex(from)));
}

Status check_types(const ScalarIns& ins, const std::vector<ScalarIns>& code) {
  const auto type = [&](std::uint32_t at) { return code[at].type; };
  if (ins.op == ScalarOp::cast) {
    if (can_cast(type(ins.a), ins.type)) return {};
    return fail(Code::bad_model, "no cast from {} to {}", name_of(type(ins.a)), name_of(ins.type));
  }
  const bool select = ins.op == ScalarOp::select;
  if (select && type(ins.a) != Elem::boolean)
    return fail(Code::bad_model, "%{}: expected bool as condition, got {}", ins.a, name_of(type(ins.a)));
  const Elem left = type(select ? ins.b : ins.a);
  const Elem right = arity(ins.op) < 2 ? left : type(select ? ins.c : ins.b);
  if (left != right) {
    return fail(Code::bad_model, "operands of {} and {} for {}", name_of(left), name_of(right), name_of(ins.op));
  }
  if (!select && !is_defined(ins.op, left)) {
    return fail(Code::bad_model, "{} is not defined for {}", name_of(ins.op), name_of(left));
  }
  const Elem gives = returns_bool(ins.op) ? Elem::boolean : left;
  if (gives != ins.type) return fail(Code::bad_model, "it gives {}, not {}", name_of(gives), name_of(ins.type));
  return {};
}

Status check_one(const ScalarTape& tape, std::uint32_t at, std::span<const Elem> operands) {
  const ScalarIns& ins = tape.code[at];
  if (compute_elem(ins.type) != ins.type || ins.type == Elem::string) {
    return fail(Code::bad_model, "{} is not a compute type", name_of(ins.type));
  }
  if (ins.op == ScalarOp::load) return check_load(ins, operands);
  if (ins.op == ScalarOp::constant) return {};
  const std::uint32_t all[] = {ins.a, ins.b, ins.c};
  for (int i = 0; i < arity(ins.op); ++i) {
    if (all[i] >= at) return fail(Code::bad_model, "%{} does not stand before it", all[i]);
  }
  return check_types(ins, tape.code);
}

}  // namespace

Status check(const ScalarTape& tape, std::span<const Elem> operands) {
  if (tape.code.empty()) return fail(Code::bad_model, "there are no instructions");
  for (std::uint32_t i = 0; i < tape.code.size(); ++i) {
    if (Status s = check_one(tape, i, operands); !s) {
      return within(fmt::format("instruction {}: ", i), std::move(s).error());
    }
  }
  return {};
}

}  // namespace frazil
