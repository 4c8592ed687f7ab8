// Small files that stand for much work are loaded and planned in proportion to their size, or refused with one clear
// error.
#include "onnx/hostile_models.h"

#include "base/limits/load_scope.h"
#include "error/refusals.h"
#include "onnx/import_testing.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kHang = std::chrono::minutes(5);

struct Loaded {
  Attempt attempt;
  LoadScope::Work work;
};

/// Imports and plans a model.
Loaded load(const Message& bytes, const LoadBounds& bounds) {
  const LoadScope outer({}, "the test", 0);
  const auto attempt = [&]() -> Status {
    FRAZIL_TRY(Graph graph, import(bytes, {.limits = bounds.limits, .time = bounds.time, .stop = bounds.stop}));
    const LoadScope scope(bounds, "planning the model", bytes.size());
    FRAZIL_TRY(const auto made, Executable::make(std::make_shared<const Graph>(std::move(graph))));
    return made->plan().steps.empty() ? fail(Code::internal, "no plan") : Status();
  };
  const Status done = attempt();
  return {done ? Attempt{true, {}, {}} : failed(done.error()), outer.work()};
}
Loaded load(const Message& bytes) { return load(bytes, {.limits = {}, .time = kHang, .stop = {}}); }

class HostileModel : public testing::TestWithParam<hostile::Family> {};

TEST_P(HostileModel, OfKilobytesLoads) {
  const Loaded small = load(GetParam().make(GetParam().small));
  if (std::string_view(GetParam().name) == "functions that call themselves") {
    EXPECT_THAT(small.attempt.message, HasSubstr("function 'f0' calls itself through 'f1', 'f2', 'f3', 'f4' and"));
  } else {
    EXPECT_TRUE(small.attempt.ok) << shown(small.attempt);
  }
}

TEST_P(HostileModel, OfAMegabyteLoadsOrIsRefused) {
  const Loaded large = load(GetParam().make(GetParam().large));
  if (large.attempt.ok) return;
  EXPECT_TRUE(large.attempt.code == Code::limit || large.attempt.code == Code::bad_model) << shown(large.attempt);
  EXPECT_LT(large.attempt.message.size(), 600u);
  EXPECT_THAT(large.attempt.message, Not(HasSubstr("deadline")));
  EXPECT_THAT(large.attempt.message, Not(HasSubstr("\n")));
}

/// Where a file of twice the size loads as well, it takes twice the work.
TEST_P(HostileModel, TakesWorkAsItsFileGrows) {
  if (!GetParam().is_linear) return;
  const int n = 8 * GetParam().small;
  const Message once = GetParam().make(n), twice = GetParam().make(2 * n);
  const Loaded a = load(once), b = load(twice);
  if (!a.attempt.ok || !b.attempt.ok) return;
  const double grown = static_cast<double>(twice.size()) / static_cast<double>(once.size());
  EXPECT_LT(static_cast<double>(b.work.nodes), 1.3 * grown * static_cast<double>(a.work.nodes));
  EXPECT_LT(static_cast<double>(b.work.bytes), 1.3 * grown * static_cast<double>(a.work.bytes));
}

INSTANTIATE_TEST_SUITE_P(Families, HostileModel, testing::ValuesIn(hostile::kFamilies), [](const auto& row) {
  std::string name = row.param.name;
  std::erase_if(name, [](char c) { return c == ' ' || c == ','; });
  return name;
});

struct Refused {
  const char* family;
  int n;
  const char* says;
};

TEST(HostileModels, AreRefusedWithAReason) {
  const Refused rows[] = {
      {"functions that double", 60, "what a function holds counts once per call"},
      {"long names", 60, "what a function holds counts once per call"},
      {"an attribute of many nodes", 20'000, "calls of functions read or copy more than"},
      {"declared types", 20'000, "calls of functions read or copy more than"},
      {"graphs of graphs", 60, "the model has more than"},
      {"loops inside each other", 2'000, "loops inside each other make it type"},
      {"axes", 2'000, "input 'x': it has more than 1024 axes"},
  };
  for (const Refused& row : rows) {
    SCOPED_TRACE(row.family);
    const auto* family = std::ranges::find(hostile::kFamilies, std::string_view(row.family),
                                           [](const hostile::Family& f) { return std::string_view(f.name); });
    const Loaded loaded = load(family->make(row.n));
    EXPECT_EQ(name_of(loaded.attempt.code), name_of(Code::limit)) << shown(loaded.attempt);
    EXPECT_THAT(loaded.attempt.message, HasSubstr(row.says));
  }
}

constexpr int kNodes = 5'000;

TEST(LoadBounds, TheDeadlineEndsALoad) {
  const Loaded loaded =
      load(hostile::nodes(kNodes, false), {.limits = {}, .time = std::chrono::microseconds(1), .stop = {}});
  EXPECT_EQ(name_of(loaded.attempt.code), name_of(Code::limit));
  EXPECT_EQ(loaded.attempt.message, "loading the model passed its deadline of 0.001 ms");
  EXPECT_LT(loaded.work.nodes, 100u);
}

TEST(LoadBounds, TheDeadlineEndsPlanning) {
  const Graph graph = imported(import(hostile::nodes(kNodes, false)));
  const LoadBounds bounds{.limits = {}, .time = std::chrono::microseconds(1), .stop = {}};
  const LoadScope scope(bounds, "planning the model", 1000);
  const auto made = Executable::make(std::make_shared<const Graph>(graph));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(), "planning the model passed its deadline of 0.001 ms");
  EXPECT_LT(scope.work().nodes, 100u);
}

TEST(LoadBounds, ARequestToStopEndsALoad) {
  std::stop_source stop;
  stop.request_stop();
  const Loaded loaded = load(hostile::nodes(kNodes, false), {.limits = {}, .time = {}, .stop = stop.get_token()});
  EXPECT_EQ(name_of(loaded.attempt.code), name_of(Code::cancelled));
  EXPECT_EQ(loaded.attempt.message, "loading the model was cancelled");
}

TEST(LoadBounds, ARunThatHasToEndEndsThePlanningInsideIt) {
  ExecutionLimits run(Limits{.time = {}});
  const LimitsScope scope(&run);
  run.cancel();
  const Loaded loaded = load(hostile::nodes(kNodes, false));
  EXPECT_EQ(name_of(loaded.attempt.code), name_of(Code::cancelled));
}

TEST(LoadBounds, TheGraphCountsAgainstTheMemoryLimit) {
  const Message bytes = hostile::nodes(kNodes, false);
  const Loaded loaded = load(bytes, {.limits = {.memory_bytes = std::size_t{2} << 20}, .time = {}, .stop = {}});
  EXPECT_EQ(name_of(loaded.attempt.code), name_of(Code::limit));
  EXPECT_THAT(loaded.attempt.message, HasSubstr("of its graph would exceed the memory limit of 2097152 bytes"));
  const Loaded whole = load(bytes);
  EXPECT_TRUE(load(bytes, {.limits = {.memory_bytes = 4 * whole.work.bytes}, .time = {}, .stop = {}}).attempt.ok);
}

}  // namespace
}  // namespace frazil::test
