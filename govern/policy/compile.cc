#include "govern/policy/compile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "govern/policy/cost.h"
#include "govern/policy/evaluate.h"
#include "govern/policy/lexer.h"

namespace frazil::govern {
namespace {

constexpr std::uint32_t kMostBound = 1u << 30;

std::uint32_t sum_of(std::uint32_t a, std::uint32_t b) { return std::min(kMostBound, a + b); }

bool is_sized(ValueKind kind) { return kind == ValueKind::text || kind == ValueKind::list || kind == ValueKind::map; }

class Compiler {
 public:
  explicit Compiler(const Target& target) : target_(target), program_(target.program) {}
  Compiled compile(const Expr& expr);

 private:
  struct Variable {
    std::string_view name;
    ValueType type;
  };

  template <class... A>
  [[noreturn]] void refuse(Place at, fmt::format_string<A...> format, A&&... args) const {
    fail_at(target_.file, at, "{}{}", target_.context, fmt::format(format, std::forward<A>(args)...));
  }
  /// Adds a node over operands, whose costs are added to its own.
  Compiled add(PolicyNode node, ValueType type, double own_cost, const std::vector<Compiled>& operands);
  Compiled fold(Compiled whole);
  Compiled constant(const Value& value, ValueType type, Place at);
  ValueType joined(const ValueType& a, const ValueType& b);

  Compiled name(const Expr& expr);
  Compiled slot(std::uint32_t index, Place at);
  Compiled select(const Expr& expr);
  Compiled index(const Expr& expr);
  Compiled unary(const Expr& expr);
  Compiled binary(const Expr& expr);
  Compiled logic(const Expr& expr);
  Compiled comparison(const Expr& expr);
  Compiled arithmetic(const Expr& expr);
  Compiled membership(const Expr& expr);
  Compiled choice(const Expr& expr);
  Compiled list(const Expr& expr);
  Compiled map(const Expr& expr);
  Compiled collect(Op op, const ValueType& type, double cost, const std::vector<Compiled>& items, Place at);
  Compiled call(const Expr& expr);
  Compiled has(const Expr& expr);
  Compiled macro(const Expr& expr, Op op);
  Compiled size(const Expr& expr);
  Compiled text_test(const Expr& expr, Op op);
  Compiled matches(const Expr& expr);
  Compiled convert(const Expr& expr, ValueKind to);
  Compiled operand(const Expr& expr, ValueKind kind, std::string_view of);
  void need_arguments(const Expr& expr, std::size_t count) const;

  const Target& target_;
  PolicyProgram& program_;
  std::vector<Variable> variables_;
};

void merge(Compiled& to, const Compiled& operand) {
  to.cost += operand.cost;
  to.reads |= operand.reads;
  to.reads_request |= operand.reads_request;
  to.tests_request |= operand.tests_request;
  to.variables |= operand.variables;
}

Compiled Compiler::add(PolicyNode node, ValueType type, double own_cost, const std::vector<Compiled>& operands) {
  node.kind = type.kind;
  Compiled made;
  made.type = type;
  made.cost = own_cost;
  made.reads = node.op == Op::slot || node.op == Op::has_slot;
  for (const Compiled& operand : operands) merge(made, operand);
  if (node.op >= Op::all && node.op <= Op::exists_one) made.variables &= ~(1u << node.c);
  made.node = program_.add(node);
  return fold(made);
}

/// Replaces an expression without inputs by its value.
Compiled Compiler::fold(Compiled whole) {
  if (whole.reads || whole.variables != 0 || whole.cost > program_.fold_budget) return whole;
  program_.fold_budget -= whole.cost;
  std::pmr::monotonic_buffer_resource memory;
  EvalScope scope{program_, {}, memory};
  const Value value = evaluate(scope, whole.node);
  whole.fails = value.is_error();
  if (whole.fails || program_.nodes[whole.node].op == Op::constant) return whole;
  return constant(program_.keep(value), whole.type, program_.nodes[whole.node].at);
}

Compiled Compiler::constant(const Value& value, ValueType type, Place at) {
  if (is_sized(type.kind)) type.bound = value.size;
  Compiled made;
  made.type = type;
  made.node = program_.add({Op::constant, type.kind, program_.add_constant(value), 0, 0, at});
  return made;
}

/// Returns a type that values of both types have.
ValueType Compiler::joined(const ValueType& a, const ValueType& b) {
  ValueType both = a;
  both.bound = std::max(a.bound, b.bound);
  both.key_bound = std::max(a.key_bound, b.key_bound);
  if (a.element == nullptr || b.element == nullptr) {
    both.element = a.element == nullptr ? b.element : a.element;
  } else if (a.element != b.element) {
    both.element = &program_.types.emplace_back(joined(*a.element, *b.element));
  }
  return both;
}

Compiled Compiler::compile(const Expr& expr) {
  switch (expr.form) {
    case Form::boolean: return constant(Value::of(expr.boolean), {.kind = ValueKind::boolean}, expr.at);
    case Form::integer: return constant(Value::of(expr.integer), {.kind = ValueKind::integer}, expr.at);
    case Form::real: return constant(Value::of(expr.real), {.kind = ValueKind::real}, expr.at);
    case Form::text:
      return constant(program_.keep(Value::of(std::string_view(expr.text))), {.kind = ValueKind::text}, expr.at);
    case Form::name: return name(expr);
    case Form::select: return select(expr);
    case Form::index: return index(expr);
    case Form::unary: return unary(expr);
    case Form::binary: return binary(expr);
    case Form::choice: return choice(expr);
    case Form::list: return list(expr);
    case Form::map: return map(expr);
    case Form::call:
    case Form::method: return call(expr);
  }
  refuse(expr.at, "an unknown form");
}

Compiled Compiler::slot(std::uint32_t index, Place at) {
  const auto slots = target_.layout.slots();
  Compiled made = add({Op::slot, ValueKind::absent, index, 0, 0, at}, slots[index].field->type, 1, {});
  for (std::uint32_t i = index; i != Layout::kNone; i = slots[i].parent) {
    made.reads_request |= slots[i].field->per_request;
  }
  return made;
}

Compiled Compiler::name(const Expr& expr) {
  const auto variable = std::ranges::find(variables_, std::string_view(expr.text), &Variable::name);
  if (variable != variables_.end()) {
    const auto index = static_cast<std::uint32_t>(variable - variables_.begin());
    Compiled made;
    made.type = variable->type;
    made.variables = 1u << index;
    made.node = program_.add({Op::variable, made.type.kind, index, 0, 0, expr.at});
    return made;
  }
  if (const auto found = target_.constants.find(expr.text); found != target_.constants.end()) {
    found->second.used = true;
    return constant(found->second.value, found->second.type, expr.at);
  }
  const RecordType& record = target_.layout.record();
  if (const auto field = record.find(expr.text)) return slot(*field, expr.at);
  if (record.fields.empty()) refuse(expr.at, "there is no constant '{}' before this one", expr.text);
  refuse(expr.at, "there is no field or constant '{}'; the fields are {}", expr.text, record.field_names());
}

Compiled Compiler::select(const Expr& expr) {
  const Compiled base = compile(expr.parts[0]);
  const PolicyNode of = program_.nodes[base.node];
  if (base.type.kind == ValueKind::map && base.type.element != nullptr) {
    const std::uint32_t key = program_.add_constant(program_.keep(Value::of(std::string_view(expr.text))));
    const double cost = cost_of_key(base.type, static_cast<std::uint32_t>(expr.text.size()));
    return add({Op::key, ValueKind::absent, base.node, key, 0, expr.at}, *base.type.element, cost, {base});
  }
  if (base.type.kind != ValueKind::record)
    refuse(expr.at, "{} has no fields, so not '{}'", name_of(base.type), expr.text);
  const RecordType& record = *base.type.record;
  const auto field = record.find(expr.text);
  if (!field) {
    refuse(expr.at, "{} has no field '{}'; its fields are {}", name_of(base.type), expr.text, record.field_names());
  }
  if (of.op == Op::slot) return slot(target_.layout.slots()[of.a].first + *field, expr.at);
  return add({Op::select, ValueKind::absent, base.node, *field, 0, expr.at}, record.fields[*field].type, 1, {base});
}

Compiled Compiler::index(const Expr& expr) {
  const Compiled base = compile(expr.parts[0]), at = compile(expr.parts[1]);
  const bool is_list = base.type.kind == ValueKind::list;
  if (!is_list && base.type.kind != ValueKind::map) refuse(expr.at, "{} has no elements", name_of(base.type));
  const ValueKind wanted = is_list ? ValueKind::integer : ValueKind::text;
  if (at.type.kind != wanted) {
    refuse(expr.parts[1].at, "expected {} as index of {}, got {}", name_of(ValueType{.kind = wanted}),
           name_of(base.type), name_of(at.type));
  }
  if (base.type.element == nullptr) refuse(expr.at, "an empty literal has no elements");
  const double cost = is_list ? 1 : cost_of_key(base.type, at.type.bound);
  return add({is_list ? Op::index_list : Op::index_map, ValueKind::absent, base.node, at.node, 0, expr.at},
             *base.type.element, cost, {base, at});
}

Compiled Compiler::unary(const Expr& expr) {
  const Compiled operand = compile(expr.parts[0]);
  const ValueKind kind = operand.type.kind;
  const bool fits =
      expr.text == "!" ? kind == ValueKind::boolean : kind == ValueKind::integer || kind == ValueKind::real;
  if (!fits) refuse(expr.at, "'{}' has no meaning for {}", expr.text, name_of(operand.type));
  const Op op = expr.text == "!" ? Op::invert : Op::negate;
  return add({op, ValueKind::absent, operand.node, 0, 0, expr.at}, operand.type, 1, {operand});
}

Compiled Compiler::binary(const Expr& expr) {
  const std::string& op = expr.text;
  if (op == "&&" || op == "||") return logic(expr);
  if (op == "in") return membership(expr);
  const bool arithmetic_op = std::string_view("+-*/%").contains(op);
  return arithmetic_op ? arithmetic(expr) : comparison(expr);
}

Compiled Compiler::logic(const Expr& expr) {
  const bool is_or = expr.text == "||";
  const Compiled a = operand(expr.parts[0], ValueKind::boolean, expr.text);
  const Compiled b = operand(expr.parts[1], ValueKind::boolean, expr.text);
  const auto known = [&](const Compiled& side) -> std::optional<bool> {
    const PolicyNode& node = program_.nodes[side.node];
    if (node.op != Op::constant) return std::nullopt;
    return program_.constants[node.a].boolean;
  };
  const auto left = known(a), right = known(b);
  if (left == is_or || (left && !right)) return left == is_or ? a : b;
  if (right) return right == is_or ? b : a;
  return add({is_or ? Op::either : Op::both, ValueKind::absent, a.node, b.node, 0, expr.at},
             {.kind = ValueKind::boolean}, 1, {a, b});
}

Compiled Compiler::comparison(const Expr& expr) {
  constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::equal},  {"!=", Op::unequal},
                                                      {"<", Op::less},    {"<=", Op::less_equal},
                                                      {">", Op::greater}, {">=", Op::greater_equal}};
  const Op op = std::ranges::find(kOps, std::string_view(expr.text), &std::pair<std::string_view, Op>::first)->second;
  const Compiled a = compile(expr.parts[0]), b = compile(expr.parts[1]);
  const bool equality = op == Op::equal || op == Op::unequal;
  const ValueKind kind = a.type.kind;
  if (!is_same(a.type, b.type)) {
    refuse(expr.at, "'{}' compares {} and {}; both must have one type", expr.text, name_of(a.type), name_of(b.type));
  }
  if (kind == ValueKind::record ||
      (!equality && kind != ValueKind::integer && kind != ValueKind::real && kind != ValueKind::text)) {
    refuse(expr.at, "'{}' has no meaning for {}", expr.text, name_of(a.type));
  }
  for (const ValueType* part = a.type.element; part != nullptr; part = part->element) {
    if (part->kind == ValueKind::record) refuse(expr.at, "'{}' has no meaning for {}", expr.text, name_of(a.type));
  }
  return add({op, ValueKind::absent, a.node, b.node, 0, expr.at}, {.kind = ValueKind::boolean},
             cost_of_equal(a.type, b.type), {a, b});
}

Compiled Compiler::arithmetic(const Expr& expr) {
  constexpr std::pair<char, Op> kOps[] = {
      {'+', Op::add}, {'-', Op::subtract}, {'*', Op::multiply}, {'/', Op::divide}, {'%', Op::modulo}};
  const Op op = std::ranges::find(kOps, expr.text.front(), &std::pair<char, Op>::first)->second;
  const Compiled a = compile(expr.parts[0]), b = compile(expr.parts[1]);
  const ValueKind kind = a.type.kind;
  const bool number = kind == ValueKind::integer || (kind == ValueKind::real && op != Op::modulo);
  const bool joins = op == Op::add && (kind == ValueKind::text || kind == ValueKind::list);
  if (!is_same(a.type, b.type) || !(number || joins)) {
    refuse(expr.at, "'{}' has no meaning for {} and {}", expr.text, name_of(a.type), name_of(b.type));
  }
  ValueType type = joined(a.type, b.type);
  if (joins) type.bound = sum_of(a.type.bound, b.type.bound);
  const double copied = kind == ValueKind::text ? cost_of_bytes(type.bound) : joins ? type.bound : 0;
  return add({op, ValueKind::absent, a.node, b.node, 0, expr.at}, type, 1 + copied, {a, b});
}

Compiled Compiler::membership(const Expr& expr) {
  const Compiled item = compile(expr.parts[0]), container = compile(expr.parts[1]);
  const ValueType& of = container.type;
  const bool is_map = of.kind == ValueKind::map;
  const bool fits = is_map ? item.type.kind == ValueKind::text
                           : of.kind == ValueKind::list && (of.element == nullptr || is_same(*of.element, item.type));
  if (!fits || item.type.kind == ValueKind::record) {
    refuse(expr.at, "'in' has no meaning for {} and {}", name_of(item.type), name_of(of));
  }
  const PolicyNode right = program_.nodes[container.node];
  if (right.op == Op::constant && !is_map && item.type.kind == ValueKind::text && of.bound > 1) {
    const std::uint32_t set = program_.sorted(program_.constants[right.a]);
    return add({Op::in_set, ValueKind::absent, item.node, set, 0, expr.at}, {.kind = ValueKind::boolean},
               cost_of_set(of, item.type.bound), {item});
  }
  const double cost = is_map                  ? cost_of_key(of, item.type.bound)
                      : of.element == nullptr ? 1
                                              : 1 + of.bound * cost_of_equal(*of.element, item.type);
  return add({is_map ? Op::in_map : Op::in_list, ValueKind::absent, item.node, container.node, 0, expr.at},
             {.kind = ValueKind::boolean}, cost, {item, container});
}

Compiled Compiler::choice(const Expr& expr) {
  const Compiled condition = operand(expr.parts[0], ValueKind::boolean, "?");
  const Compiled yes = compile(expr.parts[1]), no = compile(expr.parts[2]);
  if (!is_same(yes.type, no.type)) {
    refuse(expr.at, "'?' chooses between {} and {}; both must have one type", name_of(yes.type), name_of(no.type));
  }
  const PolicyNode& known = program_.nodes[condition.node];
  if (known.op == Op::constant) return program_.constants[known.a].boolean ? yes : no;
  Compiled made = add({Op::choose, ValueKind::absent, condition.node, yes.node, no.node, expr.at},
                      joined(yes.type, no.type), 1, {condition, yes, no});
  if (program_.nodes[made.node].op == Op::choose) made.cost -= std::min(yes.cost, no.cost);
  return made;
}

Compiled Compiler::list(const Expr& expr) {
  ValueType type = {.kind = ValueKind::list, .bound = static_cast<std::uint32_t>(expr.parts.size())};
  std::vector<Compiled> items;
  for (const Expr& part : expr.parts) {
    items.push_back(compile(part));
    const ValueType& item = items.back().type;
    if (type.element != nullptr && !is_same(*type.element, item)) {
      refuse(part.at, "a list has elements of one type; this is {}, the first is {}", name_of(item),
             name_of(*type.element));
    }
    type.element = &program_.types.emplace_back(type.element == nullptr ? item : joined(*type.element, item));
  }
  return collect(Op::make_list, type, 1.0 + type.bound, items, expr.at);
}

Compiled Compiler::map(const Expr& expr) {
  ValueType type = {.kind = ValueKind::map, .bound = static_cast<std::uint32_t>(expr.parts.size() / 2)};
  std::vector<Compiled> items;
  for (std::size_t i = 0; i < expr.parts.size(); ++i) {
    items.push_back(i % 2 == 0 ? operand(expr.parts[i], ValueKind::text, "a key") : compile(expr.parts[i]));
    const ValueType& item = items.back().type;
    if (i % 2 == 0) {
      type.key_bound = std::max(type.key_bound, item.bound);
      continue;
    }
    if (type.element != nullptr && !is_same(*type.element, item)) {
      refuse(expr.parts[i].at, "a map has values of one type; this is {}, the first is {}", name_of(item),
             name_of(*type.element));
    }
    type.element = &program_.types.emplace_back(type.element == nullptr ? item : joined(*type.element, item));
  }
  const double compared = type.bound * (1 + cost_of_bytes(type.key_bound));
  return collect(Op::make_map, type, 1 + type.bound * (1 + compared), items, expr.at);
}

/// Adds the node of a literal.
Compiled Compiler::collect(Op op, const ValueType& type, double cost, const std::vector<Compiled>& items, Place at) {
  const auto first = static_cast<std::uint32_t>(program_.arguments.size());
  for (const Compiled& item : items) program_.arguments.push_back(item.node);
  return add({op, type.kind, first, type.bound, 0, at}, type, cost, items);
}

/// Compiles an operand that must be of a kind. `of` names the operator in errors.
Compiled Compiler::operand(const Expr& expr, ValueKind kind, std::string_view of) {
  Compiled made = compile(expr);
  if (made.type.kind == kind) return made;
  refuse(expr.at, "'{}' needs {}, got {}", of, name_of(ValueType{.kind = kind}), name_of(made.type));
}

void Compiler::need_arguments(const Expr& expr, std::size_t count) const {
  const std::size_t given = expr.parts.size() - (expr.form == Form::method ? 1 : 0);
  if (given != count) refuse(expr.at, "{}() takes {} arguments, got {}", expr.text, count, given);
}

Compiled Compiler::call(const Expr& expr) {
  const std::string& f = expr.text;
  const bool method = expr.form == Form::method;
  if (f == "size") return size(expr);
  if (f == "matches") return matches(expr);
  if (method && f == "all") return macro(expr, Op::all);
  if (method && f == "exists") return macro(expr, Op::exists);
  if (method && f == "exists_one") return macro(expr, Op::exists_one);
  if (method && f == "startsWith") return text_test(expr, Op::starts_with);
  if (method && f == "endsWith") return text_test(expr, Op::ends_with);
  if (method && f == "contains") return text_test(expr, Op::contains);
  if (!method && f == "has") return has(expr);
  if (!method && f == "int") return convert(expr, ValueKind::integer);
  if (!method && f == "double") return convert(expr, ValueKind::real);
  if (!method && f == "string") return convert(expr, ValueKind::text);
  refuse(expr.at,
         "there is no {} '{}'; there are size, has, int, double, string, and after a value .size, .all, .exists, "
         ".exists_one, .startsWith, .endsWith, .contains, .matches",
         method ? "method" : "function", f);
}

Compiled Compiler::has(const Expr& expr) {
  need_arguments(expr, 1);
  const Expr& of = expr.parts[0];
  const ValueType type = {.kind = ValueKind::boolean};
  if (of.form == Form::name) {
    const auto field = target_.layout.record().find(of.text);
    if (!field) refuse(of.at, "has() needs a field, and there is no field '{}'", of.text);
    const Compiled read = slot(*field, of.at);
    Compiled made = add({Op::has_slot, ValueKind::absent, *field, Layout::kNone, 0, expr.at}, type, 0, {read});
    made.tests_request |= made.reads_request;
    return made;
  }
  if (of.form != Form::select) refuse(of.at, "has() needs a field: has(forecast.memory)");
  const Compiled read = select(of);
  const PolicyNode node = program_.nodes[read.node];
  if (node.op == Op::constant) return constant(Value::of(true), type, expr.at);
  const std::uint32_t around = node.op == Op::slot ? target_.layout.slots()[node.a].parent : node.b;
  const Op op = node.op == Op::slot ? Op::has_slot : node.op == Op::key ? Op::has_key : Op::has_select;
  Compiled made = add({op, ValueKind::absent, node.a, around, 0, expr.at}, type, 0, {read});
  made.tests_request |= made.reads_request;
  return made;
}

Compiled Compiler::macro(const Expr& expr, Op op) {
  need_arguments(expr, 2);
  const Compiled range = compile(expr.parts[0]);
  const ValueKind kind = range.type.kind;
  if (kind != ValueKind::list && kind != ValueKind::map)
    refuse(expr.at, "'{}' needs a list or a map, got {}", expr.text, name_of(range.type));
  const Expr& variable = expr.parts[1];
  if (variable.form != Form::name) refuse(variable.at, "'{}' needs the name of a variable first", expr.text);
  const bool taken =
      std::ranges::find(variables_, std::string_view(variable.text), &Variable::name) != variables_.end();
  if (taken || target_.constants.contains(variable.text) || target_.layout.record().find(variable.text)) {
    refuse(variable.at, "the variable '{}' has the name of something else", variable.text);
  }
  if (variables_.size() == kMaxVariables) refuse(expr.at, "more than {} macros are nested", kMaxVariables);
  ValueType element = {.kind = ValueKind::text, .bound = range.type.key_bound};
  if (kind == ValueKind::list && range.type.element == nullptr) refuse(expr.at, "an empty literal has no elements");
  if (kind == ValueKind::list) element = *range.type.element;
  const auto index = static_cast<std::uint32_t>(variables_.size());
  variables_.push_back({variable.text, element});
  const Compiled body = operand(expr.parts[2], ValueKind::boolean, expr.text);
  variables_.pop_back();
  const double times = 1 + range.type.bound * (1 + body.cost);
  return add({op, ValueKind::boolean, range.node, body.node, index, expr.at}, {.kind = ValueKind::boolean},
             times - body.cost, {range, body});
}

Compiled Compiler::size(const Expr& expr) {
  need_arguments(expr, expr.form == Form::method ? 0 : 1);
  const Compiled of = compile(expr.parts[0]);
  if (!is_sized(of.type.kind)) refuse(expr.at, "{} has no size", name_of(of.type));
  const double cost = 1 + (of.type.kind == ValueKind::text ? cost_of_bytes(of.type.bound) : 0);
  return add({Op::size, ValueKind::absent, of.node, 0, 0, expr.at}, {.kind = ValueKind::integer}, cost, {of});
}

Compiled Compiler::text_test(const Expr& expr, Op op) {
  need_arguments(expr, 1);
  const Compiled of = operand(expr.parts[0], ValueKind::text, expr.text);
  const Compiled part = operand(expr.parts[1], ValueKind::text, expr.text);
  const double read = op == Op::contains ? 4.0 * (of.type.bound + part.type.bound) : part.type.bound;
  return add({op, ValueKind::absent, of.node, part.node, 0, expr.at}, {.kind = ValueKind::boolean},
             1 + cost_of_bytes(read), {of, part});
}

Compiled Compiler::matches(const Expr& expr) {
  need_arguments(expr, expr.form == Form::method ? 1 : 2);
  const Compiled of = operand(expr.parts[0], ValueKind::text, expr.text);
  const Compiled pattern = operand(expr.parts[1], ValueKind::text, expr.text);
  const PolicyNode& node = program_.nodes[pattern.node];
  if (node.op != Op::constant) refuse(expr.parts[1].at, "the pattern of matches() must be constant");
  std::uint32_t index = 0;
  try {
    index = program_.pattern(program_.constants[node.a].view());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}:{}:{}: {}{}", target_.file, expr.parts[1].at.line,
                                          expr.parts[1].at.column, target_.context, error.what()));
  }
  const double cost = cost_of_match(of.type.bound, program_.patterns[index]->size());
  return add({Op::matches, ValueKind::absent, of.node, index, 0, expr.at}, {.kind = ValueKind::boolean}, cost, {of});
}

Compiled Compiler::convert(const Expr& expr, ValueKind to) {
  constexpr std::uint32_t kMostDigits = 20;
  need_arguments(expr, 1);
  const Compiled of = compile(expr.parts[0]);
  const ValueKind from = of.type.kind;
  if (from == to) return of;
  const bool fits = to == ValueKind::text ? from == ValueKind::integer || from == ValueKind::boolean
                                          : from == ValueKind::text ||
                                                from == (to == ValueKind::real ? ValueKind::integer : ValueKind::real);
  if (!fits) refuse(expr.at, "there is no conversion of {} by {}()", name_of(of.type), expr.text);
  const Op op = to == ValueKind::text ? Op::to_text : to == ValueKind::real ? Op::to_real : Op::to_integer;
  const ValueType type = {.kind = to, .bound = to == ValueKind::text ? kMostDigits : 0};
  const double cost = 2 + (from == ValueKind::text ? of.type.bound : 0);
  return add({op, ValueKind::absent, of.node, 0, 0, expr.at}, type, cost, {of});
}

}  // namespace

Compiled compile(const Expr& expr, const Target& target) { return Compiler(target).compile(expr); }

}  // namespace frazil::govern
