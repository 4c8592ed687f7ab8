#include "exec/observe/inner_values.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// Any value of a graph can be asked for, also one that exists inside a fused kernel only. What is told has the bits of
// a plan that fuses nothing, and is what the reference executor computes.
namespace frazil::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keeps what it is told of the values with these names.
class Watcher : public exec::Observer {
 public:
  using Path = std::vector<std::int64_t>;
  using Seen = std::map<std::pair<std::string, Path>, std::vector<Datum>>;

  Watcher(const Graph& graph, const std::vector<std::string>& names) : names_(names) {
    for (const std::string& name : names) {
      auto found = exec::find_value(graph, name);
      if (!found) {
        ADD_FAILURE() << found.error().text();
        continue;
      }
      watched_.push_back(*found);
    }
  }
  std::span<const exec::WatchedValue> watched() const override { return watched_; }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override {
    seen[{names_[index], Path(iterations.begin(), iterations.end())}].push_back(value);
  }
  bool without(std::size_t index, std::string_view) override {
    missing.insert(names_[index]);
    return true;
  }

  Seen seen;
  std::set<std::string> missing;

 private:
  std::vector<std::string> names_;
  std::vector<exec::WatchedValue> watched_;
};

/// Every name that the graph has.
std::vector<std::string> names_of(const Graph& graph) {
  std::set<std::string> names;
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    const bool used = graph.constant(Value{v}) != nullptr || graph.block_of(Value{v});
    if (used && !graph.value_name(Value{v}).empty()) names.insert(graph.value_name(Value{v}));
  }
  return {names.begin(), names.end()};
}

struct Watched {
  Watcher::Seen seen;
  std::set<std::string> missing;
  std::vector<Datum> outputs;
};

Watched watch(const Graph& graph, const std::vector<Datum>& inputs, const std::vector<std::string>& names,
              const exec::Options& options) {
  Watched result;
  const auto made = Executable::make(std::make_shared<const Graph>(graph), options);
  EXPECT_TRUE(made) << made.error().text();
  if (!made) return result;
  const auto session = (*made)->open();
  const auto plain = session->run(inputs);
  Watcher watcher(graph, names);
  session->set_observer(&watcher);
  const auto outputs = session->run(inputs);
  EXPECT_TRUE(outputs && plain) << outputs.error().text();
  if (!outputs || !plain) return result;
  expect_equal(graph, *outputs, *plain, kExact);
  return {std::move(watcher.seen), std::move(watcher.missing), *outputs};
}

std::string str(const std::pair<std::string, Watcher::Path>& key) {
  std::string text = key.first;
  for (const std::int64_t i : key.second) text += fmt::format(" [{}]", i);
  return text;
}

void expect_same_values(const Watcher::Seen& got, const Watcher::Seen& want, const std::set<std::string>& missing,
                        Tolerance tolerance) {
  for (const auto& [key, values] : want) {
    SCOPED_TRACE(str(key));
    const auto at = got.find(key);
    if (at == got.end()) {
      EXPECT_TRUE(missing.contains(key.first)) << "was not told";
      continue;
    }
    EXPECT_EQ(at->second.size(), values.size());
    for (std::size_t i = 0; i < std::min(values.size(), at->second.size()); ++i) {
      const auto what = difference(at->second[i], values[i], tolerance);
      EXPECT_FALSE(what) << *what;
    }
  }
  for (const auto& [key, values] : got) EXPECT_TRUE(want.contains(key)) << str(key) << " was told";
}

struct WatchedCase {
  const char* name;
  const char* graph;
  const char* inputs;
  Tolerance tolerance = kClose;
};

constexpr PassSet kFuseAlone{PassSet::none().off & ~(1U << static_cast<unsigned>(Pass::fuse))};

/// Asks for every named value. With the passes that rewrite graphs off, all of them are there.
void expect_all_values(const WatchedCase& c) {
  const Graph graph = graph_of(c.graph);
  const auto inputs = in_order(graph, c.inputs);
  const auto names = names_of(graph);
  const Watched reference = watch(graph, inputs, names, {.reference = true});
  const Watched unfused = watch(graph, inputs, names, {.passes = PassSet::none(), .verify = 1});
  const Watched fused = watch(graph, inputs, names, {.passes = kFuseAlone, .verify = 1});
  EXPECT_FALSE(reference.seen.empty());
  EXPECT_THAT(unfused.missing, ::testing::IsEmpty());
  EXPECT_THAT(fused.missing, ::testing::IsEmpty());
  expect_same_values(unfused.seen, reference.seen, {}, c.tolerance);
  expect_same_values(fused.seen, unfused.seen, {}, kExact);
}

constexpr WatchedCase kWatchedCases[] = {
    {"pointwise_chain", R"(graph g(%x: f32[N,M], %b: f32[M]) {
      %a = Add(%x, %b)
      %m = Mul(%a, %a)
      %less = Less(%m, f32[] 4)
      %w = Where(%less, %m, %x)
      %t = Tanh(%w)
      %h = Cast(%t) {to = f16}
      %y = Cast(%h) {to = f32}
      return y = %y
    })",
     "%x = f32[2,3] [[1, -2, 0.5], [0.25, 3, -1]], %b = f32[3] [0.5, 1, -0.25]"},
    {"product_with_epilogue", R"(graph g(%x: f32[N,4], %w: f32[4,3], %r: f32[N,3], %b: f32[3]) {
      %p = MatMul(%x, %w)
      %s = Add(%p, %b)
      %u = Relu(%s)
      %v = Add(%u, %r)
      %g = Sigmoid(%v)
      %big = Greater(%g, f32[] 0.5)
      %y = Mul(%g, %v)
      return y = %y, big = %big
    })",
     "%x = f32[2,4] [[1, 2, -3, 4], [0.5, -1, 2, 1]], %w = f32[4,3] [[1, -1, 2], [0.5, 1, -2], [1, 1, 1], [-1, 2, "
     "0.5]], "
     "%r = f32[2,3] [[1, 2, 3], [4, 5, 6]], %b = f32[3] [0.125, -8, 1]"},
    {"gemm_and_leaky_relu", R"(graph g(%x: f32[N,3], %w: f32[2,3], %c: f32[2]) {
      %p = Gemm(%x, %w, %c) {transB = 1, alpha = 0.5}
      %l = LeakyRelu(%p) {alpha = 0.125}
      %n = Neg(%l)
      return n = %n
    })",
     "%x = f32[2,3] [[1, 2, -3], [0.5, -1, 2]], %w = f32[2,3] [[1, -1, 2], [-3, 0.5, 1]], %c = f32[2] [1, -2]"},
    {"rows", R"(graph g(%x: f32[N,8], %m: f32[N,8], %scale: f32[8], %shift: f32[8]) {
      %a = Add(%x, %m)
      %p = Softmax(%a)
      %sum = ReduceSum(%a, i64[1] [-1])
      %most = ReduceMax(%a, i64[1] [-1]) {keepdims = 0}
      %q = Mul(%p, %sum)
      %n = LayerNormalization(%q, %scale, %shift)
      %y = Sub(%n, %p)
      return y = %y, most = %most
    })",
     "%x = f32[2,8] [[1, 2, 3, 4, 5, 6, 7, 8], [8, 1, 7, 2, 6, 3, 5, 4]], "
     "%m = f32[2,8] [[0, 1, 0, 1, 0, 1, 0, 1], [0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0]], "
     "%scale = f32[8] [1, 1, 1, 1, 2, 2, 2, 2], %shift = f32[8] [0, 0, 0, 0, 1, 1, 1, 1]"},
    {"convolution", R"(graph g(%x: f32[1,2,4,4], %w: f32[2,2,3,3], %b: f32[2], %r: f32[1,2,4,4]) {
      %c = Conv(%x, %w, %b) {pads = [1, 1, 1, 1]}
      %u = Relu(%c)
      %s = Add(%u, %r)
      %v = Relu(%s)
      %k = Mul(%v, f32[] 2)
      return k = %k
    })",
     "%x = f32[1,2,4,4] [[[[1,2,3,4],[5,6,7,8],[8,7,6,5],[4,3,2,1]],[[1,0,1,0],[0,1,0,1],[1,1,0,0],[0,0,1,1]]]], "
     "%w = f32[2,2,3,3] [[[[1,0,-1],[1,0,-1],[1,0,-1]],[[0,1,0],[1,-4,1],[0,1,0]]],"
     "[[[1,1,1],[0,0,0],[-1,-1,-1]],[[1,2,1],[2,4,2],[1,2,1]]]], %b = f32[2] [0.5, -1], "
     "%r = f32[1,2,4,4] [[[[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1]],[[-9,2,-9,2],[2,-9,2,-9],[-9,2,-9,2],[2,2,2,2]]]]"},
    {"halves",
     R"(graph g(%x: bf16[N,2,2,2], %r: bf16[N,3,2,2], %v: bf16[2]) {
      %c = Conv(%x, bf16[3,2,1,1] [[[-0.75]],[[0.5]],[[0.0]],[[-0.5]],[[0.75]],[[0.25]]], bf16[3] [0.5, -1, 2])
      %n = BatchNormalization(%c, bf16[3] [1.5, 0.75, -1], bf16[3] [0.25, 1, 0], bf16[3] [1, 0, -1], bf16[3] [1, 2, 0.5])
      %s = Add(%n, %r)
      %u = Relu(%s)
      %p = MatMul(%u, bf16[2,2] [[1, -0.3], [0.7, 2]])
      %q = Add(%p, %v)
      %g = Gelu(%q)
      %y = Mul(%g, %q)
      return y = %y
    })",
     "%x = bf16[1,2,2,2] [[[[1, 2], [3, -4]], [[0.5, 0.25], [-1, 3]]]], "
     "%r = bf16[1,3,2,2] [[[[1, 1], [-9, 1]], [[0, 2], [1, 1]], [[3, -1], [1, 0]]]], %v = bf16[2] [0.3, -0.6]",
     {.rtol = 1.0 / 64, .atol = 1.0 / 64}},
    {"attention", R"(graph g(%q: f32[2,3,4], %k: f32[2,5,4], %v: f32[2,5,4], %mask: f32[3,5]) {
      %kt = Transpose(%k) {perm = [0, 2, 1]}
      %s = MatMul(%q, %kt)
      %d = Mul(%s, f32[] 0.5)
      %m = Add(%d, %mask)
      %p = Softmax(%m)
      %o = MatMul(%p, %v)
      %y = Neg(%o)
      return y = %y
    })",
     "%q = f32[2,3,4] [[[1,2,3,4],[0,1,0,1],[1,0,1,0]],[[4,3,2,1],[1,1,1,1],[2,0,2,0]]], "
     "%k = f32[2,5,4] "
     "[[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1],[1,1,0,0]],[[1,0,1,0],[0,1,0,1],[1,0,0,1],[0,1,1,0],[1,1,1,1]]], "
     "%v = f32[2,5,4] "
     "[[[1,2,3,4],[2,3,4,5],[3,4,5,6],[4,5,6,7],[5,6,7,8]],[[1,1,1,1],[2,2,2,2],[3,3,3,3],[4,4,4,4],[5,5,5,5]]], "
     "%mask = f32[3,5] [[0,0,0,0,-9],[0,0,0,-9,-9],[0,0,-9,-9,-9]]"},
    {"a_loop", R"(graph g(%n: i64[], %x: f32[2]) {
      %all, %parts = Loop(%n, _, %x) body(%i, %on, %v) {
        %f = Cast(%i) {to = f32}
        %s = Add(%v, %f)
        %d = Mul(%s, f32[] 0.5)
        %part = ReduceSum(%d, i64[1] 0) {keepdims = 0}
        yield %on, %d, %part
      }
      %y = Neg(%all)
      return y = %y, parts = %parts
    })",
     "%n = i64[] 3, %x = f32[2] [1, 2]"},
    {"a_loop_in_a_loop_that_stops", R"(graph g(%n: i64[], %x: f32[M]) {
      %y, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
        %w = Loop(%i, _, %v) body(%j, %in, %u) {
          %r = Add(%u, f32[] 1)
          %e = Exp(%r)
          %sum = ReduceSum(%e) {keepdims = 0}
          %go = Less(%sum, f32[] 50)
          yield %go, %r
        }
        %s = ReduceSum(%w) {keepdims = 0}
        yield %on, %w, %s
      }
      return y = %y, sums = %sums
    })",
     "%n = i64[] 4, %x = f32[2] [0, 1]"},
    {"both_sides_of_an_if", R"(graph g(%x: f32[N]) {
      %total = ReduceSum(%x) {keepdims = 0}
      %up = Greater(%total, f32[] 0)
      %r = If(%up) then_branch() {
        %a = Add(%x, f32[] 1)
        %b = Mul(%a, %a)
        yield %b
      } else_branch() {
        %c = Sub(%x, f32[] 1)
        %d = Exp(%c)
        %e = Neg(%d)
        yield %e
      }
      %y = Sqrt(%r)
      return y = %y
    })",
     "%x = f32[3] [1, 2, 3]"},
    {"shapes_and_views", R"(graph g(%x: f32[N,4]) {
      %t = Transpose(%x)
      %s = Shape(%x)
      %n = Gather(%s, i64[] 0)
      %m = Mul(%n, i64[] 2)
      %part = Slice(%x, i64[1] [1], i64[1] [3], i64[1] [1])
      %e = Exp(%part)
      %flat = Reshape(%e, i64[1] [-1])
      %z = NonZero(%flat)
      %c = Concat(%flat, %flat) {axis = 0}
      %y = Mul(%t, f32[] 3)
      return y = %y, z = %z, c = %c, m = %m
    })",
     "%x = f32[2,4] [[1, 2, 3, 4], [5, 6, 7, 8]]"},
    {"what_grows", R"(graph g(%n: i64[], %x: f32[1,2]) {
      %all, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
        %f = Cast(%i) {to = f32}
        %row = Add(%x, %f)
        %next = Concat(%v, %row) {axis = 0}
        %sum = ReduceSum(%next, i64[1] 0) {keepdims = 0}
        yield %on, %next, %sum
      }
      return all = %all, sums = %sums
    })",
     "%n = i64[] 3, %x = f32[1,2] [[1, 2]]"},
};

class InnerValues : public ::testing::TestWithParam<WatchedCase> {};

TEST_P(InnerValues, AreThoseOfAPlanThatFusesNothing) { expect_all_values(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Graphs, InnerValues, ::testing::ValuesIn(kWatchedCases),
                         [](const auto& subject) { return std::string(subject.param.name); });

/// With all passes: what is told is right, and what is not told is said to be missing.
TEST_P(InnerValues, AreToldOrMissingWithAllPasses) {
  const WatchedCase& c = GetParam();
  const Graph graph = graph_of(c.graph);
  const auto inputs = in_order(graph, c.inputs);
  const auto names = names_of(graph);
  const Watched reference = watch(graph, inputs, names, {.reference = true});
  const Watched all = watch(graph, inputs, names, {.verify = 1});
  std::map<std::string, std::vector<const Datum*>> want;
  for (const auto& [key, values] : reference.seen) {
    for (const Datum& value : values) want[key.first].push_back(&value);
  }
  for (const auto& [key, values] : all.seen) {
    SCOPED_TRACE(str(key));
    for (const Datum& value : values) {
      const auto right = [&](const Datum* other) { return !difference(value, *other, c.tolerance); };
      EXPECT_TRUE(std::ranges::any_of(want[key.first], right)) << "is none of the reference's";
    }
  }
  for (const auto& [name, values] : want) {
    const auto told = [&](const auto& entry) { return entry.first.first == name; };
    EXPECT_NE(std::ranges::any_of(all.seen, told), all.missing.contains(name)) << name;
  }
}

/// The names that an asked-for list of values is told under, in order.
std::vector<std::string> told(const Watched& watched) {
  std::vector<std::string> list;
  for (const auto& [key, values] : watched.seen) list.push_back(str(key));
  return list;
}

TEST(InnerValuesNames, ALoopsIterationsAreItsPath) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %m: i64[], %x: f32[]) {
    %y = Loop(%n, _, %x) body(%i, %on, %v) {
      %w = Loop(%m, _, %v) body(%j, %in, %u) {
        %r = Add(%u, f32[] 1)
        yield %in, %r
      }
      yield %on, %w
    }
    return y = %y
  })");
  const auto inputs = in_order(graph, "%n = i64[] 2, %m = i64[] 2, %x = f32[] 0");
  const Watched watched = watch(graph, inputs, {"r", "w", "j", "y"}, {});
  EXPECT_THAT(told(watched), ElementsAre("j [0] [0]", "j [0] [1]", "j [1] [0]", "j [1] [1]", "r [0] [0]", "r [0] [1]",
                                         "r [1] [0]", "r [1] [1]", "w [0]", "w [1]", "y"));
  EXPECT_FALSE(difference(watched.seen.at({"r", {1, 0}})[0], Datum(Tensor::scalar(3.0F))));
}

/// Unrolling leaves a copy of the body for each iteration, whose values have one name.
TEST(InnerValuesNames, CopiesOfAnUnrolledLoopAreNumbered) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N]) {
    %y = Loop(i64[] 3, _, %x) body(%i, %on, %v) {
      %r = Add(%v, f32[] 1)
      %s = Mul(%r, %r)
      yield %on, %s
    }
    return y = %y
  })");
  const auto inputs = in_order(graph, "%x = f32[2] [0, 1]");
  const Watched reference = watch(graph, inputs, {"r", "s"}, {.reference = true});
  const Watched unrolled = watch(graph, inputs, {"r", "s"}, {});
  EXPECT_EQ(Executable::make(std::make_shared<const Graph>(graph)).value()->plan().loops, 0u);
  EXPECT_THAT(told(unrolled), ElementsAre("r [0]", "r [1]", "r [2]", "s [0]", "s [1]", "s [2]"));
  expect_same_values(unrolled.seen, reference.seen, {}, kExact);
}

/// A block of an encoder with its attention and its layer of the other kind: what passes leave is told right.
TEST(InnerValuesNames, AnEncodersBlock) {
  const Graph graph = graph_of(R"(graph g(%x: f32[S,8], %wq: f32[8,8], %wk: f32[8,8], %wv: f32[8,8], %wo: f32[8,8],
                                         %w1: f32[8,16], %b1: f32[16], %w2: f32[16,8], %b2: f32[8], %g: f32[8], %h: f32[8]) {
    %q = MatMul(%x, %wq)
    %k = MatMul(%x, %wk)
    %v = MatMul(%x, %wv)
    %kt = Transpose(%k) {perm = [1, 0]}
    %scores = MatMul(%q, %kt)
    %scaled = Mul(%scores, f32[] 0.35355338)
    %p = Softmax(%scaled)
    %mixed = MatMul(%p, %v)
    %o = MatMul(%mixed, %wo)
    %sum = Add(%o, %x)
    %n1 = LayerNormalization(%sum, %g, %h)
    %f = MatMul(%n1, %w1)
    %fb = Add(%f, %b1)
    %half = Div(%fb, f32[] 1.4142135)
    %erf = Erf(%half)
    %one = Add(%erf, f32[] 1)
    %gate = Mul(%fb, %one)
    %gelu = Mul(%gate, f32[] 0.5)
    %d = MatMul(%gelu, %w2)
    %db = Add(%d, %b2)
    %sum2 = Add(%db, %n1)
    %n2 = LayerNormalization(%sum2, %g, %h)
    return n2 = %n2
  })");
  std::vector<Datum> inputs;
  int seed = 0;
  for (const Sizes& sizes : {Sizes{5, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 16}, {16}, {16, 8}, {8}, {8}, {8}}) {
    Tensor t = Tensor::make(Elem::f32, sizes).value();
    for (float& v : t.as_mutable<float>()) v = static_cast<float>((seed++ * 37) % 29) / 29.0F - 0.5F;
    inputs.emplace_back(std::move(t));
  }
  const auto names = names_of(graph);
  const Watched reference = watch(graph, inputs, names, {.reference = true});
  const Watched unfused = watch(graph, inputs, names, {.passes = PassSet::none()});
  const Watched fused = watch(graph, inputs, names, {.passes = kFuseAlone});
  const Watched all = watch(graph, inputs, names, {});
  expect_same_values(unfused.seen, reference.seen, {}, kClose);
  expect_same_values(fused.seen, unfused.seen, {}, kExact);
  expect_same_values(all.seen, reference.seen, all.missing, kClose);
  for (const char* inside : {"o", "sum", "f", "fb", "d", "db", "sum2"})
    EXPECT_FALSE(all.missing.contains(inside)) << inside;
}

/// What another plan makes of the values behind a guard is told in the same run.
TEST(InnerValuesNames, GoOnBehindAGuardThatMisses) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N,2]) {
    %a = Neg(%x)
    %s = Shape(%a)
    %n = Gather(%s, i64[] 0)
    %small = Less(%n, i64[] 4)
    %r = If(%small) then_branch() {
      %flat = Reshape(%a, i64[1] [-1])
      %t = Exp(%flat)
      yield %t
    } else_branch() {
      %e = Sqrt(%x)
      yield %e
    }
    %y = Add(%r, %r)
    return y = %y
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (const std::int64_t n : {2, 5, 3, 6}) {
    SCOPED_TRACE(n);
    Tensor x = Tensor::make(Elem::f32, {n, 2}).value();
    for (float& v : x.as_mutable<float>()) v = static_cast<float>(n);
    Watcher watcher(graph, {"a", "t", "e", "y"});
    tier.session->set_observer(&watcher);
    ASSERT_TRUE(tier.session->run(std::vector<Datum>{x}));
    tier.session->set_observer(nullptr);
    std::set<std::string> names;
    for (const auto& [key, values] : watcher.seen) {
      names.insert(key.first);
      EXPECT_EQ(values.size(), 1u) << key.first;
    }
    EXPECT_EQ(names, n < 4 ? (std::set<std::string>{"a", "t", "y"}) : (std::set<std::string>{"a", "e", "y"}));
  }
}

TEST(InnerValuesNames, AnOutputOfANodeIsNamedByItsNumber) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N]) {
    %h = Neg(%x) "first"
    %v, %i = TopK(%h, i64[1] 2) "second"
    return v = %v
  })");
  EXPECT_EQ(exec::find_value(graph, "first:0").value().name, "h");
  EXPECT_EQ(exec::find_value(graph, "second:0").value().name, "v");
  EXPECT_EQ(exec::find_value(graph, "second:1").value().name, "i");
  EXPECT_FALSE(exec::find_value(graph, "second:2"));
}

TEST(InnerValuesNames, UnknownNamesAreErrors) {
  const Graph graph = graph_of("graph g(%x: f32[N]) { %h = Neg(%x) %y = Exp(%h) return out = %y }");
  EXPECT_TRUE(exec::find_value(graph, "h"));
  EXPECT_TRUE(exec::find_value(graph, "x"));
  EXPECT_EQ(exec::find_value(graph, "out").value().name, "y");
  for (const char* name : {"q", "", "h:0", "q:0", "h:x"}) {
    const auto found = exec::find_value(graph, name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().text(), fmt::format("the model has no value or node '{}'", name));
  }
}

/// Goes without nothing.
class Strict : public exec::Observer {
 public:
  std::vector<exec::WatchedValue> names;
  std::span<const exec::WatchedValue> watched() const override { return names; }
};

TEST(InnerValuesNames, ARemovedValueEndsTheRunUnlessSomebodyGoesWithout) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N]) {
    %minus = Neg(%x)
    %again = Neg(%x)
    %y = Mul(%minus, %again)
    return y = %y
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  Strict observer;
  observer.names = {exec::find_value(graph, "again").value()};
  tier.session->set_observer(&observer);
  const std::vector<Datum> inputs{Tensor::of<float>({2}, {1, 2})};
  const auto refused = tier.session->run(inputs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("value 'again': a pass removed it"));
  observer.names = {exec::find_value(graph, "minus").value()};
  EXPECT_TRUE(tier.session->run(inputs));
}

/// A fault of a kernel that is cut off is the step's own.
TEST(InnerValuesNames, LimitsHoldForWhatIsToldToo) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N], %m: f32[M,1]) {
    %a = Add(%x, %m)
    %b = Exp(%a)
    %s = ReduceSum(%b, i64[1] [-1])
    return s = %s
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const std::vector<Datum> inputs{Tensor::make(Elem::f32, {1000}).value(), Tensor::make(Elem::f32, {100, 1}).value()};
  tier.session->set_limits({.memory_bytes = 200'000});
  EXPECT_TRUE(tier.session->run(inputs));
  Watcher watcher(graph, {"b"});
  tier.session->set_observer(&watcher);
  const auto run = tier.session->run(inputs);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Code::limit);
  EXPECT_THAT(run.error().text(), HasSubstr("value 'b'"));
}

}  // namespace
}  // namespace frazil::test
