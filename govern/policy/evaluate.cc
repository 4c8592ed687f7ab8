#include "govern/policy/evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstring>

#include <fmt/format.h>

namespace frazil::govern {
namespace {

bool is_equal_map(const Value& a, const Value& b) {
  if (a.size != b.size) return false;
  for (std::uint32_t i = 0; i < a.size; ++i) {
    bool found = false;
    for (std::uint32_t j = 0; j < b.size && !found; ++j) {
      found = is_equal(a.items[2 * i], b.items[2 * j]) && is_equal(a.items[2 * i + 1], b.items[2 * j + 1]);
    }
    if (!found) return false;
  }
  return true;
}

std::partial_ordering order_of(const Value& a, const Value& b) {
  if (a.kind == ValueKind::integer) return a.integer <=> b.integer;
  if (a.kind == ValueKind::real) return a.real <=> b.real;
  return a.view() <=> b.view();
}

bool holds(Op op, std::partial_ordering order) {
  switch (op) {
    case Op::less: return order < 0;
    case Op::less_equal: return order <= 0;
    case Op::greater: return order > 0;
    default: return order >= 0;
  }
}

bool contains_text(std::string_view text, std::string_view part) {
  return part.empty() || ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

/// Counts the Unicode characters of UTF-8.
std::int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

class Evaluation {
 public:
  explicit Evaluation(EvalScope& scope) : scope_(scope) {}
  Value value(std::uint32_t index);

 private:
  using Index = std::uint32_t;
  Value dispatch(const PolicyNode& node, Index index);
  Value fail(EvalError error, Index node) const { return Value::failed(error, node); }
  Value checked(const Value& value, const PolicyNode& node, Index index) const {
    if (value.kind == node.kind) return value;
    return fail(value.kind == ValueKind::absent ? EvalError::absent_field : EvalError::wrong_kind, index);
  }
  Value select(const PolicyNode& node, Index index);
  Value key(const PolicyNode& node, Index index, const Value& key);
  Value index_list(const PolicyNode& node, Index index);
  Value has(const PolicyNode& node, Index index);
  Value logic(const PolicyNode& node);
  Value comparison(const PolicyNode& node);
  Value arithmetic(const PolicyNode& node, Index index);
  Value integers(Op op, std::int64_t a, std::int64_t b, Index index) const;
  static Value reals(Op op, double a, double b);
  Value join(const Value& a, const Value& b);
  Value membership(const PolicyNode& node);
  Value make(const PolicyNode& node, Index index);
  Value macro(const PolicyNode& node, Index index);
  Value text_test(const PolicyNode& node);
  Value size(const PolicyNode& node);
  Value negate(const PolicyNode& node, Index index);
  Value convert(const PolicyNode& node, Index index);
  Value to_text(const Value& value);
  const Value* find(const Value& map, const Value& key) const;
  Value* allocate(std::size_t count) {
    return static_cast<Value*>(scope_.memory.allocate(std::max<std::size_t>(count, 1) * sizeof(Value), alignof(Value)));
  }

  EvalScope& scope_;
};

Value Evaluation::value(Index index) {
  if (scope_.steps == 0) {
    scope_.stopped = true;
    return fail(EvalError::stopped, index);
  }
  --scope_.steps;
  return dispatch(scope_.program.nodes[index], index);
}

Value Evaluation::dispatch(const PolicyNode& node, Index index) {
  switch (node.op) {
    case Op::constant: return scope_.program.constants[node.a];
    case Op::slot: return checked(scope_.slots[node.a], node, index);
    case Op::variable: return scope_.variables[node.a];
    case Op::select: return select(node, index);
    case Op::key: return key(node, index, scope_.program.constants[node.b]);
    case Op::index_map: return key(node, index, value(node.b));
    case Op::index_list: return index_list(node, index);
    case Op::has_slot:
    case Op::has_select:
    case Op::has_key: return has(node, index);
    case Op::both:
    case Op::either: return logic(node);
    case Op::choose: {
      const Value condition = value(node.a);
      if (condition.is_error()) return condition;
      return value(condition.boolean ? node.b : node.c);
    }
    case Op::invert: {
      const Value operand = value(node.a);
      return operand.is_error() ? operand : Value::of(!operand.boolean);
    }
    case Op::negate: return negate(node, index);
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return comparison(node);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::modulo: return arithmetic(node, index);
    case Op::in_list:
    case Op::in_map:
    case Op::in_set: return membership(node);
    case Op::make_list:
    case Op::make_map: return make(node, index);
    case Op::all:
    case Op::exists:
    case Op::exists_one: return macro(node, index);
    case Op::size: return size(node);
    case Op::starts_with:
    case Op::ends_with:
    case Op::contains:
    case Op::matches: return text_test(node);
    case Op::to_integer:
    case Op::to_real:
    case Op::to_text: return convert(node, index);
  }
  return fail(EvalError::wrong_kind, index);
}

Value Evaluation::select(const PolicyNode& node, Index index) {
  const Value record = value(node.a);
  if (record.is_error()) return record;
  return checked(record.items[node.b], node, index);
}

const Value* Evaluation::find(const Value& map, const Value& key) const {
  for (std::uint32_t i = 0; i < map.size; ++i) {
    if (map.items[2 * i].view() == key.view()) return &map.items[2 * i + 1];
  }
  return nullptr;
}

Value Evaluation::key(const PolicyNode& node, Index index, const Value& key) {
  const Value map = value(node.a);
  if (map.is_error()) return map;
  if (key.is_error()) return key;
  const Value* const found = find(map, key);
  return found == nullptr ? fail(EvalError::no_key, index) : checked(*found, node, index);
}

Value Evaluation::index_list(const PolicyNode& node, Index index) {
  const Value list = value(node.a);
  if (list.is_error()) return list;
  const Value at = value(node.b);
  if (at.is_error()) return at;
  if (at.integer < 0 || at.integer >= list.size) return fail(EvalError::no_index, index);
  return checked(list.items[at.integer], node, index);
}

Value Evaluation::has(const PolicyNode& node, Index index) {
  if (node.op == Op::has_slot) {
    const bool around = node.b == Layout::kNone || scope_.slots[node.b].kind == ValueKind::record;
    return around ? Value::of(scope_.slots[node.a].kind != ValueKind::absent) : fail(EvalError::absent_field, index);
  }
  const Value operand = value(node.a);
  if (operand.is_error()) return operand;
  if (node.op == Op::has_key) return Value::of(find(operand, scope_.program.constants[node.b]) != nullptr);
  return Value::of(operand.items[node.b].kind != ValueKind::absent);
}

Value Evaluation::logic(const PolicyNode& node) {
  const bool decisive = node.op == Op::either;
  const Value a = value(node.a);
  if (!a.is_error() && a.boolean == decisive) return a;
  const Value b = value(node.b);
  if (!b.is_error() && b.boolean == decisive) return b;
  return a.is_error() ? a : b;
}

Value Evaluation::comparison(const PolicyNode& node) {
  const Value a = value(node.a);
  if (a.is_error()) return a;
  const Value b = value(node.b);
  if (b.is_error()) return b;
  if (node.op == Op::equal) return Value::of(is_equal(a, b));
  if (node.op == Op::unequal) return Value::of(!is_equal(a, b));
  return Value::of(holds(node.op, order_of(a, b)));
}

Value Evaluation::integers(Op op, std::int64_t a, std::int64_t b, Index index) const {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Op::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case Op::subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case Op::multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    default:
      if (b == 0) return fail(EvalError::division, index);
      overflow = b == -1 && a == std::numeric_limits<std::int64_t>::min();
      if (!overflow) result = op == Op::divide ? a / b : a % b;
  }
  return overflow ? fail(EvalError::overflow, index) : Value::of(result);
}

Value Evaluation::reals(Op op, double a, double b) {
  switch (op) {
    case Op::add: return Value::of(a + b);
    case Op::subtract: return Value::of(a - b);
    case Op::multiply: return Value::of(a * b);
    default: return Value::of(a / b);
  }
}

Value Evaluation::join(const Value& a, const Value& b) {
  if (a.kind == ValueKind::list) {
    Value* const items = allocate(std::size_t{a.size} + b.size);
    std::uninitialized_copy_n(a.items, a.size, items);
    std::uninitialized_copy_n(b.items, b.size, items + a.size);
    return Value::compound(ValueKind::list, items, a.size + b.size);
  }
  const std::size_t size = std::size_t{a.size} + b.size;
  char* const text = static_cast<char*>(scope_.memory.allocate(std::max<std::size_t>(size, 1), 1));
  std::ranges::copy(a.view(), text);
  std::ranges::copy(b.view(), text + a.size);
  return Value::of(std::string_view(text, size));
}

Value Evaluation::arithmetic(const PolicyNode& node, Index index) {
  const Value a = value(node.a);
  if (a.is_error()) return a;
  const Value b = value(node.b);
  if (b.is_error()) return b;
  if (a.kind == ValueKind::integer) return integers(node.op, a.integer, b.integer, index);
  if (a.kind == ValueKind::real) return reals(node.op, a.real, b.real);
  return join(a, b);
}

Value Evaluation::negate(const PolicyNode& node, Index index) {
  const Value operand = value(node.a);
  if (operand.is_error()) return operand;
  if (operand.kind == ValueKind::real) return Value::of(-operand.real);
  return integers(Op::subtract, 0, operand.integer, index);
}

Value Evaluation::membership(const PolicyNode& node) {
  const Value item = value(node.a);
  if (item.is_error()) return item;
  if (node.op == Op::in_set) {
    const Value& set = scope_.program.constants[node.b];
    return Value::of(std::ranges::binary_search(std::span(set.items, set.size), item.view(), {}, &Value::view));
  }
  const Value container = value(node.b);
  if (container.is_error()) return container;
  if (node.op == Op::in_map) return Value::of(find(container, item) != nullptr);
  const std::span items(container.items, container.size);
  return Value::of(std::ranges::any_of(items, [&](const Value& other) { return is_equal(item, other); }));
}

Value Evaluation::make(const PolicyNode& node, Index index) {
  const bool is_map = node.op == Op::make_map;
  const std::uint32_t count = node.b * (is_map ? 2 : 1);
  Value* const items = allocate(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    items[i] = value(scope_.program.arguments[node.a + i]);
    if (items[i].is_error()) return items[i];
    for (std::uint32_t j = 0; is_map && i % 2 == 0 && j < i; j += 2) {
      if (items[j].view() == items[i].view()) return fail(EvalError::no_key, index);
    }
  }
  return Value::compound(node.kind, items, node.b);
}

Value Evaluation::macro(const PolicyNode& node, Index index) {
  const Value range = value(node.a);
  if (range.is_error()) return range;
  const std::uint32_t step = range.kind == ValueKind::map ? 2 : 1;
  Value error;
  std::uint32_t matches = 0;
  for (std::uint32_t i = 0; i < range.size; ++i) {
    scope_.variables[node.c] = range.items[i * step];
    const Value result = value(node.b);
    if (result.is_error()) {
      if (scope_.stopped) return fail(EvalError::stopped, index);
      error = error.is_error() ? error : result;
      continue;
    }
    if (node.op != Op::exists_one && result.boolean == (node.op == Op::exists)) return result;
    matches += result.boolean ? 1 : 0;
  }
  if (error.is_error()) return error;
  if (node.op == Op::exists_one) return Value::of(matches == 1);
  return Value::of(node.op == Op::all);
}

Value Evaluation::size(const PolicyNode& node) {
  const Value operand = value(node.a);
  if (operand.is_error()) return operand;
  return Value::of(operand.kind == ValueKind::text ? characters(operand.view()) : std::int64_t{operand.size});
}

Value Evaluation::text_test(const PolicyNode& node) {
  const Value text = value(node.a);
  if (text.is_error()) return text;
  if (node.op == Op::matches) return Value::of(scope_.program.patterns[node.b]->matches(text.view()));
  const Value part = value(node.b);
  if (part.is_error()) return part;
  if (node.op == Op::starts_with) return Value::of(text.view().starts_with(part.view()));
  if (node.op == Op::ends_with) return Value::of(text.view().ends_with(part.view()));
  return Value::of(contains_text(text.view(), part.view()));
}

/// Reads a whole text as a number.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Value Evaluation::to_text(const Value& number) {
  if (number.kind == ValueKind::boolean) return Value::of(std::string_view(number.boolean ? "true" : "false"));
  constexpr std::size_t kMost = 20;
  char* const text = static_cast<char*>(scope_.memory.allocate(kMost, 1));
  const auto end = std::to_chars(text, text + kMost, number.integer).ptr;
  return Value::of(std::string_view(text, static_cast<std::size_t>(end - text)));
}

Value Evaluation::convert(const PolicyNode& node, Index index) {
  const Value operand = value(node.a);
  if (operand.is_error()) return operand;
  if (node.op == Op::to_text) return to_text(operand);
  if (node.op == Op::to_real) {
    if (operand.kind == ValueKind::integer) return Value::of(static_cast<double>(operand.integer));
    const auto number = number_in<double>(operand.view());
    return number ? Value::of(*number) : fail(EvalError::conversion, index);
  }
  if (operand.kind == ValueKind::text) {
    const auto number = number_in<std::int64_t>(operand.view());
    return number ? Value::of(*number) : fail(EvalError::conversion, index);
  }
  constexpr double kMost = 9223372036854775808.0;  // 2^63
  if (!(operand.real > -kMost && operand.real < kMost)) return fail(EvalError::overflow, index);
  return Value::of(static_cast<std::int64_t>(operand.real));
}

std::string path_of(const PolicyNode& node, const PolicyProgram& program, const Layout& layout) {
  if (node.op == Op::slot) return fmt::format(" '{}'", layout.slots()[node.a].path);
  if (node.op == Op::has_slot) return fmt::format(" '{}'", layout.slots()[node.b].path);
  if (node.op == Op::key) return fmt::format(" '{}'", program.constants[node.b].view());
  return {};
}

}  // namespace

bool is_equal(const Value& a, const Value& b) {
  switch (a.kind) {
    case ValueKind::boolean: return a.boolean == b.boolean;
    case ValueKind::integer: return a.integer == b.integer;
    case ValueKind::real: return a.real == b.real;
    case ValueKind::text: return a.view() == b.view();
    case ValueKind::list: return std::ranges::equal(std::span(a.items, a.size), std::span(b.items, b.size), is_equal);
    case ValueKind::map: return is_equal_map(a, b);
    default: return false;
  }
}

Value evaluate(EvalScope& scope, std::uint32_t node) { return Evaluation(scope).value(node); }

std::string describe(const Value& error, const PolicyProgram& program, const Layout& layout) {
  const PolicyNode& node = program.nodes[error.node];
  const std::string name = path_of(node, program, layout);
  const auto text = [&]() -> std::string {
    switch (error.error) {
      case EvalError::absent_field: return fmt::format("field{} is absent", name);
      case EvalError::no_key:
        return node.op == Op::make_map ? "a key occurs twice" : fmt::format("there is no key{}", name);
      case EvalError::no_index: return "the index is outside of the list";
      case EvalError::overflow: return "the result is beyond 64 bits";
      case EvalError::division: return "division by zero";
      case EvalError::conversion: return "the string is not a number";
      case EvalError::stopped: return "the limit of steps was reached";
      case EvalError::wrong_kind: return fmt::format("field{} has another type than declared", name);
    }
    return {};
  }();
  return fmt::format("{}:{}: {}", node.at.line, node.at.column, text);
}

}  // namespace frazil::govern
