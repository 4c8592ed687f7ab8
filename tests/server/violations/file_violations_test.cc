// Operators that rules forbid, hidden in the places of a model file and added by edits; and registrations.
#include <frazil/build.h>
#include <frazil/host_operator.h>
#include <frazil/live.h>

#include "onnx/model_writer.h"
#include "server/violations/violation.h"

namespace frazil::test {
namespace {

using govern::Governor;

/// A place of a file with one unary operator in it, from `x` to `r`.
struct Place {
  const char* name;
  Message (*file)(const NodeSpec& hidden);
  bool loads = true;  ///< the loaded model has the operator
};

Message in_graph(const std::vector<NodeSpec>& nodes, const std::string& result, const ModelSpec& spec = {}) {
  return model(graph({.nodes = nodes,
                      .inputs = {f32("x", {"2"}), value("c", tensor_type(Elem::boolean, {}))},
                      .outputs = {value(result)}}),
               spec);
}
Message body(const std::vector<NodeSpec>& nodes, const std::string& result) {
  return graph({.nodes = nodes, .inputs = {}, .outputs = {value(result)}});
}
NodeSpec choice(const std::vector<NodeSpec>& nodes, const std::string& result, const std::string& to) {
  const Message other = body({{"Identity", {"x"}, {"other_" + to}}}, "other_" + to);
  return {"If", {"c"}, {to}, {graph_attr("then_branch", body(nodes, result)), graph_attr("else_branch", other)}};
}
NodeSpec loop(const NodeSpec& hidden) {
  Message inner = graph({.nodes = {hidden, {"Identity", {"on"}, {"on2"}}},
                         .inputs = {value("i", tensor_type(Elem::i64, {})), value("on", tensor_type(Elem::boolean, {})),
                                    f32("x_before", {"2"})},
                         .outputs = {value("on2"), value("r")}});
  return {"Loop", {"", "c", "x"}, {"z"}, {graph_attr("body", inner)}};
}
NodeSpec local(const std::string& name) { return {name, {"x"}, {"z"}, {}, "", "local"}; }
FunctionSpec function_of(const std::string& name, const std::vector<NodeSpec>& nodes, const std::string& result) {
  return {.name = name, .inputs = {"x"}, .outputs = {result}, .attributes = {}, .nodes = nodes};
}

const Place kPlaces[] = {
    {"the graph", [](const NodeSpec& hidden) { return in_graph({hidden}, "r"); }},
    {"a dead node", [](const NodeSpec& hidden) { return in_graph({hidden, {"Identity", {"x"}, {"z"}}}, "z"); }, false},
    {"a branch", [](const NodeSpec& hidden) { return in_graph({choice({hidden}, "r", "z")}, "z"); }},
    {"a branch in a branch",
     [](const NodeSpec& hidden) { return in_graph({choice({choice({hidden}, "r", "q")}, "q", "z")}, "z"); }},
    {"a body of a loop", [](const NodeSpec& hidden) { return in_graph({loop(hidden)}, "z"); }},
    {"a function",
     [](const NodeSpec& hidden) {
       return in_graph({local("f")}, "z", {.functions = {function_of("f", {hidden}, "r")}});
     }},
    {"a function of a function",
     [](const NodeSpec& hidden) {
       const FunctionSpec outer = function_of("g", {{"f", {"x"}, {"y"}, {}, "", "local"}}, "y");
       return in_graph({local("g")}, "z", {.functions = {function_of("f", {hidden}, "r"), outer}});
     }},
    {"a function that nothing calls",
     [](const NodeSpec& hidden) {
       return in_graph({{"Identity", {"x"}, {"z"}}}, "z", {.functions = {function_of("f", {hidden}, "r")}});
     },
     false},
    {"a branch in a function",
     [](const NodeSpec& hidden) {
       FunctionSpec f = function_of("f", {choice({hidden}, "r", "q")}, "q");
       f.inputs = {"x", "c"};
       return in_graph({{"f", {"x", "c"}, {"z"}, {}, "", "local"}}, "z", {.functions = {f}});
     }},
};

class FileViolations : public testing::Test {
 protected:
  std::string load(const Message& bytes) const {
    return result_of([&] {
      (void)api::Model::from_bytes(std::as_bytes(std::span(bytes)), {.policy = governor_->for_model({"m", "1"})});
    });
  }
  static NodeSpec op(const std::string& name, const std::string& domain = "") {
    return {.op = name, .inputs = {"x"}, .outputs = {"r"}, .domain = domain};
  }

  std::shared_ptr<Governor> governor_ = std::make_shared<Governor>(govern::GovernorOptions{.policy = all_but("")});
};

/// 9 places x 5 operators: before any type rule, and before a function is inlined.
TEST_F(FileViolations, OperatorsAreFoundInEachPlaceOfAFile) {
  std::vector<Violation> all;
  for (const Place& place : kPlaces) {
    for (const std::string name : {"Exp", "Cos", "Neg", "Sqrt", "Erf"}) {
      all.push_back({.name = place.name + (": " + name),
                     .rule = forbid("file", "operators.exists(o, o.domain == \"\" && o.name == \"" + name + "\")"),
                     .violation = [&, name] { return load(place.file(op(name))); },
                     .sibling = [&] { return load(place.file(op("Abs"))); }});
    }
  }
  ASSERT_EQ(all.size(), 45U);
  expect_refused(*governor_, all);
}

/// 7 places x 3 operators: in the report over all paths.
TEST_F(FileViolations, OperatorsThatAnyPathMayRunAreFoundInTheReport) {
  std::vector<Violation> all;
  for (const Place& place : kPlaces) {
    if (!place.loads) continue;
    for (const std::string name : {"Exp", "Cos", "Erf"}) {
      all.push_back({.name = place.name + (": " + name),
                     .rule = forbid("load", "\"" + name + "\" in report.operators"),
                     .violation = [&, name] { return load(place.file(op(name))); },
                     .sibling = [&] { return load(place.file(op("Abs"))); }});
    }
  }
  ASSERT_EQ(all.size(), 21U);
  expect_refused(*governor_, all);
}

/// 9 places x 1 domain: a rule names the domains that are allowed.
TEST_F(FileViolations, ForeignDomainsAreFoundInEachPlaceOfAFile) {
  std::vector<Violation> all;
  for (const Place& place : kPlaces) {
    all.push_back({.name = place.name,
                   .rule = forbid("file", R"(operators.exists(o, !(o.domain in ["", "ai.onnx.ml", "local"])))"),
                   .violation = [&] { return load(place.file(op("Gelu", "com.microsoft"))); },
                   .sibling = [&] { return load(place.file(op("Abs"))); }});
  }
  ASSERT_EQ(all.size(), 9U);
  expect_refused(*governor_, all);
}

/// 3 ways of a change x 6 rules.
TEST_F(FileViolations, ChangesOfModelsAreDecidedByWhatTheyAdd) {
  constexpr const char* kAbs = "graph g(%x: f32[N]) { %y = Abs(%x) return y = %y }";
  const auto changed = [&](const std::string& hook, const std::string& op, const std::string& author,
                           const std::string& reason) {
    return result_of([&] {
      api::LiveModel live(api::Model::from_text(kAbs, {}, {.policy = governor_->for_process()}));
      const auto add = [&](api::Patch& patch) { patch.replace("y", patch.op(op, {patch.tap("y")})); };
      if (hook == "edit") return void(live.edit({author, reason}, add));
      const api::Model next =
          api::Model::from_text("graph g(%x: f32[N]) { %a = Abs(%x) %y = " + op + "(%a) return y = %y }");
      live.publish(next, {author, reason});
      if (hook == "roll_back") {
        live.publish(api::Model::from_text(kAbs), {author, reason});
        live.roll_back(2, {author, reason});
      }
    });
  };
  const std::pair<const char*, std::array<const char*, 3>> kRules[] = {
      {R"("Exp" in report.operators)", {"Exp", "ada", "why"}},
      {R"(model == "g" && "Exp" in diff.added_operators)", {"Exp", "ada", "why"}},
      {R"(author == "eve")", {"Abs", "eve", "why"}},
      {"!has(reason)", {"Abs", "ada", ""}},
      {R"(has(reason) && reason.startsWith("urgent"))", {"Abs", "ada", "urgent: no time"}},
      {R"(author != "ada" || "Exp" in report.operators)", {"Exp", "ada", "why"}},
  };
  std::vector<Violation> all;
  for (const std::string hook : {"edit", "publish", "roll_back"}) {
    for (const auto& [rule, how] : kRules) {
      all.push_back({.name = hook,
                     .rule = forbid(hook, rule),
                     .violation = [&, hook, how] { return changed(hook, how[0], how[1], how[2]); },
                     .sibling = [&, hook] { return changed(hook, "Neg", "ada", "why"); }});
    }
  }
  ASSERT_EQ(all.size(), 18U);
  expect_refused(*governor_, all);
}

/// 6 rules for operators and host functions.
TEST_F(FileViolations, RegistrationsAreDecidedByNameAndKind) {
  const auto at_door = [&](const std::string& kind, const std::string& name, std::optional<std::string> digest = {}) {
    return [this, kind, name, digest] {
      return governor_->check_register({.kind = kind, .name = name, .digest = digest}).value_or("permitted");
    };
  };
  const std::string good = "sha256:" + std::string(64, 'a'), bad = "sha256:" + std::string(64, 'b');
  const std::vector<Violation> all = {
      {"domain", forbid("register", R"(name.startsWith("evil."))"), at_door("operator", "evil.Twice"),
       at_door("operator", "com.acme.Twice")},
      {"kind", forbid("register", R"(kind == "host_function")"), at_door("host_function", "score"),
       at_door("operator", "com.acme.Score")},
      {"name", forbid("register", R"(!(name in ["com.acme.Score"]))"), at_door("operator", "com.acme.Other"),
       at_door("operator", "com.acme.Score")},
      {"digest", forbid("register", "!has(digest) || digest != \"" + good + "\""), at_door("program", "p", bad),
       at_door("program", "p", good)},
      {"no digest", forbid("register", "!has(digest)"), at_door("program", "p"), at_door("program", "p", good)},
      {"phase", forbid("register", R"(phase == "start" && kind == "program")"), at_door("program", "p"),
       at_door("operator", "com.acme.Score")}};
  expect_refused(*governor_, all);
}

TEST_F(FileViolations, RegistrationsAreClosedOnceRequestsAreServed) {
  api::HostOperator op{.name = "Twice", .domain = "com.acme"};
  govern::RegistrationPolicy policy(governor_);
  EXPECT_FALSE(policy.check_operator(op));
  governor_->begin_serving();
  EXPECT_EQ(policy.check_operator(op), "registrations are closed once requests are served");
  EXPECT_EQ(policy.check_function("score"), "registrations are closed once requests are served");
  op.domain = "frazil.server";
  EXPECT_FALSE(policy.check_operator(op)) << "a part of the server";
}

}  // namespace
}  // namespace frazil::test
