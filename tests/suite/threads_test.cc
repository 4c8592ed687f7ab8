#include <thread>

#include <gtest/gtest.h>

#include "code/weights/weight_store.h"
#include "suite/tiers.h"

// Threads share one Executable and have their own Sessions. Run it under the thread sanitizer.
namespace frazil::test {
namespace {

constexpr int kThreads = 8;
constexpr int kRuns = 20;

struct Work {
  std::vector<Datum> inputs, wanted;
};

/// Each thread's requests and expected results, computed in advance.
template <class MakeInputs>
std::vector<std::vector<Work>> plan_work(const Graph& graph, const MakeInputs& make_inputs) {
  std::vector<std::vector<Work>> all(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    for (int k = 0; k < 4; ++k) {
      Work work;
      work.inputs = make_inputs(t, k);
      auto wanted = run_on_reference(graph, work.inputs);
      EXPECT_TRUE(wanted) << wanted.error().text();
      if (wanted) work.wanted = *wanted;
      all[t].push_back(std::move(work));
    }
  }
  return all;
}

/// The first error of a thread; empty: none.
std::string run_all(Executable& executable, const Graph& graph, const std::vector<Work>& work) {
  const auto session = executable.open();
  std::vector<Datum> got;
  for (int run = 0; run < kRuns; ++run) {
    const Work& w = work[static_cast<std::size_t>(run) % work.size()];
    const Status status = session->run(w.inputs, got);
    if (!status) return status.error().text();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (const auto what = difference(got[i], w.wanted[i], sum_of(64))) return graph.output_names()[i] + ": " + *what;
    }
  }
  return {};
}

template <class MakeInputs>
void run_on_threads(const Graph& graph, const MakeInputs& make_inputs) {
  const auto work = plan_work(graph, make_inputs);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier && !::testing::Test::HasFailure());
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { errors[t] = run_all(*tier.executable, graph, work[t]); });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(errors[t], "") << "thread " << t;
}

TEST(Threads, ShareOneExecutableOverDifferentShapes) {
  constexpr const char* kText = R"(graph g(%x: f32[N,16], %w: f32[16,24], %n: i64[]) {
      %p = MatMul(%x, %w)
      %q = Tanh(%p)
      %y, %all = Loop(%n, _, %q) body(%i, %on, %v) {
        %r = Concat(%v, %q) {axis = 0}
        %s = ReduceSum(%r, i64[1] 0) {keepdims = 0}
        yield %on, %r, %s
      }
      %z = Softmax(%y)
      return z = %z, all = %all
    })";
  run_on_threads(graph_of(kText), [](int t, int k) {
    return std::vector<Datum>{uneven({t + 2 * k + 1, 16}, t), uneven({16, 24}, 5),
                              Tensor::scalar<std::int64_t>((t + k) % 5)};
  });
}

/// Weights are packed by the first session that needs them, for all sessions.
TEST(Threads, PackSharedWeightsOnce) {
  const Graph graph = graph_of(
      R"(
    weight @w: f32[32,64]
    weight @u: f32[48,64]
    graph g(%x: f32[N,32]) {
      %p = MatMul(%x, @w)
      %q = Gemm(%p, @u) {transB = 1}
      %y = Relu(%q)
      return y = %y
    })",
      [](std::string_view name) { return name == "w" ? uneven({32, 64}, 3, 0.25f) : uneven({48, 64}, 11, 0.25f); });
  const std::uint64_t before = code::WeightStore::global().packed_count();
  run_on_threads(graph, [](int t, int k) { return std::vector<Datum>{uneven({8 * k + t + 1, 32}, t)}; });
  EXPECT_EQ(code::WeightStore::global().packed_count() - before, 2u);
}

/// Both specialisations of the graph are made while others run.
TEST(Threads, MakeTheVersionsOfAGraphTogether) {
  run_on_threads(graph_of(R"(graph g(%x: f32[N,2]) {
      %s = Shape(%x)
      %n = Gather(%s, i64[] 0)
      %small = Less(%n, i64[] 6)
      %r = If(%small) then_branch() {
        %flat = Reshape(%x, i64[1] [-1])
        yield %flat
      } else_branch() {
        yield %x
      }
      %y = Exp(%r)
      return y = %y
    })"),
                 [](int t, int k) { return std::vector<Datum>{uneven({(t + 3 * k) % 11 + 1, 2}, t)}; });
}

}  // namespace
}  // namespace frazil::test
