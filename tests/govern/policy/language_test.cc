#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "govern/policy/compile.h"
#include "govern/policy/evaluate.h"
#include "govern/policy/parser.h"
#include "govern/policy/policy_text.h"
#include "govern/policy/random_expression.h"

// The language: syntax, types, values and costs of expressions.
namespace frazil::test {
namespace {

TEST(PolicySyntax, ErrorsHaveLineAndColumn) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "p:1:1: expected 'policy', got the end of the file"},
      {"policy \"a\" serial 0;", "p:1:19: expected a serial number from 1 to 2^53, got a number"},
      {"policy \"a\" serial 1 until \"2027-02-30T00:00:00Z\";",
       "p:1:27: expected a time such as \"2027-06-30T00:00:00Z\""},
      {"policy \"a\" serial 1;\nallow x", "p:2:1: expected 'const', 'permit', 'forbid' or 'case', got 'allow'"},
      {"policy \"a\" serial 1;\npermit if on run reason \"\";",
       "p:2:8: 'if' is a reserved word and cannot be the name of a rule"},
      {"policy \"a\" serial 1;\npermit r on runs reason \"\";",
       "p:2:13: there is no hook 'runs'; the hooks are file, load, edit, publish, roll_back, register, dispatch, "
       "external, "
       "run, config, admin"},
      {"policy \"a\" serial 1;\npermit r on run, run reason \"\";", "p:2:18: hook 'run' is named twice"},
      {"policy \"a\" serial 1;\npermit r on run when true;", "p:2:26: expected 'reason', got ';'"},
      {"policy \"a\" serial 1;\npermit r on run mode soft reason \"\";",
       "p:2:22: expected 'enforce' or 'shadow', got 'soft'"},
      {"policy \"a\" serial 1;\npermit r on run reason \"\";\nforbid r on run reason \"\";",
       "p:3:8: there are two rules 'r'"},
      {"policy \"a\" serial 1; permit r on run when 1 == reason \"\";", "p:1:55: expected 'reason', got a string"},
      {"policy \"a\" serial 1;\nconst a = 1; const a = 2;", "p:2:20: there are two constants 'a'"},
      {"policy \"a\" serial 1;\nconst a = b;", "p:2:11: constant 'a': there is no constant 'b' before this one"},
      {"policy \"a\" serial 1;\nconst a = 1 / 0;", "p:2:13: constant 'a': the expression is an error or too costly"},
      {"policy \"a\" serial 1;\nconst tenant = 1;",
       "p:2:7: the constant 'tenant' has the name of a field of hook 'dispatch'"},
      {"policy \"a\" serial 1; \"abc", "p:1:22: a string has no closing \""},
      {"policy \"a\\q\"", "p:1:11: there is no such escape in a string"},
      {"policy \"\\ud800\"", "p:1:10: an escape is not a Unicode character"},
      {"policy \"a\" serial 1; #", "p:1:22: the character '#' has no meaning here"},
      {"policy \"a\" serial 1; // a comment\n  1u",
       "p:2:3: a number may not end in 'u'; there are int and double only"},
      {"policy \"\xff\"", "p: the text is not UTF-8"},
      {"policy \"a\" serial 1;\ncase \"c\" on run with [] expect deny;",
       "p:2:22: expected the input as {\"FIELD\": VALUE, ...}"},
      {"policy \"a\" serial 1;\ncase \"c\" on run with {\"tenant\": 1} expect deny;",
       "p:2:6: case \"c\".tenant: expected string, got number"},
      {"policy \"a\" serial 1;\ncase \"c\" on run with {\"tenant\": \"\", \"tenant\": \"\"} expect deny;",
       "p:2:37: the key \"tenant\" occurs twice"},
      {"policy \"a\" serial 1;\ncase \"c\" on run with {} expect deny by r;", "p:2:40: there is no rule 'r'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(error_of([&] { Policy::read(text, "p"); }), expected) << text;
  }
}

TEST(PolicySyntax, RefusesDeepNesting) {
  for (const char* open : {"(", "[", "!-", "true ? true : "}) {
    std::string text = "permit r on run when ";
    for (int i = 0; i < 300; ++i) text += open;
    EXPECT_THAT(error_of_policy(text), testing::HasSubstr("the expression is nested deeper than 200")) << open;
  }
  std::string sum = "1";
  for (int i = 0; i < 300; ++i) sum += " + 1";
  EXPECT_THAT(error_of_condition(sum + " == 1"), testing::HasSubstr("the expression is nested deeper than 200"));
}

TEST(PolicyTypes, ErrorsHaveLineAndColumn) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"tenat == \"a\"",
       "3:1: rule 'r', hook 'run': there is no field or constant 'tenat'; the fields are tenant, model, "
       "version, digest, priority, parameters, forecast, budget_left"},
      {"forecast.cost == 1",
       "3:10: rule 'r', hook 'run': record forecast has no field 'cost'; its fields are cost_ns, memory"},
      {"tenant.x == 1", "3:8: rule 'r', hook 'run': string has no fields, so not 'x'"},
      {"tenant == 1", "3:8: rule 'r', hook 'run': '==' compares string and int; both must have one type"},
      {"priority == 1.0", "3:10: rule 'r', hook 'run': '==' compares int and double; both must have one type"},
      {"forecast == forecast", "3:10: rule 'r', hook 'run': '==' has no meaning for record forecast"},
      {"true < false", "3:6: rule 'r', hook 'run': '<' has no meaning for bool"},
      {"priority", "3:1: rule 'r', hook 'run': the condition is int, not bool"},
      {"priority && true", "3:1: rule 'r', hook 'run': '&&' needs bool, got int"},
      {"!priority", "3:1: rule 'r', hook 'run': '!' has no meaning for int"},
      {"1.5 % 2.0 == 0.0", "3:5: rule 'r', hook 'run': '%' has no meaning for double and double"},
      {"[1, \"a\"] == []",
       "3:5: rule 'r', hook 'run': a list has elements of one type; this is string, the first is int"},
      {"1 in [\"a\"]", "3:3: rule 'r', hook 'run': 'in' has no meaning for int and list<string>"},
      {"parameters[1] == \"\"", "3:12: rule 'r', hook 'run': expected string as index of map<string, string>, got int"},
      {"tenant.all(x, true)", "3:8: rule 'r', hook 'run': 'all' needs a list or a map, got string"},
      {"parameters.all(model, true)",
       "3:16: rule 'r', hook 'run': the variable 'model' has the name of something else"},
      {"tenant.matches(model)", "3:16: rule 'r', hook 'run': the pattern of matches() must be constant"},
      {"has(tenant == model)", "3:12: rule 'r', hook 'run': has() needs a field: has(forecast.memory)"},
      {"tenant.size(1) == 1", "3:8: rule 'r', hook 'run': size() takes 0 arguments, got 1"},
      {"string(1.5) == \"\"", "3:1: rule 'r', hook 'run': there is no conversion of double by string()"},
      {"tenant == null", "3:11: there is no null; use has(FIELD)"},
      {"1 / 0 == 1", "3:7: rule 'r', hook 'run': the condition is an error for every input"},
      {"9223372036854775808 == 1", "3:1: the number 9223372036854775808 is beyond 64 bits"},
  };
  for (const auto& [condition, expected] : cases) {
    EXPECT_EQ(error_of_condition(condition).substr(2), expected) << condition;
  }
  EXPECT_THAT(error_of_condition("tenant.lower() == \"\""),
              testing::HasSubstr("there is no method 'lower'; there are size"));
#ifdef FRAZIL_RE2
  EXPECT_THAT(error_of_condition("tenant.matches(\"(\")"),
              testing::HasSubstr("3:16: rule 'r', hook 'run': the pattern is not valid for RE2"));
#endif
}

TEST(PolicyTypes, ARuleIsCheckedForEachOfItsHooks) {
  EXPECT_THAT(error_of_policy("permit r on run, admin when priority == 1 reason \"\";"),
              testing::HasSubstr("p:2:29: rule 'r', hook 'admin': there is no field or constant 'priority'"));
}

/// Evaluates an expression without inputs, or with those of random_layout().
std::string result_of(std::string_view text, const Json& input = Json::object()) {
  PolicyProgram program;
  Constants constants;
  const Input values = Input::from_json(random_layout(), input, "input");
  const Compiled compiled = compile(parse_expression(text, "e"), {program, constants, random_layout(), "e", ""});
  std::pmr::monotonic_buffer_resource memory;
  EvalScope scope{program, values.slots(), memory};
  scope.steps = static_cast<std::uint64_t>(compiled.cost) + 1;
  const Value value = evaluate(scope, compiled.node);
  switch (value.kind) {
    case ValueKind::boolean: return value.boolean ? "true" : "false";
    case ValueKind::integer: return fmt::format("{}", value.integer);
    case ValueKind::real: return fmt::format("{}", value.real);
    case ValueKind::text: return fmt::format("'{}'", value.view());
    case ValueKind::error:
      return scope.stopped ? "more steps than the cost" : describe(value, program, random_layout());
    default: return "another kind";
  }
}

TEST(PolicyValues, FollowCel) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"1 + 2 * 3 - 4 / 2 % 3", "5"},
      {"-7 / 2", "-3"},
      {"-7 % 3", "-1"},
      {"0x10 + 1", "17"},
      {"--3", "3"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775807 + 1", "1:21: the result is beyond 64 bits"},
      {"-9223372036854775808 / -1", "1:22: the result is beyond 64 bits"},
      {"-(-9223372036854775808)", "1:1: the result is beyond 64 bits"},
      {"5 % 0", "1:3: division by zero"},
      {"1.0 / 0.0", "inf"},
      {"0.1 + 0.2 == 0.3", "false"},
      {"0.0 / 0.0 == 0.0 / 0.0", "false"},
      {"-0.0 == 0.0", "true"},
      {"size('\\u00e9\\U0001F600')", "2"},
      {"'ab' + \"c\" < 'abd'", "true"},
      {"r'\\n' == '\\\\n'", "true"},
      {"'\\x41\\101\\u0041' == 'AAA'", "true"},
      {"[1, 2] + [3] == [1, 2, 3]", "true"},
      {"[[1], []] == [[1], []]", "true"},
      {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
      {"{'a': 1}.a + {'b-c': 2}['b-c']", "3"},
      {"{'a': 1, 'a': 2} == {'a': 1}", "1:1: a key occurs twice"},
      {"{'a': 1}.b", "1:10: there is no key 'b'"},
      {"[1][1]", "1:4: the index is outside of the list"},
      {"[1][-1]", "1:4: the index is outside of the list"},
      {"2 in [1, 2]", "true"},
      {"'c' in ['b', 'c', 'a']", "true"},
      {"'a' in {'a': 1}", "true"},
      {"has({'a': 1}.a) && !has({'a': 1}.b)", "true"},
      {"[1, 2, 3].all(x, x > 0) && ![1, 2].exists(x, x > 2)", "true"},
      {"[1, 2, 1].exists_one(x, x == 1)", "false"},
      {"{'a': 1}.all(k, k == 'a')", "true"},
      {"true ? 1 : 1 / 0", "1"},
      {"1 < 2 == true", "true"},
      {"int('-12') + int(2.9) + int(-2.9)", "-12"},
      {"int(' 1')", "1:1: the string is not a number"},
      {"int(9223372036854775808.0)", "1:1: the result is beyond 64 bits"},
      {"int(0.0 / 0.0)", "1:1: the result is beyond 64 bits"},
      {"double('1e3') + double(2)", "1002"},
      {"string(-5) + string(true)", "'-5true'"},
      {"'abc'.startsWith('ab') && 'abc'.endsWith('') && 'abc'.contains('bc')", "true"},
#ifdef FRAZIL_RE2
      {"'abc'.matches('^a.c$') && matches('xay', 'a') && !'b'.matches('^a')", "true"},
#endif
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(result_of(text), expected) << text;
}

TEST(PolicyValues, ErrorsAreAbsorbedInEitherOrder) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"true || i1 / 0 == 1", "true"},
      {"i1 / 0 == 1 || true", "true"},
      {"false && i1 / 0 == 1", "false"},
      {"i1 / 0 == 1 && false", "false"},
      {"b1 || i1 / 0 == 1", "true"},
      {"i1 / 0 == 1 || b1", "true"},
      {"i1 / 0 == 1 && !b1", "false"},
      {"i1 / 0 == 1 || !b1", "1:4: division by zero"},
      {"i1 / 0 == 1 && b1", "1:4: division by zero"},
      {"li.all(x, x / 0 == 1)", "1:13: division by zero"},
      {"li.all(x, x == 2 || 1 / (x - 1) == 5)", "1:23: division by zero"},
      {"li.all(x, 1 / (x - 1) > 5)", "false"},
      {"li.exists(x, 1 / (x - 1) == 1)", "true"},
      {"li.exists_one(x, 1 / (x - 1) == 1)", "1:20: division by zero"},
      {"i1 / 0 == 1 ? true : true", "1:4: division by zero"},
      {"i3 == 1", "1:1: field 'i3' is absent"},
      {"has(i3)", "false"},
      {"has(r.t) || r.n == 7", "true"},
      {"has(lr[0].t)", "false"},
      {"lr[0].t == ''", "1:7: field is absent"},
      {"m.k2 == 1", "1:3: there is no key 'k2'"},
  };
  const Json input = {{"b1", true},         {"i1", 1},         {"li", {1, 2}}, {"r", {{"n", 7}}},
                      {"lr", {{{"n", 1}}}}, {"m", {{"k1", 1}}}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(result_of(text, input), expected) << text;
}

double cost_of(std::string_view condition) {
  const auto policy = policy_of(fmt::format("permit r on load when {} reason \"\";", condition));
  return policy->rules_on(Hook::load).front().cost;
}

TEST(PolicyCost, FollowsTheDeclaredBounds) {
  EXPECT_EQ(cost_of("report.bounded"), 1);
  EXPECT_EQ(cost_of("report.bounded && report.bounded"), 3);
  EXPECT_EQ(cost_of("model == version"), 3 + 64 / 64);             // the shorter text
  EXPECT_EQ(cost_of("model == \"abcdefgh\""), 3 + 8.0 / 64);       // a constant
  EXPECT_EQ(cost_of("report.models.all(m, true)"), 2 + 1024 * 2);  // 1024 elements
  EXPECT_EQ(cost_of("report.models.all(m, report.code.all(c, true))"), 2 + 1024 * (1 + 2 + 256 * 2));
  EXPECT_EQ(cost_of("1 + 1 == 2"), 1);  // evaluated when it is read
  EXPECT_LT(cost_of("report.bounded ? model == version : false"), cost_of("model == version") + 4);
}

TEST(PolicyCost, RefusesRulesOverTheBudget) {
  EXPECT_EQ(error_of_policy("permit r on load when report.models.all(a, report.models.all(b, report.models.exists(c, "
                            "c == a + b))) reason \"\";"),
            "p:2:37: rule 'r', hook 'load': the worst case costs 19330501634 units, and 10000000 are allowed; test the "
            "sizes of fewer lists or nest fewer macros");
  EXPECT_EQ(error_of_policy("permit r on run when parameters.all(a, parameters.all(b, parameters[a] != parameters[b])) "
                            "reason \"\";")
                .substr(0, 61),
            "p:2:33: rule 'r', hook 'run': the worst case costs 780072 uni");
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += fmt::format(
        "permit r{} on run when parameters.all(a, a + tenant + model + digest + tenant + model + model == a) reason "
        "\"\";\n",
        i);
  }
  EXPECT_THAT(error_of_policy(many), testing::HasSubstr("p: the rules of hook 'run' cost"));
}

TEST(PolicyCost, BoundsWhatConstantsTake) {
  std::string text = "const a = [1";
  for (int i = 0; i < 20000; ++i) text += ", 1";
  text += "];\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("const a{} = a + a + a + a;\n", i);
  EXPECT_THAT(error_of_policy(text), testing::AnyOf(testing::HasSubstr("too costly"), testing::HasSubstr("64 MiB")));
}

TEST(PolicyRandom, ExpressionsKeepWithinTheirCost) {
  RandomExpression random(7);
  int values = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random.expression(i % 14);
    const std::string result = result_of(text, random.input());
    EXPECT_NE(result, "more steps than the cost") << text;
    EXPECT_NE(result, "another kind") << text;
    values += result.starts_with("1:") ? 0 : 1;
  }
  EXPECT_GT(values, 2000);
}

}  // namespace
}  // namespace frazil::test
