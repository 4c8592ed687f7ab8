// Random expressions and rule sets with Frazil's results, for tests/govern/policy/peers.py.
//
//   policy_peers expressions SEED COUNT   {"expr", "vars", "ours"} for each line
//   policy_peers evaluate                 reads {"expr"} lines; writes {"value"}, {"error"} or {"refused"}
//   policy_peers rules SEED COUNT         {"policy", "cedar", "context", "ours", "rule"} for each line
//
// Values have tags: {"int": "1"}, {"double": "0.5"}, {"map": [[key, value]...]}; texts, bools and lists have none.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory_resource>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "govern/base/error.h"
#include "govern/policy/compile.h"
#include "govern/policy/evaluate.h"
#include "govern/policy/parser.h"
#include "govern/policy/policy.h"
#include "govern/policy/random_expression.h"

namespace frazil::test {
namespace {

using namespace govern;

Json tagged(const Value& value) {
  switch (value.kind) {
    case ValueKind::boolean: return value.boolean;
    case ValueKind::integer: return {{"int", fmt::format("{}", value.integer)}};
    case ValueKind::real: return {{"double", std::isnan(value.real) ? "NaN" : fmt::format("{:.17g}", value.real)}};
    case ValueKind::text: return value.view();
    case ValueKind::list: {
      Json list = Json::array();
      for (std::uint32_t i = 0; i < value.size; ++i) list.push_back(tagged(value.items[i]));
      return list;
    }
    case ValueKind::map: {
      Json pairs = Json::array();
      for (std::uint32_t i = 0; i < value.size; ++i) {
        pairs.push_back({tagged(value.items[2 * i]), tagged(value.items[2 * i + 1])});
      }
      return {{"map", pairs}};
    }
    default: return nullptr;
  }
}

Json tagged_record(const Value* fields, const RecordType& type) {
  Json pairs = Json::array();
  for (std::uint32_t i = 0; i < type.fields.size(); ++i) {
    const Value& value = fields[i];
    if (value.kind == ValueKind::absent) continue;
    const ValueType& of = type.fields[i].type;
    Json json = tagged(value);
    if (value.kind == ValueKind::record) json = tagged_record(value.items, *of.record);
    if (value.kind == ValueKind::list && of.element->kind == ValueKind::record) {
      json = Json::array();
      for (std::uint32_t j = 0; j < value.size; ++j) {
        json.push_back(tagged_record(value.items[j].items, *of.element->record));
      }
    }
    pairs.push_back({type.fields[i].name, json});
  }
  return {{"map", pairs}};
}

/// Returns {"value"}, {"error"} or {"refused"}.
Json result_of(const std::string& text, const Input& input) {
  PolicyProgram program;
  Constants constants;
  try {
    const Expr expr = parse_expression(text, "expression");
    const Compiled compiled = compile(expr, {program, constants, input.layout(), "expression", ""});
    std::pmr::monotonic_buffer_resource memory;
    EvalScope scope{program, input.slots(), memory};
    scope.steps = static_cast<std::uint64_t>(compiled.cost) + 1;  // the cost bounds the steps
    const Value value = evaluate(scope, compiled.node);
    if (scope.stopped) return {{"refused", "MORE STEPS THAN THE COST"}};
    if (value.is_error()) return {{"error", describe(value, program, input.layout())}};
    return {{"value", tagged(value)}};
  } catch (const Error& error) {
    return {{"refused", error.what()}};
  }
}

void print(const Json& json) { std::cout << json.dump() << '\n'; }

void expressions(std::uint64_t seed, std::uint64_t count) {
  RandomExpression random(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Input input = Input::from_json(random_layout(), random.input(), "input");
    const std::string text = random.expression(static_cast<int>(i % 12));
    print({{"expr", text},
           {"vars", tagged_record(input.slots().data(), random_layout().record())},
           {"ours", result_of(text, input)}});
  }
}

void evaluate_lines() {
  static const RecordType none = {"none", {}};
  static const Layout layout(none);
  const Input input(layout);
  for (std::string line; std::getline(std::cin, line);) {
    print(result_of(Json::parse(line).at("expr").get<std::string>(), input));
  }
}

/// A condition in the spellings of Frazil and of Cedar.
struct Condition {
  std::string ours, cedar;
};

class RandomRules {
 public:
  explicit RandomRules(std::uint64_t seed) : random_(seed) {}
  Json next();

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  std::string word() { return std::string(1, static_cast<char>('a' + below(3))); }
  Condition atom();
  Condition condition(int size);

  std::mt19937_64 random_;
};

Condition RandomRules::atom() {
  const std::string w = fmt::format("\"{}\"", word()), v = fmt::format("\"{}\"", word());
  const auto n = below(6);
  switch (below(7)) {
    case 0: return {fmt::format("tenant == {}", w), fmt::format("context.tenant == {}", w)};
    case 1: return {fmt::format("priority < {}", n), fmt::format("context.priority < {}", n)};
    case 2: return {fmt::format("tenant in [{}, {}]", w, v), fmt::format("[{}, {}].contains(context.tenant)", w, v)};
    case 3: return {fmt::format("forecast.memory * 2 - 3 >= {}", n), fmt::format("context.memory * 2 - 3 >= {}", n)};
    case 4:
      return {fmt::format("has(budget_left) && budget_left > {}", n),
              fmt::format("context has budget_left && context.budget_left > {}", n)};
    case 5: return {fmt::format("model.startsWith({})", w), fmt::format("context.model like \"{}*\"", w.substr(1, 1))};
    default: return {fmt::format("model.contains({})", w), fmt::format("context.model like \"*{}*\"", w.substr(1, 1))};
  }
}

Condition RandomRules::condition(int size) {
  if (size <= 0) {
    const Condition made = atom();
    return {fmt::format("({})", made.ours), fmt::format("({})", made.cedar)};
  }
  const Condition a = condition(size / 2), b = condition(size / 2);
  switch (below(4)) {
    case 0: return {fmt::format("({} && {})", a.ours, b.ours), fmt::format("({} && {})", a.cedar, b.cedar)};
    case 1: return {fmt::format("({} || {})", a.ours, b.ours), fmt::format("({} || {})", a.cedar, b.cedar)};
    case 2: return {fmt::format("!{}", a.ours), fmt::format("!{}", a.cedar)};
    default: {
      const Condition c = condition(0);
      return {fmt::format("({} ? {} : {})", c.ours, a.ours, b.ours),
              fmt::format("(if {} then {} else {})", c.cedar, a.cedar, b.cedar)};
    }
  }
}

Json RandomRules::next() {
  std::string policy = "policy \"random\" serial 1;\n";
  Json cedar = Json::object();
  const std::uint64_t count = below(7);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("r{}", i);
    const char* const effect = below(3) == 0 ? "forbid" : "permit";
    const Condition when = condition(static_cast<int>(below(6)));
    policy += fmt::format("{} {} on run when {} reason \"{}\";\n", effect, name, when.ours, name);
    cedar[name] = fmt::format("{}(principal, action, resource) when {{ {} }};", effect, when.cedar);
  }
  const std::string tenant = word(), model = word() + word();
  const auto priority = below(6), memory = below(6), left = below(8);
  Json input = {{"tenant", tenant}, {"model", model}, {"priority", priority}, {"forecast", {{"memory", memory}}}};
  Json context = {{"tenant", tenant}, {"model", model}, {"priority", priority}, {"memory", memory}};
  if (left < 6) input["budget_left"] = context["budget_left"] = left;
  const auto read = Policy::read(policy, "random.policy");
  const Decision decision = read->decide(Input::from_json(Hook::run, input, "input"));
  return {{"policy", policy},
          {"cedar", cedar},
          {"context", context},
          {"input", input},
          {"ours", decision.permits() ? "allow" : "deny"},
          {"cause", name_of(decision.cause)},
          {"rule", decision.rule}};
}

int run(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::uint64_t count = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (mode == "expressions") {
    expressions(seed, count);
  } else if (mode == "evaluate") {
    evaluate_lines();
  } else if (mode == "rules") {
    RandomRules random(seed);
    for (std::uint64_t i = 0; i < count; ++i) print(random.next());
  } else {
    std::fputs("usage: policy_peers expressions|evaluate|rules [SEED COUNT]\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace frazil::test

int main(int argc, char** argv) { return frazil::test::run(argc, argv); }
