#include "plan/model/verify_plan.h"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/analyse/dataflow.h"
#include "suite/simulated_device.h"
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
constexpr const char* kCollect = R"(graph g(%x: f32[N,4], %n: i64[]) {
  %none = SequenceEmpty()
  %y, %all, %rows, %found, %words = Loop(%n, _, %x, %none) body(%i, %go, %v, %list) {
    %t = Tanh(%v)
    %next = MatMul(%t, f32[4,4] [[1, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    %longer = SequenceInsert(%list, %next)
    %indices = NonZero(%next)
    %word = Cast(%i) {to = 8}
    %sum = ReduceSum(%next) {keepdims = 0}
    %small = Less(%sum, f32[] 5)
    yield %small, %next, %longer, %t, %indices, %word
  }
  return y = %y, all = %all, rows = %rows, found = %found, words = %words
})";
constexpr const char* kGrowing = R"(graph g(%n: i64[], %x: f32[K]) {
  %y = Loop(%n, _, %x) body(%i, %on, %v) {
    %f = Cast(%i) {to = 1}
    %one = Unsqueeze(%f, i64[1] 0)
    %next = Concat(%v, %one) {axis = 0}
    yield %on, %next
  }
  return y = %y
})";
constexpr const char* kFlow = R"(graph g(%x: f32[N,4], %i: i64[], %c: bool[], %s: i64[2]) {
  %a = Gather(%x, %i)
  %b = Reshape(%a, %s)
  %h = Shape(%b)
  %y = If(%c) then_branch() { %p = Mul(%a, %a) yield %p } else_branch() { %q = Softmax(%a) yield %q }
  return y = %y, h = %h, b = %b
})";
constexpr const char* kDevice = R"(graph g(%x: f32[N,4], %y: f32[N,4]) {
  %a = MatMul(%x, f32[4,4] [[1, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
  %b = NonZero(%y)
  %c = MatMul(%y, f32[4,4] [[1, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
  return a = %a, b = %b, c = %c
})";
constexpr const char* kPrefixes = R"(graph g(%n: i64[], %x: f32[N]) {
  %s = Loop(%n, _, f32[] 0) body(%i, %on, %t) {
    %ends = Unsqueeze(%i, i64[1] [0])
    %part = Slice(%x, i64[1] [0], %ends)
    %square = Exp(%part)
    %sum = ReduceSum(%square, i64[1] [0]) {keepdims = 0}
    %u = Add(%t, %sum)
    yield %on, %u
  }
  return s = %s
})";
constexpr const char* kAll[] = {kLoop, kCollect, kGrowing, kFlow, kDevice, kPrefixes};

/// The plan of a graph; of kDevice, with its products on a device.
Plan plan_of(const char* text) {
  exec::Options options;
  if (text == kDevice) options.devices.push_back(std::make_shared<SimulatedDevice>());
  const auto made = exec::Executable::make(std::make_shared<const Graph>(graph_of(text)), options);
  if (made) return (*made)->plan();
  ADD_FAILURE() << made.error().text();
  return {};
}

template <class T>
T& first(Plan& plan, const std::function<bool(const T&)>& fits = [](const T&) { return true; }) {
  for (Step& step : plan.steps) {
    if (T* body = step.as<T>(); body != nullptr && fits(*body)) return *body;
  }
  ADD_FAILURE() << "no such step in\n" << plan.str();
  static T none;
  return none;
}
step::Launch& first(Plan& plan, Kernel kernel) {
  return first<step::Launch>(plan, [&](const step::Launch& l) { return l.kernel() == kernel; });
}

void expect_refused(const Plan& plan, std::string_view why) {
  const Status status = verify(plan);
  ASSERT_FALSE(status) << (plan.graph ? plan.str() : "");
  EXPECT_EQ(name_of(status.error().code), name_of(Code::internal));
  EXPECT_THAT(status.error().text(), HasSubstr(why));
}

TEST(PlanVerifier, AcceptsPlans) {
  for (const char* text : kAll) {
    const Plan plan = plan_of(text);
    const Status status = verify(plan);
    EXPECT_TRUE(status) << status.error().text() << "\n" << plan.str();
  }
}

/// Replaces the k-th handle of a step by one that is out of range, and stores the message that the verifier must give.
struct HandleBreaker : FieldVisitor {
  std::size_t k;
  const Plan& plan;
  std::string why;
  HandleBreaker(std::size_t of, const Plan& in) : k(of), plan(in) {}

  template <class T>
  void replace(T& handle, T by, std::string message) {
    if (k-- != 0) return;
    handle = by;
    why = std::move(message);
  }
  void one(std::string_view name, SlotId& s) {
    const SlotId beyond{static_cast<std::uint32_t>(plan.slots.size())};
    replace(s, beyond, fmt::format("'{}' is slot s{}", name, beyond.id));
  }
  void required(std::string_view name, SlotId& s) {
    one(name, s);
    replace(s, SlotId{}, fmt::format("'{}' is slot s{}", name, kNone));
  }
  void list(std::string_view name, std::vector<SlotId>& slots) {
    for (SlotId& s : slots) one(name, s);
  }
  void one(std::string_view name, Reg& r) {
    replace(r, Reg{plan.registers}, fmt::format("'{}' is register r{}", name, plan.registers));
  }
  template <class T>
  static std::uint32_t size(const T& table) {
    return static_cast<std::uint32_t>(table.size());
  }

  void reads(std::string_view name, SlotId& s) { required(name, s); }
  void writes(std::string_view name, SlotId& s) { required(name, s); }
  void updates(std::string_view name, SlotId& s) { required(name, s); }
  void reads(std::string_view name, std::vector<SlotId>& slots) { list(name, slots); }
  void writes(std::string_view name, std::vector<SlotId>& slots) { list(name, slots); }
  void uses(std::string_view name, Reg& r) { one(name, r); }
  void defines(std::string_view name, Reg& r) { one(name, r); }
  void uses(std::string_view name, std::vector<Reg>& regs) {
    for (Reg& r : regs) one(name, r);
  }
  void target(std::string_view, StepIndex& to) {
    replace(to, size(plan.steps), fmt::format("it jumps to step {}", plan.steps.size()));
  }
  void group(std::string_view, std::uint32_t& g) {
    replace(g, size(plan.groups), fmt::format("it evaluates group {}", plan.groups.size()));
  }
  void accumulator(std::string_view, AccumulatorId& a) {
    replace(a, AccumulatorId{size(plan.accumulators)},
            fmt::format("it names accumulator {}", plan.accumulators.size()));
  }
  void fused(std::string_view, std::uint32_t& f) {
    replace(f, size(plan.fused), fmt::format("it names fused kernel {}", plan.fused.size()));
  }
};

TEST(PlanVerifier, RefusesEachHandleThatIsOutOfRange) {
  std::set<std::string_view> kinds;
  for (const char* text : kAll) {
    const Plan whole = plan_of(text);
    for (StepIndex i = 0; i < whole.steps.size(); ++i) {
      kinds.insert(name_of(whole.steps[i]));
      for (std::size_t k = 0;; ++k) {
        Plan plan = whole;
        HandleBreaker breaker(k, whole);
        for_fields(plan.steps[i], breaker);
        if (breaker.why.empty()) break;
        SCOPED_TRACE(fmt::format("step {} ({}): {}", i, name_of(whole.steps[i]), breaker.why));
        expect_refused(plan, fmt::format("step {} (", i));
        expect_refused(plan, breaker.why);
      }
    }
  }
  for (const char* kind : {"eval", "branch", "leave_at", "back_edge", "jump", "set", "add", "swap", "load", "store",
                           "assign", "bind", "append", "reserve", "reset", "grow", "move", "transfer", "launch"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

Storage& storage_in(Plan& plan, Place place) {
  const auto found = std::ranges::find(plan.storages, place, &Storage::place);
  EXPECT_NE(found, plan.storages.end());
  return *found;
}
Slot& slot(Plan& plan, SlotId s) { return plan.slots[s.id]; }
Storage& storage(Plan& plan, SlotId s) { return plan.storages[slot(plan, s).storage]; }
FusedKernel& edited_kernel(Plan& plan, const step::Launch& launch) {
  auto copy = std::make_shared<FusedKernel>(*plan.fused[launch.fused]);
  FusedKernel& kernel = *copy;
  plan.fused[launch.fused] = std::move(copy);
  return kernel;
}
/// Removes the first step of a kind; later ones move up.
template <class T>
void remove_step(Plan& plan) {
  const auto at = std::ranges::find_if(plan.steps, [](const Step& s) { return s.as<T>() != nullptr; });
  const auto removed = static_cast<StepIndex>(at - plan.steps.begin());
  plan.steps.erase(at);
  const auto move_up = [&](StepIndex& target) { target -= target > removed ? 1 : 0; };
  for (Step& s : plan.steps) {
    if (auto* b = s.as<step::Branch>()) move_up(b->target);
    if (auto* l = s.as<step::LeaveAt>()) move_up(l->target);
    if (auto* a = s.as<step::BackEdge>()) move_up(a->target);
  }
  for (RegGroup& g : plan.groups) {
    g.dependents.clear();
    for (StepIndex i = 0; i < plan.steps.size(); ++i) g.dependents.push_back(i);
  }
}

struct Break {
  const char* what;
  const char* graph;
  std::function<void(Plan&)> edit;
  const char* message;
};

void PrintTo(const Break& row, std::ostream* out) { *out << row.what; }

class BrokenPlans : public testing::TestWithParam<Break> {};

TEST_P(BrokenPlans, IsRefused) {
  Plan plan = plan_of(GetParam().graph);
  GetParam().edit(plan);
  expect_refused(plan, GetParam().message);
}

const Break kTables[] = {
    {"no end", kLoop, [](Plan& p) { p.steps.pop_back(); }, "does not end with a halt"},
    {"no step", kLoop, [](Plan& p) { p.steps.clear(); }, "does not end with a halt"},
    {"a storage whose size is in no register", kLoop, [](Plan& p) { storage_in(p, Place::arena).bytes = p.registers; },
     "for its bytes"},
    {"a storage in no pool", kLoop,
     [](Plan& p) { storage_in(p, Place::arena).pool = static_cast<std::uint32_t>(p.pools.size()); },
     "a storage has pool"},
    {"an input on a device", kDevice, [](Plan& p) { storage_in(p, Place::input).device = DeviceId{1}; },
     "device 1 has a storage 'input'"},
    {"a pool in other memory", kDevice,
     [](Plan& p) {
       for (DeviceId& d : p.pool_device) d = DeviceId{2};
     },
     "is not in the memory of device"},
    {"an accumulator without storage", kCollect,
     [](Plan& p) { p.accumulators[0].storage = static_cast<std::uint32_t>(p.storages.size()); },
     "an accumulator names"},
    {"an accumulator without count", kCollect, [](Plan& p) { p.accumulators[0].count = p.registers; },
     "an accumulator names"},
    {"an accumulator without extents", kCollect, [](Plan& p) { p.accumulators[0].dims.back() = p.registers; },
     "an accumulator names"},
    {"an input without slot", kLoop,
     [](Plan& p) { p.inputs.back() = SlotId{static_cast<std::uint32_t>(p.slots.size())}; }, "an input or output has"},
    {"an output without slot", kLoop, [](Plan& p) { p.outputs.back() = SlotId{}; }, "an input or output has"},
    {"a fused kernel whose instruction is not there", kLoop,
     [](Plan& p) { edited_kernel(p, first(p, Kernel::fused)).stores[0].value = 99; }, "store 0 has no instruction"},
    {"strides of another rank", kLoop, [](Plan& p) { slot(p, p.inputs[0]).strides = {0}; }, "strides of another rank"},
    {"a slot without storage", kLoop,
     [](Plan& p) { slot(p, p.inputs[0]).storage = static_cast<std::uint32_t>(p.storages.size()); }, "has storage m"},
    {"an extent in no register", kLoop, [](Plan& p) { slot(p, p.inputs[0]).dims[1] = p.registers; },
     "slot s0 has register r"},
    {"a stride in no register", kLoop, [](Plan& p) { slot(p, p.inputs[0]).strides = {0, p.registers}; },
     "slot s0 has register r"},
    {"an offset in no register", kLoop, [](Plan& p) { slot(p, p.inputs[0]).offset = p.registers; },
     "slot s0 has register r"},
    {"an object where a tensor lies", kLoop, [](Plan& p) { slot(p, p.inputs[0]).object = true; },
     "slot s0: object is true, its storage's place is input"},
    {"a tensor where an object lies", kCollect, [](Plan& p) { slot(p, first<step::Move>(p).to).object = false; },
     ": object is false, its storage's place is object"},
};
INSTANTIATE_TEST_SUITE_P(Tables, BrokenPlans, testing::ValuesIn(kTables));

const Break kTypes[] = {
    {"a condition that is no bool", kLoop, [](Plan& p) { first<step::Branch>(p).condition = p.inputs[0]; },
     "(branch): plan: 'condition' is f32"},
    {"a condition that is an object", kCollect,
     [](Plan& p) { first<step::Branch>(p).condition = first<step::Move>(p).to; },
     "(branch): plan: 'condition' is an object"},
    {"a limit that is not an integer", kLoop, [](Plan& p) { first<step::Load>(p).from = p.inputs[0]; },
     "(load): plan: 'from' is f32"},
    {"a number stored in a float", kLoop, [](Plan& p) { first<step::Store>(p).to = p.inputs[0]; },
     "(store): plan: 'to' is f32"},
    {"a check without words", kLoop, [](Plan& p) { p.steps.insert(p.steps.begin(), {.body = step::Check{0, 0, 0}}); },
     "it has no text 0"},
    {"a swap of an object", kCollect, [](Plan& p) { first<step::Swap>(p).source = first<step::Move>(p).to; },
     "it swaps what is not the whole of two storages"},
    {"a swap for an object", kCollect, [](Plan& p) { first<step::Swap>(p).variable = first<step::Move>(p).to; },
     "it swaps what is not the whole of two storages"},
    {"a swap of a part", kLoop, [](Plan& p) { slot(p, first<step::Swap>(p).source).offset = 0; },
     "it swaps what is not the whole of two storages"},
    {"a swap for a part", kLoop, [](Plan& p) { slot(p, first<step::Swap>(p).variable).offset = 0; },
     "it swaps what is not the whole of two storages"},
    {"a swap of what is not swapped", kLoop, [](Plan& p) { storage(p, first<step::Swap>(p).source).swapped = false; },
     "its storages do not fit each other"},
    {"a swap for what is not swapped", kLoop,
     [](Plan& p) { storage(p, first<step::Swap>(p).variable).swapped = false; }, "its storages do not fit each other"},
    {"a swap of other sizes", kLoop, [](Plan& p) { storage(p, first<step::Swap>(p).source).bytes = 0; },
     "its storages do not fit each other"},
    {"a swap of other places", kLoop, [](Plan& p) { storage(p, first<step::Swap>(p).source).place = Place::growing; },
     "its storages do not fit each other"},
    {"growth along no axis", kGrowing, [](Plan& p) { first<step::Grow>(p).axis = 1; }, "it has no axis 1"},
    {"an element that is an object", kCollect, [](Plan& p) { first<step::Append>(p).part = first<step::Move>(p).to; },
     "is not an element of accumulator"},
    {"an element of another type", kCollect,
     [](Plan& p) { p.accumulators[first<step::Append>(p).accumulator.id].elem = Elem::f64; },
     "is not an element of accumulator"},
    {"an element of another rank", kCollect,
     [](Plan& p) { p.accumulators[first<step::Append>(p).accumulator.id].dims.pop_back(); },
     "is not an element of accumulator"},
    {"an element that lies elsewhere", kCollect,
     [](Plan& p) {
       const auto& append = first<step::Append>(p, [](const step::Append& a) { return a.in_place; });
       p.accumulators[append.accumulator.id].storage = slot(p, p.inputs[0]).storage;
     },
     "is not where accumulator"},
    {"an element with strides", kCollect,
     [](Plan& p) {
       const auto& append = first<step::Append>(p, [](const step::Append& a) { return !a.in_place; });
       slot(p, append.part).strides = slot(p, append.part).dims;
     },
     "is not where accumulator"},
};
INSTANTIATE_TEST_SUITE_P(Types, BrokenPlans, testing::ValuesIn(kTypes));

/// Returns the launch that defines an extent of its result.
step::Launch& telling(Plan& plan) {
  return first<step::Launch>(plan, [](const step::Launch& l) { return !l.extents.empty(); });
}

const Break kLaunches[] = {
    {"the extent of an output beyond the last", kCollect, [](Plan& p) { telling(p).extents[0].output = 1; },
     "it defines an extent of an output that it does not have"},
    {"the extent of an absent output", kCollect, [](Plan& p) { telling(p).out[0] = SlotId{}; },
     "it defines an extent of an output that it does not have"},
    {"the extent of an axis beyond the last", kCollect, [](Plan& p) { telling(p).extents[0].axis = 2; },
     "it defines an extent of an output that it does not have"},
    {"a fused step without kernel", kLoop, [](Plan& p) { first(p, Kernel::fused).fused = kNone; },
     "it names a fused kernel, or none"},
    {"a product with a fused kernel", kLoop, [](Plan& p) { first(p, Kernel::matmul).fused = 0; },
     "it names a fused kernel, or none"},
    {"fewer operands", kLoop, [](Plan& p) { first(p, Kernel::fused).in.pop_back(); }, "its kernel has 1 operands"},
    {"more results", kLoop, [](Plan& p) { first(p, Kernel::fused).out.push_back(p.outputs[0]); },
     "its kernel has 1 operands, 2 stores, 2 axes"},
    {"fewer axes", kLoop, [](Plan& p) { first(p, Kernel::fused).domain.pop_back(); },
     "its kernel has 1 operands, 2 stores, 2 axes"},
    {"an operand of another type", kLoop, [](Plan& p) { slot(p, first(p, Kernel::fused).in[0]).elem = Elem::i32; },
     "does not fit its fused kernel"},
    {"an operand of another rank", kLoop, [](Plan& p) { slot(p, first(p, Kernel::fused).in[0]).dims = {0}; },
     "does not fit its fused kernel"},
    {"an operand that is an object", kCollect, [](Plan& p) { first(p, Kernel::fused).in[0] = first<step::Move>(p).to; },
     "does not fit its fused kernel"},
    {"a result of another rank", kLoop, [](Plan& p) { slot(p, first(p, Kernel::fused).out[1]).dims = {0}; },
     "does not fit its fused kernel"},
    {"a result that is not stored", kLoop, [](Plan& p) { first(p, Kernel::fused).out[1] = SlotId{}; },
     "a fused kernel stores nothing for an output"},
};
INSTANTIATE_TEST_SUITE_P(Launches, BrokenPlans, testing::ValuesIn(kLaunches));

const Break kDevices[] = {
    {"a copy to where it is", kDevice, [](Plan& p) { first<step::Transfer>(p).from = first<step::Transfer>(p).to; },
     "it copies from device 1 to the same"},
    {"a copy of a part", kDevice, [](Plan& p) { slot(p, first<step::Transfer>(p).from).offset = 0; },
     "it copies what is not the whole of two storages"},
    {"a copy into a part", kDevice, [](Plan& p) { slot(p, first<step::Transfer>(p).to).offset = 0; },
     "it copies what is not the whole of two storages"},
    {"a step of the device on the host's memory", kDevice,
     [](Plan& p) { first(p, Kernel::matmul).in[0] = p.inputs[0]; }, "slot s0 lies on device 0, the step runs on 1"},
    {"a step of the host on the device's memory", kDevice, [](Plan& p) { first(p, Kernel::matmul).device = kHost; },
     "lies on device 1, the step runs on 0"},
};
INSTANTIATE_TEST_SUITE_P(Devices, BrokenPlans, testing::ValuesIn(kDevices));

const Break kUpkeep[] = {
    {"a group that writes no register", kLoop, [](Plan& p) { p.groups[0].program.code.back().dst = p.registers; },
     "writes register r"},
    {"a step that does not know its extents", kLoop,
     [](Plan& p) {
       for (RegGroup& g : p.groups) g.dependents.clear();
     },
     "which does not list the step as dependent"},
    {"steps that do not know the extents of an iteration", kPrefixes,
     [](Plan& p) {
       for (std::size_t g = 1; g < p.groups.size(); ++g) p.groups[g].dependents.clear();
     },
     "which does not list the step as dependent"},
    {"the last step that does not know its extents", kCollect,
     [](Plan& p) {
       RegGroup& g = p.groups[0];
       std::erase_if(g.dependents, [&](StepIndex i) { return i > 15 && p.steps[i].as<step::Launch>() != nullptr; });
     },
     "which does not list the step as dependent"},
    {"one pool for everything", kLoop,
     [](Plan& p) {
       for (Storage& s : p.storages) {
         if (s.place == Place::arena) s.pool = 0;
       }
     },
     "are live at the same time in pool 0"},
    {"a pool whose members follow each other in a step that does not work in place", kLoop,
     [](Plan& p) {
       const SlotId from = first(p, Kernel::matmul).out[0];
       Storage& after = storage(p, first<step::Launch>(p, [&](const step::Launch& l) {
                                     return l.kernel() == Kernel::copy && l.in[0] == from;
                                   }).out[0]);
       after.pool = storage(p, from).pool;
       after.first = storage(p, from).last;
     },
     "are live at the same time in pool 0"},
    {"a step at the same time as one that reads its result", kLoop,
     [](Plan& p) { first<step::Launch>(p).concurrent = 2; },
     "may run at the same time as the next ones, 2 steps in all, expected 1 to 1"},
    {"no step at all that may run", kLoop, [](Plan& p) { first<step::Launch>(p).concurrent = 0; },
     "0 steps in all, expected 1 to 1"},
    {"the last of a loop's steps at the same time as none", kLoop,
     [](Plan& p) { p.steps[p.steps.size() - 2].as<step::Launch>()->concurrent = 9; },
     "9 steps in all, expected 1 to 1"},
    {"a counter that nobody sets", kLoop, [](Plan& p) { remove_step<step::Load>(p); }, "is read before it is set"},
    {"a value that nobody makes", kLoop, [](Plan& p) { first(p, Kernel::matmul).out[0] = p.inputs[0]; },
     "is read before it is written"},
};
INSTANTIATE_TEST_SUITE_P(Upkeep, BrokenPlans, testing::ValuesIn(kUpkeep));

/// Steps alone: registers that are set and read on the paths between them.
struct Paths {
  const char* what;
  std::vector<step::Body> steps;
  const char* message;  ///< null: the plan is right
};

TEST(PlanVerifier, KnowsWhatIsDefinedOnEachPath) {
  using namespace step;
  const auto read = [](Reg r) { return Assign{{{.to = 3, .from = r}}}; };
  const Paths rows[] = {
      {"read before set", {read(0), Set{0, 1}}, "step 0 (assign): register r0 is read before it is set"},
      {"set before read", {Set{0, 1}, read(0)}, nullptr},
      {"set on one of two paths",
       {Set{1, 1}, Set{2, 1}, LeaveAt{1, 2, 4}, Set{0, 1}, read(0)},
       "step 4 (assign): register r0 is read before it is set"},
      {"set on the path that jumps alone",
       {Set{1, 1}, Set{2, 1}, LeaveAt{1, 2, 4}, Jump{5}, Set{0, 1}, read(0)},
       "step 5 (assign): register r0 is read before it is set"},
      {"set on both paths", {Set{1, 1}, Set{2, 1}, LeaveAt{1, 2, 5}, Set{0, 1}, Jump{6}, Set{0, 2}, read(0)}, nullptr},
      {"set in front of both paths", {Set{0, 1}, Set{1, 1}, LeaveAt{0, 1, 4}, Set{2, 1}, read(0)}, nullptr},
      {"read where no step leads", {Jump{2}, read(0), Set{0, 1}, read(0)}, nullptr},
      {"set where no step leads", {Jump{2}, Set{0, 1}, read(0)}, "step 2 (assign): register r0"},
      {"three paths, one of which does not set",
       {Set{1, 1}, Set{2, 1}, LeaveAt{1, 2, 6}, Set{0, 1}, LeaveAt{1, 2, 6}, Jump{6}, read(0)},
       "step 6 (assign): register r0 is read before it is set"},
      {"set in a loop that may not be entered",
       {Set{1, 0}, Set{2, 1}, LeaveAt{1, 2, 6}, Set{0, 1}, Add{1, 1}, BackEdge{2}, read(0)},
       "step 6 (assign): register r0 is read before it is set"},
      {"set by the iteration before",
       {Set{1, 0}, Set{2, 1}, LeaveAt{1, 2, 6}, read(0), Set{0, 1}, BackEdge{2}, Halt{}},
       "step 3 (assign): register r0 is read before it is set"},
      {"a loop that reads what is set in front of it",
       {Set{0, 0}, Set{1, 1}, LeaveAt{0, 1, 5}, Add{0, 1}, BackEdge{2}, read(0)},
       nullptr},
      {"a jump back to a step that was not passed",
       {Jump{2}, Set{0, 1}, BackEdge{1}},
       "step 2 (back_edge) jumps back to step 1, which was not passed"},
      {"a jump back to a step that was passed", {Jump{1}, Set{0, 1}, BackEdge{1}}, nullptr},
      {"a jump back to a step that was passed on another path alone",
       {Set{1, 1}, Set{2, 1}, LeaveAt{1, 2, 5}, Set{0, 1}, Set{0, 2}, BackEdge{4}},
       "step 5 (back_edge) jumps back to step 4, which was not passed"},
  };
  for (const Paths& row : rows) {
    SCOPED_TRACE(row.what);
    Plan plan;
    plan.registers = 4;
    for (const step::Body& body : row.steps) plan.steps.push_back({.body = body});
    plan.steps.push_back({.body = Halt{}});
    if (row.message != nullptr) {
      expect_refused(plan, row.message);
    } else {
      const Status status = verify(plan);
      EXPECT_TRUE(status) << status.error().text();
    }
  }
}

}  // namespace
}  // namespace frazil::test
