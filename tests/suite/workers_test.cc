#include "suite/workers.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/schedulers.h"

// Steps whose units go to several workers: results have the bits of one thread, and limits reach everybody.
namespace frazil::test {
namespace {

using ::testing::HasSubstr;

struct SharedGraph {
  const char* name;
  const char* text;
  Sizes weight = {};  ///< of @w
};

Graph read_graph(const SharedGraph& g) {
  link_operators();
  auto graph = parse(g.text, [&](std::string_view) { return random_tensor(Elem::f32, g.weight, 7); });
  if (graph) return std::move(*graph);
  ADD_FAILURE() << g.name << ": " << graph.error().text();
  return {};
}

/// Work enough that more than one worker gets a range.
const SharedGraph kGraphs[] = {
    {"a_product_with_a_weight",
     R"(weight @w: f32[96,130]
        graph g(%x: f32[301,96]) { %y = MatMul(%x, @w) return y = %y })",
     {96, 130}},
    {"a_product_of_inputs", R"(graph g(%x: f32[601,70], %z: f32[70,150]) { %y = MatMul(%x, %z) return y = %y })"},
    {"products_in_a_batch", R"(graph g(%x: f32[5,3,61,40], %z: f32[3,40,90]) { %y = MatMul(%x, %z) return y = %y })"},
    {"a_product_of_integers", R"(graph g(%x: i64[6,40,50], %z: i64[6,50,40]) { %y = MatMul(%x, %z) return y = %y })"},
    {"a_product_with_what_follows",
     R"(weight @w: f32[96,130]
        graph g(%x: f32[301,96], %b: f32[130], %r: f32[301,130]) {
          %p = MatMul(%x, @w)
          %a = Add(%p, %b)
          %t = Tanh(%a)
          %y = Mul(%t, %r)
          return y = %y
        })",
     {96, 130}},
    {"a_product_with_softmax_behind",
     R"(weight @w: f32[96,130]
        graph g(%x: f32[301,96]) { %p = MatMul(%x, @w) %y = Softmax(%p) return y = %y })",
     {96, 130}},
    {"a_product_of_normalised_rows",
     R"(weight @w: f32[96,130]
        graph g(%x: f32[301,96], %s: f32[96], %b: f32[96]) {
          %n = LayerNormalization(%x, %s, %b)
          %y = MatMul(%n, @w)
          return y = %y
        })",
     {96, 130}},
    {"a_row_times_a_weight",
     R"(weight @w: f32[700,1300]
        graph g(%x: f32[1,700], %r: f32[1,1300]) {
          %p = MatMul(%x, @w)
          %t = Tanh(%p)
          %y = Mul(%t, %r)
          return y = %y
        })",
     {700, 1300}},
    {"few_rows_times_a_weight",
     R"(weight @w: f32[700,1300]
        graph g(%x: f32[16,700], %b: f32[1300]) {
          %p = MatMul(%x, @w)
          %a = Add(%p, %b)
          %y = Relu(%a)
          return y = %y
        })",
     {700, 1300}},
    // Of integers, whose sums are exact: the reference rounds them to the same numbers.
    {"few_rows_of_bf16",
     R"(graph g(%x: f32[5,400], %z: f32[400,900], %b: f32[900]) {
          %xi = Round(%x)
          %zi = Round(%z)
          %xn = Cast(%xi) {to = bf16}
          %zn = Cast(%zi) {to = bf16}
          %bn = Cast(%b) {to = bf16}
          %p = MatMul(%xn, %zn)
          %q = Add(%p, %bn)
          %y = Cast(%q) {to = f32}
          return y = %y })"},
    {"one_row_of_f16",
     R"(graph g(%x: f32[1,900], %z: f32[900,1000]) {
          %xi = Round(%x)
          %zi = Round(%z)
          %xn = Cast(%xi) {to = f16}
          %zn = Cast(%zi) {to = f16}
          %p = MatMul(%xn, %zn)
          %y = Cast(%p) {to = f32}
          return y = %y })"},
    {"few_rows_in_batches", R"(graph g(%x: f32[3,5,400], %z: f32[3,400,900]) { %y = MatMul(%x, %z) return y = %y })"},
    {"few_normalised_rows",
     R"(weight @w: f32[700,1300]
        graph g(%x: f32[9,700], %s: f32[700], %b: f32[700]) {
          %n = LayerNormalization(%x, %s, %b)
          %y = MatMul(%n, @w)
          return y = %y
        })",
     {700, 1300}},
    {"few_rows_normalised_afterwards",
     R"(weight @w: f32[700,1300]
        graph g(%x: f32[19,700], %r: f32[19,1300], %s: f32[1300], %b: f32[1300]) {
          %p = MatMul(%x, @w)
          %a = Add(%p, %r)
          %y = LayerNormalization(%a, %s, %b)
          return y = %y
        })",
     {700, 1300}},
    {"many_rows_with_softmax_behind",
     R"(weight @w: f32[96,1300]
        graph g(%x: f32[161,96]) { %p = MatMul(%x, @w) %y = Softmax(%p) return y = %y })",
     {96, 1300}},
    {"gemm_of_few_rows",
     R"(weight @w: f32[1300,700]
        graph g(%x: f32[11,700], %c: f32[11,1]) {
          %g = Gemm(%x, @w, %c) {transB = 1, alpha = 0.7, beta = 1.3}
          %y = Tanh(%g)
          return y = %y
        })",
     {1300, 700}},
    {"few_rows_of_bytes",
     R"(graph g(%x: f32[7,700], %z: f32[700,1300]) {
          %a = Cast(%x) {to = i8}
          %b = Cast(%z) {to = i8}
          %y = MatMulInteger(%a, %b)
          return y = %y
        })"},
    {"lstm",
     R"(graph g(%x: f32[5,40,40], %w: f32[2,192,40], %r: f32[2,192,48]) {
          %y, %h, %c = LSTM(%x, %w, %r) {hidden_size = 48, direction = "bidirectional"}
          return y = %y, h = %h, c = %c
        })"},
    {"gru",
     R"(weight @r: f32[1,144,48]
        graph g(%x: f32[5,40,40], %w: f32[1,144,40]) {
          %y, %h = GRU(%x, %w, @r) {hidden_size = 48}
          return y = %y, h = %h
        })",
     {1, 144, 48}},
    {"transpose",
     R"(graph g(%x: f32[700,900]) {
          %t = Transpose(%x) {perm = [1, 0]}
          %y = Reshape(%t, i64[1] [-1])
          return y = %y
        })"},
    {"pad", R"(graph g(%x: f32[600,700]) { %y = Pad(%x, i64[4] [3, 5, 7, 9]) {mode = "reflect"} return y = %y })"},
    {"gemm_of_a_transpose",
     R"(weight @w: f32[130,96]
        graph g(%x: f32[96,301], %c: f32[301,1]) {
          %y = Gemm(%x, @w, %c) {transA = 1, transB = 1, alpha = 0.7, beta = 1.3}
          return y = %y
        })",
     {130, 96}},
    {"a_convolution",
     R"(weight @w: f32[24,16,3,3]
        graph g(%x: f32[2,16,30,29], %b: f32[24]) {
          %p = Conv(%x, @w, %b) {pads = [1, 1, 1, 1]}
          %y = Relu(%p)
          return y = %y
        })",
     {24, 16, 3, 3}},
    {"a_depthwise_convolution",
     R"(weight @w: f32[48,1,3,3]
        graph g(%x: f32[2,48,90,89]) { %y = Conv(%x, @w) {group = 48} return y = %y })",
     {48, 1, 3, 3}},
    {"pointwise",
     R"(graph g(%x: f32[300,401], %row: f32[401], %column: f32[300,1]) {
          %a = Add(%x, %row)
          %m = Mul(%a, %column)
          %t = Tanh(%m)
          %y = Sub(%t, %x)
          return y = %y
        })"},
    {"one_operator", R"(graph g(%x: f32[1000,1001]) { %y = Exp(%x) return y = %y })"},
    {"reductions",
     R"(graph g(%x: f32[300,401], %z: f32[90,41,60]) {
          %a = ReduceSum(%x, i64[1] [1])
          %b = ReduceMax(%z, i64[1] [1])
          %c = ArgMax(%x) {axis = 1}
          %d = ReduceLogSumExp(%x, i64[1] [1])
          return a = %a, b = %b, c = %c, d = %d
        })"},
    {"softmax", R"(graph g(%x: f32[300,401]) { %y = Softmax(%x) %z = LogSoftmax(%x) return y = %y, z = %z })"},
    {"normalisation",
     R"(graph g(%x: f32[500,401], %s: f32[401], %b: f32[401]) {
          %y, %m, %d = LayerNormalization(%x, %s, %b)
          return y = %y, m = %m, d = %d
        })"},
    {"pools",
     R"(graph g(%x: f32[2,30,40,41]) {
          %a = MaxPool(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
          %b = AveragePool(%x) {kernel_shape = [2, 2], strides = [2, 2]}
          %c = GlobalAveragePool(%x)
          return a = %a, b = %b, c = %c
        })"},
    {"attention",
     R"(graph g(%q: f32[2,6,70,32], %k: f32[2,3,90,32], %v: f32[2,3,90,24], %m: f32[70,90]) {
          %y = Attention(%q, %k, %v, %m)
          return y = %y
        })"},
};

class Workers : public ::testing::TestWithParam<SharedGraph> {
  const EagerSharing eager_;
};

TEST_P(Workers, GiveTheBitsOfOneThread) {
  const Graph graph = read_graph(GetParam());
  const std::vector<Datum> inputs = random_inputs(graph);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  tier.session->set_scheduler(nullptr);
  const auto want = run_beside_reference(*tier.session, graph, inputs, sum_of(16 * 9, 10));
  ASSERT_TRUE(want) << want.error().text();
  EXPECT_EQ(tier.session->counters().shared, 0u);
  const std::pair<const char*, std::shared_ptr<Scheduler>> ways[] = {
      {"backwards", std::make_shared<Backwards>()}, {"2 threads", scheduler(2)}, {"3 threads", scheduler(3)}};
  for (const auto& [way, of] : ways) {
    SCOPED_TRACE(way);
    const auto counting = std::make_shared<Counting>(of);
    const auto session = tier.executable->open();
    session->set_scheduler(counting);
    for (int run = 0; run < 5; ++run) {
      const auto got = session->run(inputs);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_TRUE(same_bits(*got, *want)) << "run " << run;
    }
    EXPECT_GE(session->counters().shared, 5u);
    EXPECT_GE(counting->ranges(), 5 * 2);
    session->set_scheduler(nullptr);
    EXPECT_TRUE(same_bits(session->run(inputs).value(), *want)) << "and back on one thread";
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, Workers, ::testing::ValuesIn(kGraphs),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- limits ----

/// One long step: some tenths of a second on one thread.
constexpr std::string_view kLong = R"(graph g(%x: f32[1500,1500], %z: f32[1500,1500]) {
  %y = MatMul(%x, %z) "long"
  return y = %y
})";

/// Whoever runs a range of a step of `graph` finds what `at_range` does in it.
class AtRange : public Scheduler {
 public:
  AtRange(std::shared_ptr<Scheduler> of, FunctionRef<void()> at_range) : of_(std::move(of)), at_range_(at_range) {}
  unsigned workers() const noexcept override { return of_->workers(); }
  void parallel_for(std::int64_t units, std::int64_t, Body body) override {
    of_->parallel_for(units, 1, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      ++begun_;
      at_range_();
      body(begin, end, worker);
    });
  }
  int begun() const noexcept { return begun_; }

 private:
  std::shared_ptr<Scheduler> of_;
  FunctionRef<void()> at_range_;
  std::atomic<int> begun_ = 0;
};

TEST(WorkersLimits, CancelStopsAllWorkersInTheMiddleOfAStep) {
  const Graph graph = graph_of(kLong);
  const Tier0 tier(graph);
  const auto inputs = random_inputs(graph);
  const auto cancel = [&] { tier.session->cancel(); };
  const auto cancelling = std::make_shared<AtRange>(scheduler(3), cancel);
  tier.session->set_scheduler(cancelling);
  const auto got = tier.session->run(inputs);
  ASSERT_FALSE(got);
  EXPECT_EQ(name_of(got.error().code), name_of(Code::cancelled)) << got.error().text();
  EXPECT_LE(cancelling->begun(), 3) << "ranges began behind the cancellation";
  tier.session->set_scheduler(scheduler(3));
  EXPECT_TRUE(tier.session->run(inputs)) << "the next run starts clean";
}

TEST(WorkersLimits, ADeadlineStopsAllWorkersInTheMiddleOfAStep) {
  const Graph graph = graph_of(kLong);
  const Tier0 tier(graph);
  const auto wait = [] {
    while (!stop_requested()) std::this_thread::yield();
  };
  const auto waiting = std::make_shared<AtRange>(scheduler(3), wait);
  tier.session->set_scheduler(waiting);
  tier.session->set_limits({.time = std::chrono::milliseconds(20)});
  const auto got = tier.session->run(random_inputs(graph));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().text(), "the run passed its deadline of 20 ms");
  EXPECT_LE(waiting->begun(), 3);
}

/// Steps are counted by the session's thread: as many with workers as without.
TEST(WorkersLimits, StepsAreCountedAsOnOneThread) {
  const Graph graph = graph_of(R"(graph g(%x: f32[300,401]) {
    %y = Loop(i64[] 20, _, %x) body(%i, %on, %v) {
      %e = Exp(%v)
      %w = Sub(%v, %e) "less"
      yield %on, %w
    } "repeat"
    return y = %y
  })");
  const auto inputs = random_inputs(graph);
  const auto steps_suffice = [&](std::uint64_t steps, const std::shared_ptr<Scheduler>& scheduler) {
    const Tier0 tier(graph);
    tier.session->set_scheduler(scheduler);
    tier.session->set_limits({.steps = steps, .time = {}});
    const auto got = tier.session->run(inputs);
    if (got) return true;
    EXPECT_THAT(got.error().text(), HasSubstr(fmt::format("more than {} steps", steps)));
    return false;
  };
  std::uint64_t enough = 1;
  while (!steps_suffice(enough, nullptr)) ++enough;
  EXPECT_GT(enough, 20u);
  EXPECT_TRUE(steps_suffice(enough, scheduler(2)));
  EXPECT_FALSE(steps_suffice(enough - 1, scheduler(2)));
}

/// The scratch memory of all workers is the session's; what it holds besides is the same.
TEST(WorkersLimits, MemoryOfWorkersCountsAgainstTheLimit) {
  const Graph graph = graph_of(R"(graph g(%x: f32[900,200], %z: f32[200,300]) {
    %y = MatMul(%x, %z)
    return y = %y
  })");
  const auto inputs = random_inputs(graph);
  const Tier0 one(graph), many(graph);
  ASSERT_TRUE(one.session->run(inputs));
  const std::size_t least = one.session->held_bytes();
  many.session->set_scheduler(scheduler(8));
  ASSERT_TRUE(many.session->run(inputs));
  EXPECT_GT(many.session->held_bytes(), least);
  const auto run_within = [&](std::size_t bytes, const std::shared_ptr<Scheduler>& scheduler) {
    const Tier0 tier(graph);
    tier.session->set_scheduler(scheduler);
    tier.session->set_limits({.memory_bytes = bytes, .time = {}});
    return tier.session->run(inputs);
  };
  const std::size_t results = 900 * 300 * sizeof(float);
  EXPECT_TRUE(run_within(least + results, nullptr));
  const auto refused = run_within(least + results, scheduler(8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(name_of(refused.error().code), name_of(Code::limit));
  EXPECT_THAT(refused.error().text(), HasSubstr(fmt::format("memory limit of {} bytes", least + results)));
  EXPECT_TRUE(run_within(many.session->held_bytes() + results, scheduler(8)));
}

/// Each caller works on its own step; helpers go where they are wanted.
TEST(WorkersLimits, SessionsOfSeveralThreadsShareOneScheduler) {
  const Graph graph = read_graph(kGraphs[0]);
  const auto inputs = random_inputs(graph);
  const Tier0 tier(graph);
  const auto want = tier.session->run(inputs).value();
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> users;
    for (int u = 0; u < 4; ++u) {
      users.emplace_back([&] {
        const auto session = tier.executable->open();
        session->set_scheduler(scheduler(2));
        for (int run = 0; run < 20; ++run) {
          const auto got = session->run(inputs);
          if (!got || !same_bits(*got, want)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace frazil::test
