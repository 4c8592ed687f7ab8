#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/observe/inner_values.h"
#include "ir/frz.h"
#include "paths.h"
#include "plan/model/verify_plan.h"
#include "suite/simulated_device.h"
#include "suite/tiers.h"

// Kernel steps on a device whose memory the host cannot read: the same bits as on the host, and no copy too many.
namespace frazil::test {
namespace {

using ::testing::HasSubstr;

/// A graph with its pointwise and product steps on a device.
struct DeviceTier {
  std::shared_ptr<SimulatedDevice> device;
  std::shared_ptr<Executable> executable;
  std::unique_ptr<Session> session;

  explicit DeviceTier(const Graph& graph, PassSet passes = {}, SimulatedDevice::Options options = {})
      : device(std::make_shared<SimulatedDevice>(std::move(options))) {
    auto made =
        Executable::make(std::make_shared<const Graph>(graph), {.passes = passes, .verify = 1, .devices = {device}});
    if (!made) {
      error = made.error().text();
      return;
    }
    executable = *made;
    session = executable->open();
  }
  std::string error;
};

/// The inputs of a case: numbers that depend on their place.
std::vector<Datum> placed_numbers(const std::vector<Sizes>& extents) {
  std::vector<Datum> inputs;
  int k = 0;
  for (const Sizes& sizes : extents) {
    Tensor t = Tensor::make(Elem::f32, sizes).value();
    for (float& v : t.as_mutable<float>()) v = static_cast<float>(k++ * 37 % 23) / 11.0F - 1.0F;
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

struct DeviceRow {
  const char* name;
  const char* graph;
  std::vector<Sizes> inputs;
  std::uint64_t steps, copies_in, copies_out;  ///< of one run, without fusion
};

const DeviceRow kRows[] = {
    {"a_chain_of_five",
     R"(graph g(%x: f32[N,M]) {
       %a = Neg(%x) %b = Exp(%a) %c = Add(%b, f32[] 1) %d = Sqrt(%c) %e = Mul(%d, %b)
       return e = %e
     })",
     {{3, 5}},
     5,
     1,
     1},
    {"inputs_are_brought_once",
     "graph g(%x: f32[N], %y: f32[N]) { %a = Add(%x, %y) %b = Mul(%x, %a) %c = Sub(%y, %b) return c = %c }",
     {{7}, {7}},
     3,
     2,
     1},
    {"two_results", "graph g(%x: f32[N]) { %a = Neg(%x) %b = Exp(%a) return a = %a, b = %b }", {{4}}, 2, 1, 2},
    {"a_product_with_weights",
     R"(graph g(%x: f32[N,3]) {
       %p = MatMul(%x, f32[3,2] [[1, 2], [-3, 4], [5, -6]])
       %s = Add(%p, f32[2] [0.5, -0.5])
       %r = Relu(%s)
       return r = %r
     })",
     {{4, 3}},
     3,
     1,
     1},
    {"a_product_of_two_inputs",
     "graph g(%x: f32[B,N,K], %y: f32[K,M]) { %p = MatMul(%x, %y) %e = Exp(%p) return e = %e }",
     {{2, 40, 17}, {17, 33}},
     2,
     2,
     1},
    {"a_product_of_a_view",
     R"(graph g(%x: f32[N,M]) {
       %t = Transpose(%x)
       %n = Neg(%x)
       %p = MatMul(%n, %t)
       return p = %p
     })",
     {{3, 4}},
     2,
     1,
     1},  // the view is one of the copy
    {"what_only_the_host_can_do",
     R"(graph g(%x: f32[N]) {
       %a = Neg(%x)
       %b = CumSum(%a, i64[] 0)
       %c = Exp(%b)
       %d = Add(%c, %a)
       return d = %d
     })",
     {{6}},
     3,
     2,
     2},
    {"a_condition_is_read_by_the_host",
     R"(graph g(%x: f32[N], %y: f32[]) {
       %up = Less(%y, f32[] 5)
       %r = If(%up) then_branch() {
         %a = Add(%x, f32[] 1)
         yield %a
       } else_branch() {
         %b = Sub(%x, f32[] 1)
         yield %b
       }
       %z = Exp(%r)
       return z = %z
     })",
     {{4}, {}},
     2,
     2,
     2},  // what branches join stays on the host
    {"a_convolution",
     R"(graph g(%x: f32[1,2,H,W], %w: f32[3,2,3,3]) {
       %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}
       %r = Relu(%c)
       return r = %r
     })",
     {{1, 2, 5, 6}, {3, 2, 3, 3}},
     2,
     2,
     1},
};

TEST(Device, RunsWithTheBitsOfTheHost) {
  for (const DeviceRow& row : kRows) {
    const Graph graph = graph_of(row.graph);
    const auto inputs = placed_numbers(row.inputs);
    for (const PassSet passes : {PassSet{}, PassSet::none(), PassSet::without(Pass::fuse)}) {
      SCOPED_TRACE(fmt::format("{}, passes {}", row.name, str(passes)));
      const DeviceTier device(graph, passes);
      const Tier0 host(graph, passes);
      ASSERT_TRUE(device.session) << device.error;
      for (int run = 0; run < 3; ++run) {
        const auto got = device.session->run(inputs), want = host.session->run(inputs);
        ASSERT_TRUE(got) << got.error().text();
        expect_equal(graph, *got, *want, kExact);
      }
      EXPECT_GT(device.session->counters().device_steps, 0u);
    }
  }
}

TEST(Device, CopiesWhatItHasToAndNoMore) {
  for (const DeviceRow& row : kRows) {
    SCOPED_TRACE(row.name);
    const DeviceTier device(graph_of(row.graph), PassSet::without(Pass::fuse));
    ASSERT_TRUE(device.session) << device.error;
    for (std::uint64_t run = 1; run <= 2; ++run) {
      ASSERT_TRUE(device.session->run(placed_numbers(row.inputs)));
      const exec::Counters& counters = device.session->counters();
      EXPECT_EQ(counters.device_steps, run * row.steps) << device.executable->explain();
      EXPECT_EQ(counters.copies_in, run * row.copies_in) << device.executable->explain();
      EXPECT_EQ(counters.copies_out, run * row.copies_out);
    }
  }
}

/// A value from outside of a loop is copied for each iteration only if the loop writes it.
TEST(Device, LoopsShareTheCopiesMadeInFrontOfThem) {
  const char* const text = R"(graph g(%n: i64[], %x: f32[M]) {
    %e = Exp(%x)
    %y = Loop(%n, _, %e) body(%i, %on, %v) {
      %s = Add(%v, %x)
      %t = Mul(%s, f32[] -1.3)
      yield %on, %t
    }
    %z = Neg(%y)
    return z = %z
  })";
  const Graph graph = graph_of(text);
  const PassSet apart = PassSet::without(Pass::fuse);
  const DeviceTier device(graph, apart);
  const Tier0 host(graph, apart);
  ASSERT_TRUE(device.session) << device.error;
  for (const std::int64_t trips : {0, 1, 7}) {
    auto inputs = placed_numbers({{}, {5}});
    inputs[0] = Tensor::scalar(trips);
    const auto before = device.session->counters();
    const auto got = device.session->run(inputs), want = host.session->run(inputs);
    ASSERT_TRUE(got) << got.error().text();
    expect_equal(graph, *got, *want, kExact);
    // x once; the variable, which the host swaps, in each iteration and behind the loop.
    EXPECT_EQ(device.session->counters().copies_in - before.copies_in, static_cast<std::uint64_t>(2 + trips))
        << device.executable->explain();
  }
}

TEST(Device, NewExtentsNewMemory) {
  const Graph graph =
      graph_of("graph g(%x: f32[N,M], %w: f32[M,2]) { %p = MatMul(%x, %w) %e = Exp(%p) return e = %e }");
  const DeviceTier device(graph);
  const Tier0 host(graph);
  ASSERT_TRUE(device.session) << device.error;
  for (const auto& [n, m] : {std::pair{2, 3}, {50, 40}, {0, 4}, {3, 0}, {2, 3}}) {
    const auto inputs = placed_numbers({{n, m}, {m, 2}});
    const auto got = device.session->run(inputs), want = host.session->run(inputs);
    ASSERT_TRUE(got) << got.error().text();
    expect_equal(graph, *got, *want, kExact);
  }
}

/// Every run of the text cases that are about pointwise steps, products, extents and control flow, beside the host's:
/// the same bits or the same error.
TEST(Device, RunsTheTextCasesAsTheHostDoes) {
  const std::set<std::string> files{"basics.frz", "control.frz",    "control_flow.frz",  "fusion.frz",
                                    "picks.frz",  "products.frz",   "empty_extents.frz", "steps.frz",
                                    "counts.frz", "activation.frz", "appended.frz",      "many_axes.frz"};
  std::uint64_t steps = 0;
  for (const char* folder : {"ir", "suite"}) {
    const auto cases = read_frz_folder(source_dir() / "tests" / folder);
    ASSERT_TRUE(cases) << cases.error().text();
    for (const FrzCase& c : *cases) {
      if (!files.contains(std::filesystem::path(c.file).filename().string())) continue;
      if (c.error || c.runs.empty() || c.name.starts_with("DISABLED")) continue;
      const Graph graph = graph_of(c.text);
      SimulatedDevice::Options everything;
      everything.kernels.insert({Kernel::copy, Kernel::reduce, Kernel::layer_norm, Kernel::attention});
      const DeviceTier device(graph, {}, everything);
      const auto host = Executable::make(std::make_shared<const Graph>(graph));
      ASSERT_EQ(device.session != nullptr, host.has_value()) << c.name << ": " << device.error;
      if (!host) continue;
      const auto host_session = (*host)->open();
      for (const FrzRun& run : c.runs) {
        SCOPED_TRACE(fmt::format("{}:{}: {}", c.file, run.line, c.name));
        const std::vector<Datum> inputs = in_order(graph, run.inputs);
        const auto got = device.session->run(inputs), want = host_session->run(inputs);
        ASSERT_EQ(got.has_value(), want.has_value()) << (got ? "" : got.error().text());
        if (got) {
          expect_equal(graph, *got, *want, kExact);
        } else {
          EXPECT_EQ(got.error().text(), want.error().text());
        }
      }
      steps += device.session->counters().device_steps;
    }
  }
  EXPECT_GT(steps, 100u);
}

TEST(Device, ItsMemoryIsGivenBack) {
  const Graph graph = graph_of("graph g(%x: f32[N]) { %y = Add(%x, f32[3] [1, 2, 3]) return y = %y }");
  DeviceTier device(graph);
  ASSERT_TRUE(device.session) << device.error;
  EXPECT_EQ(device.device->allocations(), 0u);
  EXPECT_TRUE(device.session->run(placed_numbers({{3}})));
  EXPECT_GT(device.device->allocations(), 0u);
  EXPECT_GT(device.device->clock(), 0u);
  device.session->trim();
  EXPECT_EQ(device.device->allocations(), 0u);
  EXPECT_TRUE(device.session->run(placed_numbers({{3}})));
  device.session.reset();
  EXPECT_EQ(device.device->allocations(), 0u);
}

TEST(Device, ThatIsFullIsAnError) {
  const Graph graph = graph_of("graph g(%x: f32[N]) { %y = Exp(%x) return y = %y }");
  const DeviceTier device(graph, {}, {.capacity = 4096});
  ASSERT_TRUE(device.session) << device.error;
  const auto full = device.session->run(placed_numbers({{5000}}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::out_of_memory);
  EXPECT_THAT(full.error().text(), HasSubstr("device 'sim' has no"));
  EXPECT_TRUE(device.session->run(placed_numbers({{50}})));
}

TEST(Device, SessionsOfSeveralThreadsShareIt) {
  const Graph graph =
      graph_of("graph g(%x: f32[N,8], %w: f32[8,8]) { %p = MatMul(%x, %w) %e = Exp(%p) return e = %e }");
  const DeviceTier device(graph);
  const Tier0 host(graph);
  ASSERT_TRUE(device.session) << device.error;
  std::vector<std::thread> threads;
  std::vector<std::string> errors(4);
  for (std::int64_t t = 0; t < 4; ++t) {
    const auto inputs = placed_numbers({{t + 3, 8}, {8, 8}});
    const auto want = host.session->run(inputs);
    ASSERT_TRUE(want);
    threads.emplace_back([&, t, inputs, want] {
      const auto session = device.executable->open();
      for (int run = 0; run < 20; ++run) {
        const auto got = session->run(inputs);
        if (!got)
          errors[static_cast<std::size_t>(t)] = got.error().text();
        else if (const auto what = difference(got->at(0), want->at(0), kExact))
          errors[static_cast<std::size_t>(t)] = *what;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

/// Whoever takes a device's address for one of the host ends there.
TEST(DeviceDeathTest, TheHostCannotReadItsMemory) {
  SimulatedDevice device;
  const auto memory = device.allocate(64);
  ASSERT_TRUE(memory);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile std::byte*>(*memory)), "");
}

TEST(Device, APlanWhoseStepsReadElsewhereIsRefused) {
  const DeviceTier device(graph_of("graph g(%x: f32[N]) { %y = Exp(%x) return y = %y }"));
  ASSERT_TRUE(device.executable) << device.error;
  const Plan& plan = device.executable->plan();
  const auto of_kind = [](Plan& p, auto is) { return std::ranges::find_if(p.steps, is); };
  Plan host = plan;
  of_kind(host, [](const Step& s) { return s.as<step::Launch>() != nullptr; })->as<step::Launch>()->device = kHost;
  EXPECT_THAT(verify(host).error().text(), HasSubstr("lies on device 1, the step runs on 0"));
  Plan same = plan;
  auto& transfer =
      *of_kind(same, [](const Step& s) { return s.as<step::Transfer>() != nullptr; })->as<step::Transfer>();
  transfer.to = transfer.from;
  EXPECT_THAT(verify(same).error().text(), HasSubstr("it copies from device 0 to the same"));
  Plan pool = plan;
  pool.pool_device[0] = kHost;
  EXPECT_THAT(verify(pool).error().text(), HasSubstr("pool 0 is not in the memory of device 1"));
}

/// A value that lies on the device is fetched from there.
TEST(Device, InnerValuesComeFromThere) {
  const Graph graph = graph_of("graph g(%x: f32[N]) { %a = Neg(%x) %b = Exp(%a) %c = Add(%b, %a) return c = %c }");
  struct Watcher : exec::Observer {
    std::vector<exec::WatchedValue> names;
    std::vector<Datum> seen;
    std::span<const exec::WatchedValue> watched() const override { return names; }
    void value(std::size_t, const Datum& value, std::span<const std::int64_t>) override { seen.push_back(value); }
  };
  const DeviceTier device(graph, PassSet::without(Pass::fuse));
  const Tier0 host(graph, PassSet::without(Pass::fuse));
  ASSERT_TRUE(device.session) << device.error;
  Watcher on_device, on_host;
  for (const char* name : {"a", "b", "c", "x"}) on_device.names.push_back(exec::find_value(graph, name).value());
  on_host.names = on_device.names;
  device.session->set_observer(&on_device);
  host.session->set_observer(&on_host);
  const auto run = device.session->run(placed_numbers({{4}}));
  ASSERT_TRUE(run) << run.error().text();
  ASSERT_TRUE(host.session->run(placed_numbers({{4}})));
  ASSERT_EQ(on_device.seen.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FALSE(difference(on_device.seen[i], on_host.seen[i], kExact)) << i;
}

}  // namespace
}  // namespace frazil::test
