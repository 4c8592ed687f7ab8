#include "plan/verify_plan.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// A plan that is right is accepted; one that a single edit breaks is refused, with the step.
namespace frazil::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLoop = R"(graph g(%x: f32[N,4], %n: i64[]) {
  %w = MatMul(%x, f32[4,4] [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
  %y, %rows = Loop(%n, _, %w) body(%i: i64[], %go: bool[], %v: f32[N,4]) {
    %t = Tanh(%v)
    %next = Exp(%t)
    yield %go, %next, %t
  }
  %z = Add(%y, %x)
  return z = %z, rows = %rows
})";

Plan plan_of(const char* text) {
  const Tier0 tier(graph_of(text));
  return tier.executable->plan();
}

template <class T>
T& first(Plan& plan) {
  for (Step& step : plan.steps) {
    if (T* body = step.as<T>()) return *body;
  }
  ADD_FAILURE() << "no such step in\n" << plan.str();
  static T none;
  return none;
}

TEST(PlanVerifier, AcceptsPlans) {
  const Plan plan = plan_of(kLoop);
  const Status status = verify(plan);
  EXPECT_TRUE(status) << status.error().message << "\n" << plan.str();
}

struct Break {
  const char* what;
  std::function<void(Plan&)> edit;
  const char* message;
};

TEST(PlanVerifier, RefusesWhatOneEditBreaks) {
  const Break rows[] = {
      {"no end", [](Plan& p) { p.steps.pop_back(); }, "does not end with a halt"},
      {"a slot that is not there", [](Plan& p) { first<step::Launch>(p).in[0] = SlotId{9999}; }, "'in' is slot s9999"},
      {"a jump beyond the end", [](Plan& p) { first<step::Again>(p).target = 9999; }, "it jumps to step 9999"},
      {"a register that is not there", [](Plan& p) { first<step::LeaveAt>(p).limit = p.registers; },
       "'limit' is register"},
      {"a group that is not there", [](Plan& p) { first<step::Evaluate>(p).group = 99; }, "it evaluates group 99"},
      {"a condition that is no bool", [](Plan& p) { first<step::Branch>(p).condition = p.inputs[0]; },
       "(branch): plan: 'condition' is f32"},
      {"strides of another rank", [](Plan& p) { p.slots[p.inputs[0].id].strides = {0}; }, "strides of another rank"},
      {"a storage that is not there", [](Plan& p) { p.slots[p.inputs[0].id].storage = 9999; }, "has storage m9999"},
      {"a fused kernel with fewer operands",
       [](Plan& p) {
         for (Step& s : p.steps) {
           auto* launch = s.as<step::Launch>();
           if (launch != nullptr && launch->fused != kNone) return launch->in.pop_back();
         }
       },
       "its kernel has"},
      {"a step that does not know its extents",
       [](Plan& p) {
         for (RegGroup& g : p.groups) g.dependents.clear();
       },
       "which does not know it"},
      {"a counter that nobody sets",
       [](Plan& p) {
         std::erase_if(p.steps, [](const Step& s) { return s.as<step::Load>() != nullptr; });
         for (Step& s : p.steps) {
           if (auto* b = s.as<step::Branch>()) --b->target;
           if (auto* l = s.as<step::LeaveAt>()) --l->target;
           if (auto* a = s.as<step::Again>()) --a->target;
         }
         for (RegGroup& g : p.groups) {
           g.dependents.clear();
           for (StepIndex i = 0; i < p.steps.size(); ++i) g.dependents.push_back(i);
         }
       },
       "is read before it is set"},
      {"one pool for everything",
       [](Plan& p) {
         for (Storage& s : p.storages) {
           if (s.place == Place::arena) s.pool = 0;
         }
       },
       "are live at the same time in pool 0"},
      {"a value that nobody makes",
       [](Plan& p) {
         for (Step& s : p.steps) {
           auto* launch = s.as<step::Launch>();
           if (launch != nullptr && launch->kernel() == Kernel::matmul) launch->out[0] = p.inputs[0];
         }
       },
       "is read before it is written"},
      {"a step at the same time as one that reads its result", [](Plan& p) { first<step::Launch>(p).together = 2; },
       "may run at the same time as the next ones, 2 steps in all, expected 1 to 1"},
      {"no step at all that may run", [](Plan& p) { first<step::Launch>(p).together = 0; },
       "0 steps in all, expected 1 to 1"},
      {"a check without words", [](Plan& p) { p.steps.insert(p.steps.begin(), {.body = step::Check{0, 0, 99}}); },
       "it has no text 99"},
  };
  for (const Break& row : rows) {
    SCOPED_TRACE(row.what);
    Plan plan = plan_of(kLoop);
    row.edit(plan);
    const Status status = verify(plan);
    ASSERT_FALSE(status) << plan.str();
    EXPECT_EQ(name_of(status.error().code), name_of(Code::internal));
    EXPECT_THAT(status.error().message, HasSubstr(row.message));
  }
}

/// What is defined at a step that is jumped back to is known from the way there alone.
TEST(PlanVerifier, RefusesAJumpBackToAStepThatWasNotPassed) {
  Plan plan;
  plan.registers = 1;
  plan.steps = {{.body = step::Jump{2}}, {.body = step::Set{0, 1}}, {.body = step::Again{1}}, {.body = step::Halt{}}};
  const Status status = verify(plan);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("step 2 (again) jumps back to step 1, which was not passed"));
  plan.steps[0].body = step::Jump{1};
  EXPECT_TRUE(verify(plan));
}

}  // namespace
}  // namespace frazil::test
