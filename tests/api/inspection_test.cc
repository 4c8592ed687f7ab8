#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

// The API for programs that show, check, save and compare models, such as the command `frazil`.
namespace {

using frazil::Array;
using frazil::Code;
using frazil::Dtype;
using frazil::GraphView;
using frazil::Model;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A folder that the test removes.
struct Folder {
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* file) const { return path + "/" + file; }
  std::string path = testing::TempDir() + "frazil-inspection-XXXXXX";
};

Model branching() {
  return Model::from_text(R"(graph b(%c: bool[], %x: f32[N,2]) {
    %k = Add(%x, f32[] 1) "plus"
    %y = If(%c) then_branch() { %t = Softmax(%k){axis = 0} "soft" yield %t } else_branch() { %e = Neg(%k) yield %e } "choice"
    return y = %y })");
}

TEST(GraphViews, ShowWhichNodesDraw) {
  const GraphView graph(Model::from_text(
      "graph g(%x: f32[2]) { %r = RandomNormalLike(%x) %b = Bernoulli(%x) %y = Add(%r, %b) return y = %y }"));
  std::map<std::string, bool> drawing;
  for (const std::uint32_t id : graph.nodes()) drawing[graph.node(id).op] = graph.node(id).draws;
  EXPECT_EQ(drawing, (std::map<std::string, bool>{{"RandomNormalLike", true}, {"Bernoulli", true}, {"Add", false}}));
}

TEST(GraphViews, ShowNodesBlocksAndValues) {
  const GraphView graph(branching());
  std::map<std::string, GraphView::Node> nodes;
  for (const std::uint32_t id : graph.nodes()) nodes.emplace(graph.node(id).op, graph.node(id));
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(graph.block_count(), 3u);

  const GraphView::Node& choice = nodes.at("If");
  EXPECT_EQ(choice.name, "choice");
  EXPECT_EQ(choice.text, "node 'choice' (If)");
  ASSERT_EQ(choice.bodies.size(), 2u);
  const GraphView::Block then = graph.block(choice.bodies[0]);
  EXPECT_EQ(graph.node(then.owner.value()).op, "If");
  EXPECT_EQ(graph.node(then.nodes.at(0)).op, "Softmax");
  EXPECT_EQ(nodes.at("Softmax").block, choice.bodies[0]);
  EXPECT_EQ(graph.block(0).owner, std::nullopt);
  EXPECT_EQ(graph.block(0).parameters.size(), 2u);

  const auto& attributes = nodes.at("Softmax").attributes;
  ASSERT_EQ(attributes.size(), 1u);
  EXPECT_EQ(attributes[0].first, "axis");
  EXPECT_EQ(std::get<std::int64_t>(attributes[0].second.value()), 0);
  EXPECT_THAT(nodes.at("Neg").attributes, IsEmpty()) << "defaults are left out";

  const GraphView::Node& plus = nodes.at("Add");
  const GraphView::Value sum = graph.value(plus.outputs.at(0));
  EXPECT_EQ(sum.type, "f32[N,2]");
  EXPECT_EQ(graph.node(sum.node.value()).op, "Add");
  EXPECT_EQ(sum.constant, std::nullopt);
  const std::uint32_t one = plus.inputs.at(1).value();
  EXPECT_EQ(graph.value(one).constant.value().item<float>(), 1);
  EXPECT_EQ(graph.constant_bytes(one), 4u);
  EXPECT_EQ(graph.constant_bytes(plus.outputs.at(0)), std::nullopt);
  EXPECT_EQ(message_of([&] { (void)graph.node(99); }, Code::bad_input), "the graph has no node 99");
  EXPECT_EQ(message_of([&] { (void)graph.value(99); }, Code::bad_input), "the graph has no value 99");
  EXPECT_EQ(message_of([&] { (void)graph.block(3); }, Code::bad_input), "the graph has no block 3");
}

TEST(Annotations, KeepTheOrderOfPropertiesAndRepeatedKeys) {
  using namespace proto;
  const auto property = [](const char* key, const char* value) { return bytes(14, bytes(1, key) + bytes(2, value)); };
  const std::string file =
      negating_onnx(2, bytes(8, bytes(1, "zz") + number(2, 3)) + bytes(8, bytes(1, "ai.onnx.ml") + number(2, 3)) +
                           property("b", "1") + property("a", "2") + property("b", "3"));
  const auto found = frazil::annotations(Model::from_bytes(std::as_bytes(std::span(file))));
  EXPECT_THAT(found.model.properties,
              ElementsAre(testing::Pair("b", "1"), testing::Pair("a", "2"), testing::Pair("b", "3")));
  std::vector<std::string> domains;
  for (const auto& [domain, version] : found.opsets) domains.push_back(domain);
  EXPECT_THAT(domains, ElementsAre("", "ai.onnx.ml", "zz"));
  EXPECT_EQ(found.graph.doc, "of the graph");
  EXPECT_THAT(frazil::annotations(branching()).opsets, IsEmpty());
}

TEST(Ports, DescribeTheItemsOfSequencesAndMaps) {
  const Model model =
      Model::from_text("graph s(%q: seq<f32[N,3]>, %o: opt<seq<i64[]>>, %x: f32[N]) { return q = %q, o = %o, x = %x }");
  const auto& ports = model.inputs();
  ASSERT_NE(ports[0].item, nullptr);
  EXPECT_EQ(ports[0].item->type, "f32[N,3]");
  EXPECT_THAT(ports[0].item->extents, ElementsAre(-1, 3));
  EXPECT_TRUE(ports[1].optional && !ports[1].has_default);
  EXPECT_EQ(ports[1].kind, Array::Kind::sequence);
  EXPECT_EQ(ports[1].item->dtype, Dtype::i64);
  EXPECT_EQ(ports[2].item, nullptr);
}

TEST(Sizes, AreExtentsForValuesOfTheirNames) {
  const Model model = Model::from_text(
      "graph t(%x: f32[N,3,2*N + 1], %m: f32[M - 2], %q: seq<f32[]>) { return y = %x, m2 = %m, q = %q }");
  EXPECT_THAT(model.sizes("x"), ElementsAre(1, 3, 3)) << "names that are not given are 1";
  EXPECT_THAT(model.sizes("x", {{"N", 5}}), ElementsAre(5, 3, 11));
  EXPECT_THAT(model.sizes("y", {}, 0), ElementsAre(0, 3, 1)) << "of an output";
  EXPECT_THAT(model.sizes("m2", {{"M", 6}}), ElementsAre(4));
  EXPECT_THAT(message_of([&] { (void)model.sizes("m"); }, Code::bad_input), HasSubstr("'m': M - 2 is not an extent"));
  EXPECT_EQ(message_of([&] { (void)model.sizes("q"); }, Code::bad_input), "'q' has no rank");
  EXPECT_EQ(message_of([&] { (void)model.sizes("z"); }, Code::bad_input), "the model has no input or output 'z'");
}

TEST(Files, OfEveryKindOfValueAreReadAsTheyWereWritten) {
  const Folder folder;
  const Array tensor = Array::of<float>({2}, {1, 2});
  const Array strings = Array::of<std::string>({2}, {"a", "b"});
  const Array map = Array::map({{Array::scalar<std::int64_t>(3), tensor}});
  const struct {
    Array value;
    Array::Kind kind;
  } cases[] = {{tensor, Array::Kind::tensor},
               {strings, Array::Kind::tensor},
               {Array::sequence({tensor, tensor}), Array::Kind::sequence},
               {map, Array::Kind::map},
               {Array(), Array::Kind::none}};
  for (const auto& [value, kind] : cases) {
    SCOPED_TRACE(value.str());
    frazil::write_pb(value, folder / "v.pb");
    EXPECT_EQ(frazil::difference(Array::read_pb(folder / "v.pb", kind), value), std::nullopt);
  }
  EXPECT_THAT(message_of([&] { frazil::write_pb(tensor, folder / "no/v.pb"); }, Code::bad_input), HasSubstr("no/v.pb"));
}

TEST(Rounded, MakesFloatsOfEveryWidth) {
  const std::vector<float> numbers{1.0f, 0.1f, 70000.0f};
  const struct {
    Dtype dtype;
    double second, third;
  } cases[] = {{Dtype::f64, 0.1f, 70000},
               {Dtype::f32, 0.1f, 70000},
               {Dtype::f16, 0.0999755859375, std::numeric_limits<double>::infinity()},
               {Dtype::bf16, 0.10009765625, 70144}};
  for (const auto& [dtype, second, third] : cases) {
    SCOPED_TRACE(name_of(dtype));
    const Array made = frazil::rounded(dtype, {3}, numbers);
    EXPECT_EQ(made.number(0), 1);
    EXPECT_EQ(made.number(1), second);
    EXPECT_EQ(made.number(2), third);
  }
  EXPECT_EQ(message_of([&] { (void)frazil::rounded(Dtype::i8, {3}, numbers); }, Code::bad_input),
            "rounded: i8 is not a float type");
  EXPECT_EQ(message_of([&] { (void)frazil::rounded(Dtype::f16, {2}, numbers); }, Code::bad_input),
            "rounded: 3 numbers for f16[2]");
}

TEST(Environment, HasTheDefaultsOfOptions) {
  EXPECT_THAT(frazil::environment(), Contains(AllOf(Field(&frazil::EnvironmentVariable::name, "FRAZIL_MAX_NESTING"),
                                                    Field(&frazil::EnvironmentVariable::initial, "20000"))));
  const auto options = frazil::with_environment(frazil::Options{.max_steps = 7});
  EXPECT_EQ(options.max_steps, 7u) << "what is set stays";
  EXPECT_EQ(options.threads, 1u);
  EXPECT_EQ(options.memory_limit, frazil::resources().memory_bytes);
  EXPECT_EQ(options.deadline_ms, std::nullopt);
  EXPECT_EQ(frazil::with_environment(frazil::LoadOptions{}).max_nesting, 20000u);
  EXPECT_GE(frazil::resources().cores, 1u);
}

TEST(Environment, DoesNotChangeTheAdaptiveTier) {
  const Array x = Array::of<float>({1, 2}, {1, 2});
  auto session = branching().open({.tier = "adaptive"});
  EXPECT_EQ(session.run({{"c", Array::scalar(false)}, {"x", x}})[0].number(1), -3);
  EXPECT_THAT(message_of([&] { (void)branching().open({.tier = "fast"}); }, Code::bad_input), HasSubstr("'fast'"));
}

TEST(Log, RefusesUnknownLevels) {
  EXPECT_EQ(message_of([] { frazil::set_log_level(7); }, Code::bad_input), "set_log_level: expected 0 to 6, got 7");
  frazil::set_log_level(0);
}

TEST(Texts, ArePrintable) {
  EXPECT_EQ(frazil::printable("a\nb\xff"), "a\\nb\\xff");
  EXPECT_EQ(name_of(Code::bad_input), "bad input");
}

TEST(Passes, AndRulesAreListed) {
  EXPECT_THAT(frazil::passes(), Contains(Field(&frazil::PassInfo::name, "cse")));
  EXPECT_THAT(frazil::passes(), Contains(Field(&frazil::PassInfo::optional, false)));
  EXPECT_THAT(frazil::rewrite_rules(), Contains(AllOf(Field(&frazil::RuleInfo::numerics, "exact"),
                                                      Field(&frazil::RuleInfo::doc, HasSubstr("->")))));
  for (const frazil::OperatorInfo& op : frazil::operators()) {
    EXPECT_LE(op.oldest, op.since) << op.full_name();
    EXPECT_THAT(op.form, Not(IsEmpty())) << op.full_name();
  }
}

TEST(Recordings, AreComparedByName) {
  const Model model = branching();
  const Array x = Array::of<float>({1, 2}, {1, 2});
  const std::vector<frazil::Named> inputs{{"c", Array::scalar(true)}, {"x", x}};
  const frazil::Recording a = frazil::record(model, inputs, {.tier = "0"});
  ASSERT_EQ(a.error, std::nullopt);
  EXPECT_THAT(a.values, Contains(Field(&frazil::Recording::Value::name, "y")));
  EXPECT_EQ(frazil::compare(a, frazil::record(model, inputs, {.tier = "ref"})).differ, 0u);

  frazil::Recording stored;
  stored.values.push_back({.name = "y", .value = Array::of<float>({1, 2}, {1, 1.5f})});
  const frazil::Divergence found = frazil::compare(a, stored);
  EXPECT_EQ(found.compared, 1u);
  EXPECT_EQ(found.value, "y");
  EXPECT_EQ(frazil::compare(a, stored, {.atol = 0.5}).differ, 0u) << "the tolerance is used";
}

TEST(Recordings, KeepTheErrorOfTheRun) {
  const Array wide = Array::of<float>({1, 3}, {1, 2, 3});
  const std::vector<frazil::Named> inputs{{"c", Array::scalar(true)}, {"x", wide}};
  const auto recording = frazil::record(branching(), inputs);
  ASSERT_TRUE(recording.error.has_value());
  EXPECT_EQ(recording.error->code(), Code::bad_input);
}

TEST(Reduce, RefusesAModelThatDoesNotFail) {
  const std::vector<frazil::Named> inputs{{"c", Array::scalar(true)}, {"x", Array::of<float>({1, 2}, {1, 2})}};
  EXPECT_THAT(message_of([&] { (void)frazil::reduce(branching(), inputs); }, Code::bad_input), Not(IsEmpty()));
  EXPECT_THAT(message_of([&] { (void)frazil::reduce(branching(), {}); }, Code::bad_input), Not(IsEmpty()));
}

TEST(Debuggers, DescribeValuesAndBreakpoints) {
  const Model model = branching();
  frazil::Debugger debugger(model, {.tier = "0"});
  const auto number = debugger.add_breakpoint("soft");
  ASSERT_EQ(debugger.breakpoints().size(), 1u);
  EXPECT_EQ(debugger.breakpoints()[0].text, "soft");
  const std::vector<frazil::Named> inputs{{"c", Array::scalar(true)}, {"x", Array::of<float>({1, 2}, {1, 2})}};
  auto stop = debugger.run(inputs, frazil::Debugger::Until::step_over);
  EXPECT_EQ(debugger.about(stop.value).node, "node 'plus' (Add)");
  EXPECT_EQ(debugger.about(stop.value).type, "f32[N,2]");
  stop = debugger.go(frazil::Debugger::Until::breakpoint);
  EXPECT_EQ(stop.breakpoint, number);
  EXPECT_EQ(debugger.go(frazil::Debugger::Until::breakpoint).why, frazil::Debugger::Why::ended);
  EXPECT_EQ(message_of([&] { (void)debugger.go(frazil::Debugger::Until::next_node); }, Code::bad_input),
            "no run is stopped");
  EXPECT_THAT(message_of([&] { (void)debugger.about("none"); }, Code::bad_input), HasSubstr("none"));
}

TEST(Sessions, ExplainTheirSteps) {
  auto session = branching().open({.tier = "0"});
  session.run({{"c", Array::scalar(true)}, {"x", Array::of<float>({1, 2}, {1, 2})}});
  EXPECT_THAT(session.explain(), HasSubstr("plus"));
  EXPECT_EQ(session.counters().entered, 0u) << "tier 0 has no code of plans";
}

TEST(Compilation, EndsBeforeTheWaitDoes) {
  auto session = branching().open({.tier = "adaptive"});
  const Array x(Dtype::f32, {64, 2});
  for (int i = 0; i < 200; ++i) session.run({{"c", Array::scalar(true)}, {"x", x}});
  frazil::wait_for_compilation();
  EXPECT_FALSE(frazil::is_compiling());
  const frazil::CodeGenerator generator = frazil::code_generator();
  EXPECT_NE(generator.version.empty(), generator.missing.empty()) << "one of both is set";
}

TEST(Packages, RunLikeTheirModel) {
  const Folder folder;
  const Array x = Array::of<float>({1, 2}, {1, 2});
  const frazil::PackageBuilder package(branching(), {.tier = "0"});
  auto building = package.open();
  const auto want = building.run({{"c", Array::scalar(true)}, {"x", x}});
  package.save(folder / "b.frzc", {"x=1x2"});
  auto session = Model::load(folder / "b.frzc").open();
  const auto got = session.run({{"c", Array::scalar(true)}, {"x", x}});
  EXPECT_EQ(frazil::difference(got[0], want[0], 0, 0), std::nullopt);
  EXPECT_EQ(package.model().inputs().size(), 2u);
  EXPECT_THAT(message_of([&] { package.save(folder / "no/b.frzc"); }, Code::bad_input), HasSubstr("no/b.frzc"));
}

TEST(Profiles, WriteTheirTraceInParts) {
  auto session = branching().open({.tier = "0"});
  frazil::Profiler profiler({.trace_events = 100});
  session.start_profile(profiler);
  session.run({{"c", Array::scalar(true)}, {"x", Array::of<float>({1, 2}, {1, 2})}});
  session.stop_profile();
  profiler.end_pass();
  std::ostringstream out;
  profiler.write_trace(out, "t");
  EXPECT_THAT(out.str(), HasSubstr("\"name\":\"plus\""));
  EXPECT_EQ(std::ranges::count(out.str(), '\n'), std::ranges::count(profiler.trace("t"), '\n'));
  const auto profile = profiler.profile();
  EXPECT_EQ(profile.recorded, 1u);
  EXPECT_GT(profile.step_seconds, 0);
}

}  // namespace
