#include <array>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ir/op/op.h"
#include "suite/tiers.h"

// A guard that misses in the middle of a request: another plan continues there.
namespace frazil::test {
namespace {

/// The number of runs of each node's kernel, by the node's name and by its operator's.
class Runs : public exec::Observer {
 public:
  void run_begin(const Plan& plan, std::span<const std::int64_t>) override { plan_ = &plan; }
  void step_begin(const Step& step, NodeId) override {
    const std::vector<NodeId> one{step.node};
    for (NodeId n : step.members.empty() ? one : step.members) {
      if (!n) continue;
      const Node& node = plan_->graph->node(n);
      ++of_[std::string(node.op->name)];
      if (!node.name.empty()) ++of_[node.name];
    }
  }
  int of(const std::string& name) const { return of_.contains(name) ? of_.at(name) : 0; }

 private:
  const Plan* plan_ = nullptr;
  std::map<std::string, int> of_;
};

struct ResumeCase {
  const char* what;
  const char* text;
  std::vector<const char*> requests;
  std::uint64_t resumed;  ///< guards that miss over all requests
  /// Nodes, and how often each runs in total.
  std::map<std::string, int> runs = {};
};

const ResumeCase kResumeCases[] = {
    {"what was computed before the guard stays",
     R"(graph g(%m: f32[M], %x: f32[N,2]) {
       %mz = NonZero(%m)
       %s = Shape(%mz)
       %k = Gather(%s, i64[] 1)
       %c = Less(%k, i64[] 2)
       %p = MatMul(%x, f32[2,2] [[1, 2], [3, 4]]) "product"
       %r = If(%c) then_branch() {
         %flat = Reshape(%p, i64[1] [-1])
         yield %flat
       } else_branch() {
         yield %p
       } "pick"
       %y = Add(%r, %r)
       %z = Exp(%p)
       return y = %y, z = %z
     })",
     {"%m = f32[3] [0, 1, 0], %x = f32[3,2] [[1, 2], [3, 4], [5, 6]]", "%m = f32[3] [1, 1, 1], %x = f32[1,2] [[1, 2]]",
      "%m = f32[3] [1, 1, 1], %x = f32[2,2] [[1, 2], [3, 1]]", "%m = f32[3] [0, 1, 0], %x = f32[2,2] [[1, 2], [3, 1]]"},
     2,
     {{"product", 4}}},
    {"extents that only the run knows",
     R"(graph g(%m: f32[M], %x: f32[N]) {
       %mz = NonZero(%m)
       %s = Shape(%mz)
       %k = Gather(%s, i64[] 1)
       %c = Less(%k, i64[] 2)
       %w = NonZero(%x) "zeros"
       %f = Cast(%w) {to = f32}
       %r = If(%c) then_branch() {
         %flat = Squeeze(%f, i64[1] 0)
         yield %flat
       } else_branch() {
         yield %f
       } "pick"
       %y = Neg(%r)
       %t = Add(%f, f32[] 1)
       return y = %y, t = %t
     })",
     {"%m = f32[3] [1, 1, 1], %x = f32[4] [1, 0, 2, 3]", "%m = f32[3] [0, 1, 0], %x = f32[3] [1, 0, 2]",
      "%m = f32[3] [1, 1, 1], %x = f32[3] [0, 0, 0]"},
     3,
     {{"zeros", 3}}},
    {"inside the branch of another If",
     R"(graph g(%a: bool[], %m: f32[M], %x: f32[N,2]) {
       %mz = NonZero(%m)
       %s = Shape(%mz)
       %k = Gather(%s, i64[] 1)
       %c = Less(%k, i64[] 2)
       %e = Exp(%x) "exp"
       %y = If(%a) then_branch() {
         %t = Neg(%e) "neg"
         yield %t
       } else_branch() {
         %g = Sigmoid(%e) "sigmoid"
         %r = If(%c) then_branch() {
           %flat = Reshape(%g, i64[1] [-1])
           yield %flat
         } else_branch() {
           yield %g
         } "pick"
         %w = Reshape(%r, i64[2] [-1, 2])
         %v = Add(%w, %e)
         yield %v
       } "outer"
       return y = %y
     })",
     {"%a = bool[] false, %m = f32[3] [1, 1, 1], %x = f32[1,2] [[1, 2]]",
      "%a = bool[] false, %m = f32[3] [0, 1, 0], %x = f32[2,2] [[1, 2], [3, 4]]",
      "%a = bool[] true, %m = f32[3] [1, 1, 1], %x = f32[1,2] [[1, 2]]"},
     2,
     {{"exp", 3}, {"sigmoid", 2}}},
    {"a loop that goes on from side to side",
     R"(graph g(%n: i64[], %m: f32[T,M], %x: f32[N,2]) {
       %k = MatMul(%x, f32[2,2] [[1, 0], [0, 1]]) "outside"
       %last, %all, %means = Loop(%n, _, %x) body(%i, %go, %v) {
         %h = Add(%v, %k) "before"
         %row_m = Gather(%m, %i)
         %z = NonZero(%row_m)
         %s = Shape(%z)
         %c_n = Gather(%s, i64[] 1)
         %c = Less(%c_n, i64[] 2)
         %r = If(%c) then_branch() {
           %flat = Reshape(%h, i64[1] [-1])
           yield %flat
         } else_branch() {
           yield %h
         } "pick"
         %next = Reshape(%r, i64[2] [-1, 2]) "back"
         %half = Mul(%next, f32[] -1.3)
         %mean = ReduceMean(%half) {keepdims = 0}
         yield %go, %half, %next, %mean
       } "loop"
       %y = Add(%last, %k)
       return y = %y, all = %all, means = %means
     })",
     {"%n = i64[] 5, %m = f32[5,2] [[1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], %x = f32[2,2] [[1, 2], [3, 4]]",
      "%n = i64[] 3, %m = f32[3,2] [[1, 1], [1, 1], [0, 0]], %x = f32[1,2] [[1, 2]]"},
     4 + 2,
     {{"outside", 2}, {"before", 8}}},
    {"a loop inside a loop",
     R"(graph g(%n: i64[], %m: f32[T,M], %x: f32[2]) {
       %last, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
         %w = Loop(%i, _, %v) body(%j, %in, %u) {
           %row_m = Gather(%m, %j)
           %z = NonZero(%row_m)
           %zs = Shape(%z)
           %c_n = Gather(%zs, i64[] 1)
           %c = Less(%c_n, i64[] 2)
           %r = If(%c) then_branch() {
             %row = Unsqueeze(%u, i64[1] 0)
             yield %row
           } else_branch() {
             yield %u
           } "pick"
           %flat = Reshape(%r, i64[1] [-1])
           %t = Add(%flat, f32[] 1) "step"
           yield %in, %t
         } "inner"
         %s = ReduceSum(%w) {keepdims = 0}
         yield %on, %w, %s
       } "outer"
       return last = %last, sums = %sums
     })",
     {"%n = i64[] 4, %m = f32[4,2] [[1, 0], [1, 1], [1, 0], [1, 1]], %x = f32[2] [1, 2]"},
     4,
     {{"step", 6}}},
    {"sequences and results of extents that each iteration chooses",
     R"(graph g(%n: i64[], %m: f32[T,M], %x: f32[N]) {
       %one = SequenceConstruct(%x)
       %s, %parts = Loop(%n, _, %one) body(%i, %on, %q) {
         %last = SequenceAt(%q, i64[] -1)
         %row_m = Gather(%m, %i)
         %zm = NonZero(%row_m)
         %zs = Shape(%zm)
         %c_n = Gather(%zs, i64[] 1)
         %c = Less(%c_n, i64[] 2)
         %r = If(%c) then_branch() {
           %row = Unsqueeze(%last, i64[1] 0)
           yield %row
         } else_branch() {
           yield %last
         } "pick"
         %flat = Reshape(%r, i64[1] [-1])
         %more = Neg(%flat)
         %t = SequenceInsert(%q, %more)
         %z = NonZero(%x)
         yield %on, %t, %z
       } "loop"
       return s = %s, parts = %parts
     })",
     {"%n = i64[] 4, %m = f32[4,2] [[1, 0], [1, 1], [1, 0], [1, 1]], %x = f32[3] [1, 0, 2]",
      "%n = i64[] 1, %m = f32[1,2] [[1, 0]], %x = f32[2] [0, 0]"},
     4,
     {}},
    {"values that a loop makes longer",
     R"(graph g(%n: i64[], %m: f32[T,M], %x: f32[2,N]) {
       %rows, %columns = Loop(%n, _, %x, %x) body(%i, %on, %u, %v) {
         %row_m = Gather(%m, %i)
         %z = NonZero(%row_m)
         %zs = Shape(%z)
         %c_n = Gather(%zs, i64[] 1)
         %c = Less(%c_n, i64[] 2)
         %f = Cast(%i) {to = f32}
         %t = Add(%x, %f) "step"
         %r = If(%c) then_branch() {
           %flat = Reshape(%t, i64[1] [-1])
           yield %flat
         } else_branch() {
           yield %t
         } "pick"
         %more = Reshape(%r, i64[2] [2, -1])
         %longer = Concat(%u, %more) {axis = 0}
         %wider = Concat(%v, %more) {axis = 1}
         yield %on, %longer, %wider
       } "loop"
       return rows = %rows, columns = %columns
     })",
     {"%n = i64[] 5, %m = f32[5,2] [[1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], %x = f32[2,2] [[1, 2], [3, 4]]",
      "%n = i64[] 3, %m = f32[3,2] [[1, 1], [1, 1], [0, 0]], %x = f32[2,1] [[1], [2]]"},
     4 + 2,
     {{"step", 8}}},
    {"extents that differ by the order of a difference",
     R"(graph g(%m: f32[M], %u: f32[U], %v: f32[V], %x: f32[N]) {
       %mz = NonZero(%m)
       %s = Shape(%mz)
       %k = Gather(%s, i64[] 1)
       %c = Less(%k, i64[] 2)
       %uz = NonZero(%u)
       %us = Shape(%uz)
       %a = Gather(%us, i64[1] 1)
       %vz = NonZero(%v)
       %vs = Shape(%vz)
       %b = Gather(%vs, i64[1] 1)
       %p = Slice(%x, %a, %b)
       %q = Slice(%x, %b, %a)
       %pc = CumSum(%p, i64[] 0) "up"
       %qc = CumSum(%q, i64[] 0) "down"
       %r = If(%c) then_branch() {
         %flat = Reshape(%x, i64[2] [1, -1])
         yield %flat
       } else_branch() {
         yield %x
       } "pick"
       %y = Neg(%r)
       %ps = Softmax(%pc) {axis = 0}
       %qs = Softmax(%qc) {axis = 0}
       return y = %y, p = %ps, q = %qs
     })",
     {"%m = f32[2] [1, 1], %u = f32[4] [1, 0, 0, 0], %v = f32[4] [1, 1, 1, 0], %x = f32[6] [1, 2, 4, 3, 5, 0]",
      "%m = f32[2] [0, 1], %u = f32[4] [1, 1, 1, 1], %v = f32[4] [1, 0, 1, 0], %x = f32[6] [1, 2, 4, 3, 5, 0]"},
     2,
     {{"up", 2}, {"down", 2}}},
    {"a step of the other side alone, for other extents than last time",
     R"(graph g(%n: i64[], %m: f32[T,M], %x: f32[N,2]) {
       %last = Loop(%n, _, %x) body(%i, %on, %v) {
         %row = Gather(%m, %i)
         %z = NonZero(%row)
         %f = Cast(%z) {to = f32}
         %sum = ReduceSum(%f) {keepdims = 0} "sum"
         %moved = Add(%v, %sum)
         %s = Shape(%z)
         %k = Gather(%s, i64[] 1)
         %c = Less(%k, i64[] 2)
         %r = If(%c) then_branch() {
           %flat = Reshape(%x, i64[1] [-1])
           yield %flat
         } else_branch() {
           yield %moved
         } "pick"
         %next = Reshape(%r, i64[2] [-1, 2])
         yield %on, %next
       } "loop"
       return last = %last
     })",
     {"%n = i64[] 3, %m = f32[3,3] [[1, 1, 1], [0, 0, 0], [0, 1, 1]], %x = f32[2,2] [[1, 2], [3, 4]]"},
     3,
     {}},
    {"a shape whose length is new",
     R"(graph g(%x: f32[N,2], %s: i64[K]) {
       %p = MatMul(%x, f32[2,2] [[1, 2], [3, 4]]) "product"
       %e = Expand(%p, %s) "expand"
       %y = Tanh(%e)
       %z = Exp(%p)
       return y = %y, z = %z
     })",
     {"%x = f32[2,2] [[1, 0], [0, 2]], %s = i64[1] [1]", "%x = f32[1,2] [[1, 3]], %s = i64[3] [2, 1, 2]",
      "%x = f32[1,2] [[1, 3]], %s = i64[2] [3, 1]", "%x = f32[3,2] [[1, 3], [0, 1], [1, 1]], %s = i64[3] [2, 1, 1]"},
     3,
     {{"product", 4}}},
    {"a loop whose iterations have different ranks",
     R"(graph g(%n: i64[], %x: f32[4], %shapes: i64[T,2], %lengths: i64[T]) {
       %k = Exp(%x) "outside"
       %last, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
         %h = Add(%v, %k) "before"
         %row = Gather(%shapes, %i)
         %l = Gather(%lengths, %i)
         %l1 = Reshape(%l, i64[1] [1])
         %shape = Slice(%row, i64[1] 0, %l1)
         %r = Reshape(%h, %shape) "shaped"
         %m = ReduceMax(%r, i64[1] -1) {keepdims = 1}
         %d = Sub(%r, %m)
         %flat = Reshape(%d, i64[1] [-1])
         %s = ReduceMean(%flat) {keepdims = 0}
         yield %on, %flat, %s
       } "loop"
       return last = %last, sums = %sums
     })",
     {"%n = i64[] 5, %x = f32[4] [1, 0, 0.5, 2], %shapes = i64[5,2] [[4, 1], [2, 2], [1, 4], [4, 1], [2, 2]], "
      "%lengths = i64[5] [1, 2, 2, 1, 2]"},
     3,
     {{"outside", 1}, {"before", 5}}},
    {"random numbers are drawn once",
     R"(graph g(%m: f32[M]) {
       %mz = NonZero(%m)
       %s = Shape(%mz)
       %k = Gather(%s, i64[] 1)
       %c = Less(%k, i64[] 2)
       %u = RandomUniform() {shape = [2, 2]} "first"
       %r = If(%c) then_branch() {
         %flat = Reshape(%u, i64[1] [-1])
         yield %flat
       } else_branch() {
         yield %u
       } "pick"
       %v = RandomNormal() {shape = [3]} "second"
       %y = Add(%r, %r)
       return u = %u, y = %y, v = %v
     })",
     {"%m = f32[3] [0, 1, 0]", "%m = f32[3] [1, 1, 1]", "%m = f32[3] [1, 1, 1]", "%m = f32[3] [0, 1, 0]"},
     2,
     {{"Uniform", 4 + 4 * 2}}},
};

TEST(Resume, GoesOnAtTheGuard) {
  for (const ResumeCase& row : kResumeCases) {
    SCOPED_TRACE(row.what);
    const Graph graph = graph_of(row.text);
    const Tier0 tier(graph);
    ASSERT_TRUE(tier);
    Runs runs;
    tier.session->set_observer(&runs);
    auto reference = Executable::make(std::make_shared<const Graph>(graph), {.reference = true}).value()->open();
    for (const char* request : row.requests) {
      SCOPED_TRACE(request);
      const auto inputs = in_order(graph, request);
      const auto got = tier.session->run(inputs), want = reference->run(inputs);
      ASSERT_TRUE(got) << got.error().text();
      ASSERT_TRUE(want) << want.error().text();
      for (std::size_t k = 0; k < want->size(); ++k) {
        const auto differs = difference(got->at(k), want->at(k), kClose);
        EXPECT_FALSE(differs) << "result " << k << ": " << differs.value_or("");
      }
    }
    EXPECT_EQ(tier.session->counters().resumed, row.resumed);
    EXPECT_EQ(tier.session->counters().restarted, 0u);
    for (const auto& [node, times] : row.runs) EXPECT_EQ(runs.of(node), times) << node;
  }
}

/// Each of 128 subsets of axes may have extent 1: the later ones run in a plan that assumes nothing.
TEST(Ranks, PlansAreBounded) {
  const Graph graph = graph_of(R"(graph g(%x: f32[A,B,C,D,E,F,G]) {
    %s = Squeeze(%x)
    %y = Neg(%s)
    return y = %y
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (unsigned subset = 0; subset < 256; ++subset) {
    Sizes sizes, kept;
    for (unsigned axis = 0; axis < 7; ++axis) {
      sizes.push_back((subset >> axis & 1U) == 1 ? 1 : 2);
      if (sizes.back() == 2) kept.push_back(2);
    }
    Tensor x = Tensor::make(Elem::f32, sizes).value();
    float next = static_cast<float>(subset);
    for (float& element : x.as_mutable<float>()) element = next++;
    const auto got = tier.session->run(std::vector<Datum>{x});
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->front().tensor().sizes(), kept) << subset;
    EXPECT_EQ(got->front().tensor().as<float>().back(), -(next - 1)) << subset;
  }
  EXPECT_LE(tier.session->executable().specialised().size(), exec::SpecialisationCache::kMaxEntries + 1);
}

/// One step of the hash that named values by 64 bits alone.
std::uint64_t stepped(std::uint64_t state, std::uint64_t word) {
  state ^= word + 0x9e3779b97f4a7c15U + (state << 6) + (state >> 2);
  state *= 0xff51afd7ed558ccdU;
  return state ^ state >> 32;
}

/// Two lists of numbers that such a hash takes for one, from the state that it has in front of them.
std::array<std::array<std::uint64_t, 2>, 2> colliding(std::uint64_t state) {
  const std::uint64_t first = stepped(state, 3), other = stepped(state, 4);
  const auto added = [](std::uint64_t s) { return 0x9e3779b97f4a7c15U + (s << 6) + (s >> 2); };
  return {{{3, 5}, {4, (first ^ (5 + added(first)) ^ other) - added(other)}}};
}

/// Values of one hash are two values: a model can be made so.
TEST(Resume, ValuesOfOneHashStayApart) {
  std::uint64_t state = 0x243f6a8885a308d3U;
  for (const std::uint64_t word :
       {std::uint64_t{static_cast<std::uint8_t>(Elem::i64)}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{16}}) {
    state = stepped(state, word);
  }
  const auto [a, b] = colliding(state);
  const std::string text = fmt::format(R"(graph g(%m: f32[M], %x: i64[2]) {{
    %mz = NonZero(%m)
    %s = Shape(%mz)
    %k = Gather(%s, i64[] 1)
    %c = Less(%k, i64[] 2)
    %p = BitwiseXor(%x, i64[2] [{}, {}]) "p"
    %q = BitwiseXor(%x, i64[2] [{}, {}]) "q"
    %pc = CumSum(%p, i64[] 0)
    %qc = CumSum(%q, i64[] 0)
    %r = If(%c) then_branch() {{
      %flat = Reshape(%pc, i64[2] [1, 2])
      yield %flat
    }} else_branch() {{
      yield %qc
    }} "pick"
    %y = Neg(%r)
    return y = %y, p = %pc, q = %qc
  }})",
                                       static_cast<std::int64_t>(a[0]), static_cast<std::int64_t>(a[1]),
                                       static_cast<std::int64_t>(b[0]), static_cast<std::int64_t>(b[1]));
  const Graph graph = graph_of(text);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  auto reference = Executable::make(std::make_shared<const Graph>(graph), {.reference = true}).value()->open();
  for (const char* request :
       {"%m = f32[3] [0, 1, 0], %x = i64[2] [7, 8]", "%m = f32[3] [1, 1, 1], %x = i64[2] [1, 2]"}) {
    SCOPED_TRACE(request);
    const auto inputs = in_order(graph, request);
    const auto got = tier.session->run(inputs), want = reference->run(inputs);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_TRUE(want) << want.error().text();
    for (std::size_t k = 0; k < want->size(); ++k) {
      const auto differs = difference(got->at(k), want->at(k), kExact);
      EXPECT_FALSE(differs) << "result " << k << ": " << differs.value_or("");
    }
  }
  EXPECT_GT(tier.session->counters().resumed, 0u);
}

}  // namespace
}  // namespace frazil::test
