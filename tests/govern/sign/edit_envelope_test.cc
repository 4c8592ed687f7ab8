#include "govern/sign/edit_envelope.h"

#include <functional>
#include <random>

#include "sign_testing.h"

namespace frazil::govern::sign_test::of_edit_envelope {
namespace {

const char* const kEnvelope = R"({
  "operators": [{"domain": "", "name": "MatMul", "opset": [9, 21]}, {"domain": "", "name": "MatMul", "opset": [1, 6]},
                {"domain": "ai.onnx.ml", "name": "*", "opset": [1, 3]}],
  "models": [{"name": "small"}, {"name": "large", "digest": "sha256:aa"}, {"digest": "sha256:bb"}],
  "endpoints": [{"kind": "http", "host": "a.example:443"}, {"kind": "http", "host": "b.example:443", "path": "/score"}],
  "code": ["sha256:cc"], "extents": {"batch": 64},
  "worst_cost_ns": 1000, "worst_memory_bytes": 4096, "max_steps": 50,
  "influence": {"answer": ["tensor", "tenant"], "*": ["clock"]}})";

const char* const kReport = R"({
  "operators": [{"domain": "", "name": "MatMul", "opset": 21, "count": 3}],
  "models": [{"name": "small", "version": null, "digest": null},
             {"name": "large", "version": 2, "digest": "sha256:aa"}],
  "endpoints": [{"kind": "http", "host": "a.example:443", "path": "/x"}],
  "code": [{"name": "clean.py", "digest": "sha256:cc"}], "extents": {"batch": [1, 64], "length": [1, 5000]},
  "worst_cost_ns": 1000, "worst_memory_bytes": 4096, "max_steps": null,
  "influence": {"answer": ["tensor"], "race": ["clock"]}})";

EditEnvelope envelope() { return read_edit_envelope(kEnvelope, "envelope"); }
Json report() { return parse_json(kReport, "report"); }

TEST(EditEnvelopes, NameEachBoundThatAReportLeaves) {
  struct Case {
    std::function<void(Json& report)> change;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases = {
      {[](Json&) {}, {}},
      {[](Json& r) { r["operators"][0]["opset"] = 22; },
       {"operator 'MatMul': expected opset 1 to 6, 9 to 21, got 22 [operators]"}},
      {[](Json& r) { r["operators"][0]["opset"] = 7; },
       {"operator 'MatMul': expected opset 1 to 6, 9 to 21, got 7 [operators]"}},
      {[](Json& r) { r["operators"][0]["opset"] = 9; }, {}},
      {[](Json& r) { r["operators"][0]["name"] = "TopK"; }, {"operator 'TopK': it is not in the envelope [operators]"}},
      {[](Json& r) { r["operators"][0]["domain"] = "com.example"; },
       {"operator 'com.example.MatMul': it is not in the envelope [operators]"}},
      {[](Json& r) { r["operators"][0] = {{"domain", "ai.onnx.ml"}, {"name", "Scaler"}, {"opset", 3}}; }, {}},
      {[](Json& r) { r["models"][0]["name"] = "other"; }, {"model 'other': it is not in the envelope [models]"}},
      {[](Json& r) { r["models"][0] = {{"name", "other"}, {"digest", "sha256:bb"}}; }, {}},
      {[](Json& r) { r["models"][1]["digest"] = "sha256:ab"; },
       {"model 'large': expected the digest of the envelope, got sha256:ab [models]"}},
      {[](Json& r) { r["models"][1]["digest"] = Json(); },
       {"model 'large': expected the digest of the envelope, got none [models]"}},
      {[](Json& r) { r["endpoints"][0]["host"] = "c.example:443"; },
       {"endpoint 'http://c.example:443/x': it is not in the envelope [endpoints]"}},
      {[](Json& r) { r["endpoints"][0]["host"] = "b.example:443"; },
       {"endpoint 'http://b.example:443/x': it is not in the envelope [endpoints]"}},
      {[](Json& r) { r["endpoints"][0] = {{"kind", "http"}, {"host", "b.example:443"}, {"path", "/score"}}; }, {}},
      {[](Json& r) { r["endpoints"][0]["kind"] = "redis"; },
       {"endpoint 'redis://a.example:443/x': it is not in the envelope [endpoints]"}},
      {[](Json& r) { r["code"][0]["digest"] = "sha256:cd"; },
       {"program 'clean.py': its digest sha256:cd is not in the envelope [code]"}},
      {[](Json& r) { r["extents"]["batch"] = {1, 65}; }, {"extent 'batch': expected at most 64, got 65 [extents]"}},
      {[](Json& r) { r["extents"]["batch"] = Json(); },
       {"extent 'batch': expected at most 64, got no bound [extents]"}},
      {[](Json& r) { r["worst_cost_ns"] = 1000.5; }, {"report: expected at most 1000, got 1000.5 [worst_cost_ns]"}},
      {[](Json& r) { r["worst_cost_ns"] = Json(); }, {"report: expected at most 1000, got no bound [worst_cost_ns]"}},
      {[](Json& r) { r["worst_cost_ns"] = Json(), r["max_steps"] = 50; }, {}},
      {[](Json& r) { r["worst_cost_ns"] = Json(), r["max_steps"] = 51; },
       {"report: expected at most 50, got 51 [max_steps]"}},
      {[](Json& r) { r["worst_memory_bytes"] = 4097; },
       {"report: expected at most 4096, got 4097 [worst_memory_bytes]"}},
      {[](Json& r) { r["worst_memory_bytes"] = Json(), r["max_steps"] = 1; },
       {"report: expected at most 4096, got no bound [worst_memory_bytes]"}},
      {[](Json& r) { r["influence"]["answer"] = {"parameter", "tenant"}; },
       {"route 'answer': it may be steered by 'parameter', expected only tenant, tensor [influence]"}},
      {[](Json& r) { r["influence"]["other"] = {"tensor"}; },
       {"route 'other': it may be steered by 'tensor', expected only clock [influence]"}},
  };
  for (const Case& one : cases) {
    Json changed = report();
    one.change(changed);
    EXPECT_EQ(texts_of(contains(envelope(), changed, "report")), one.expected);
  }
  EditEnvelope unlimited = envelope();
  unlimited.max_steps.reset();
  Json unbounded = report();
  unbounded["worst_cost_ns"] = Json(), unbounded["max_steps"] = 1;
  EXPECT_EQ(texts_of(contains(unlimited, unbounded, "report")),
            std::vector<std::string>{"report: expected at most 1000, got no bound [worst_cost_ns]"});
}

TEST(EditEnvelopes, AReportWithoutAMemberIsAnError) {
  for (const char* name : {"operators", "models", "endpoints", "code", "extents", "worst_cost_ns", "worst_memory_bytes",
                           "max_steps", "influence"}) {
    Json changed = report();
    changed.erase(name);
    EXPECT_EQ(error_of([&] { (void)contains(envelope(), changed, "report"); }),
              "report: '" + std::string(name) + "' is missing");
  }
}

TEST(EditEnvelopes, AMemberThatIsMisspeltIsAnError) {
  const auto read = [](const std::function<void(Json&)>& change) {
    Json json = parse_json(kEnvelope, "envelope");
    change(json);
    return error_of([&] { (void)read_edit_envelope(canonical(json), "envelope"); });
  };
  EXPECT_EQ(read([](Json& e) { e["worst_cost"] = 1; }), "envelope: 'worst_cost' is not a member of envelopes");
  EXPECT_EQ(read([](Json& e) { e.erase("worst_cost_ns"); }), "envelope: 'worst_cost_ns' is missing");
  EXPECT_EQ(read([](Json& e) { e["worst_cost_ns"] = Json(); }), "envelope: 'worst_cost_ns': expected a number");
  EXPECT_EQ(read([](Json& e) { e["worst_cost_ns"] = -1; }),
            "envelope: 'worst_cost_ns': expected a number of at least 0");
  EXPECT_EQ(read([](Json& e) { e["operators"][0]["opset"] = {21, 9}; }),
            "envelope: operator 'MatMul': 'opset': expected [FIRST, LAST]");
  EXPECT_EQ(read([](Json& e) { e["models"][0] = Json::object(); }), "envelope: 'models': expected a name or a digest");
}

TEST(EditEnvelopes, EqualOnesHaveEqualTexts) {
  const std::string text = text_of(envelope());
  EXPECT_EQ(read_edit_envelope(text, "text"), envelope());
  EXPECT_EQ(text_of(read_edit_envelope(text, "text")), text);
  Json shuffled = parse_json(kEnvelope, "envelope");
  std::reverse(shuffled["operators"].begin(), shuffled["operators"].end());
  shuffled["operators"].push_back(shuffled["operators"][0]);
  EXPECT_EQ(text_of(read_edit_envelope(shuffled.dump(2), "envelope")), text);
}

TEST(EditEnvelopes, ContainEnvelopesThatAllowLess) {
  struct Case {
    std::function<void(EditEnvelope& inner)> change;
    std::vector<std::string> expected;
  };
  using E = EditEnvelope;
  const std::vector<Case> cases = {
      {[](E&) {}, {}},
      {[](E& e) {
         e = {.operators = {}, .models = {}, .endpoints = {}, .code = {}, .extents = {{"batch", 1}}, .influence = {}};
       },
       {}},
      {[](E& e) { e.operators = {{"", "MatMul", 10, 20}}; }, {}},
      {[](E& e) { e.operators = {{"", "MatMul", 5, 10}}; },
       {"operator 'MatMul': expected opset 1 to 6, 9 to 21, got 5 to 10 [operators]"}},
      {[](E& e) { e.operators = {{"ai.onnx.ml", "*", 1, 2}}; }, {}},
      {[](E& e) { e.operators = {{"", "*", 10, 10}}; }, {"operator '*': it is not in the envelope [operators]"}},
      {[](E& e) { e.models = {{"large", ""}}; },
       {"model 'large': expected the digest of the envelope, got none [models]"}},
      {[](E& e) { e.models = {{"", "sha256:aa"}}; }, {"model sha256:aa: it is not in the envelope [models]"}},
      {[](E& e) { e.models = {{"x", "sha256:bb"}}; }, {}},
      {[](E& e) { e.endpoints = {{"http", "b.example:443", {}}}; },
       {"endpoint 'http://b.example:443': it is not in the envelope [endpoints]"}},
      {[](E& e) { e.code = {"sha256:cd"}; },
       {"program 'sha256:cd': its digest sha256:cd is not in the envelope [code]"}},
      {[](E& e) { e.extents.clear(); }, {"extent 'batch': expected at most 64, got no bound [extents]"}},
      {[](E& e) { e.extents["length"] = 10; }, {}},
      {[](E& e) { e.worst_cost_ns = 1001; }, {"report: expected at most 1000, got 1001 [worst_cost_ns]"}},
      {[](E& e) { e.max_steps = 51; }, {"envelope: expected at most 50, got 51 [max_steps]"}},
      {[](E& e) { e.max_steps.reset(); }, {}},
      {[](E& e) { e.influence["answer"] = {"chance"}; },
       {"route 'answer': it may be steered by 'chance', expected only tenant, tensor [influence]"}},
      {[](E& e) { e.influence.erase("answer"); },
       {"route 'answer': it may be steered by 'clock', expected only tenant, tensor [influence]"}},
  };
  for (const Case& one : cases) {
    EditEnvelope inner = envelope();
    one.change(inner);
    EXPECT_EQ(texts_of(contains(envelope(), inner)), one.expected);
  }
}

/// What is inside an inner envelope is inside an outer one that contains it.
TEST(EditEnvelopes, ContainmentIsTransitive) {
  std::mt19937 random(7);
  const auto number = [&](std::uint32_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  const auto random_envelope = [&] {
    EditEnvelope e;
    for (const char* name : {"A", "B", "*"}) {
      const std::int64_t first = number(3);
      if (number(1) == 1) e.operators.insert({"", name, first, first + number(3)});
    }
    for (const char* route : {"r", "s", "*"}) {
      for (const char* label : {"x", "y"}) {
        if (number(2) == 0) e.influence[route].insert(label);
      }
    }
    for (const char* name : {"m", ""}) {
      if (number(1) == 1) e.models.insert({name, number(1) == 1 || *name == 0 ? "d" : ""});
    }
    if (number(1) == 1) e.extents["n"] = number(3);
    e.worst_cost_ns = static_cast<double>(number(3)), e.worst_memory_bytes = static_cast<double>(number(3));
    if (number(1) == 1) e.max_steps = static_cast<double>(number(3));
    return e;
  };
  const auto random_report = [&] {
    const auto maybe = [&](Json value) { return number(3) == 0 ? Json() : value; };
    return Json{{"operators", {{{"domain", ""}, {"name", number(1) == 1 ? "A" : "B"}, {"opset", number(5)}}}},
                {"models", {{{"name", number(1) == 1 ? "m" : "n"}, {"digest", maybe("d")}}}},
                {"endpoints", Json::array()},
                {"code", Json::array()},
                {"extents", {{"n", maybe(Json({0, number(3)}))}}},
                {"worst_cost_ns", maybe(number(3))},
                {"worst_memory_bytes", number(3)},
                {"max_steps", maybe(number(3))},
                {"influence", {{number(1) == 1 ? "r" : "s", {number(1) == 1 ? "x" : "y"}}}}};
  };
  int nested = 0, inside = 0;
  for (int i = 0; i < 20'000; ++i) {
    const EditEnvelope outer = random_envelope(), inner = random_envelope();
    if (!contains(outer, inner).empty()) continue;
    ++nested;
    for (int k = 0; k < 100; ++k) {
      const Json one = random_report();
      if (!contains(inner, one, "report").empty()) continue;
      ++inside;
      EXPECT_EQ(texts_of(contains(outer, one, "report")), std::vector<std::string>{})
          << text_of(outer) << text_of(inner) << one;
    }
  }
  EXPECT_GT(nested, 50);
  EXPECT_GT(inside, 5);
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_edit_envelope
