#include <cstring>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// Appended values: sharing of memory, messages of the plan, limits, and random loops with and without the pass. Other
// cases are in appended.frz.
namespace frazil::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kCache = R"(graph g(%past: f32[B,2,T,3], %new: f32[B,2,S,3]) {
  %present = Concat(%past, %new) {axis = 2}
  %sum = ReduceSum(%present, i64[1] 2) {keepdims = 0}
  return present = %present, sum = %sum
})";
constexpr const char* kList = R"(graph g(%past: i64[T], %new: i64[S]) {
  %present = Concat(%past, %new) {axis = 0}
  return present = %present
})";

Tensor rising(Sizes sizes, float from) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  for (float& v : t.as_mutable<float>()) v = from += 1;
  return t;
}

/// The reference executor's result for a past and an addition.
Tensor joined(const Graph& graph, const Tensor& past, const Tensor& added) {
  const std::vector<Datum> inputs{past.packed().value(), added};
  return run_on_reference(graph, inputs).value()[0].tensor();
}

/// A session whose results may have padding.
struct Carrying : Tier0 {
  explicit Carrying(const Graph& graph) : Tier0(graph) { session->allow_padding(true); }
  Tensor run(const Tensor& past, const Tensor& added) const {
    const std::vector<Datum> inputs{past, added};
    auto results = session->run(inputs);
    if (results) return (*results)[0].tensor();
    ADD_FAILURE() << results.error().text();
    return past;
  }
};

TEST(Append, ACarriedValueStaysInItsMemoryUntilItIsFull) {
  const Graph graph = graph_of(kCache);
  const Carrying tier(graph);
  Tensor past = rising({2, 2, 1, 3}, 0), want = past;
  std::set<const std::byte*> places;
  std::vector<Tensor> kept, copies;
  for (int i = 0; i < 200; ++i) {
    const Tensor added = rising({2, 2, 1 + i % 3, 3}, static_cast<float>(100 * i));
    past = tier.run(past, added);
    want = joined(graph, want, added);
    ASSERT_TRUE(identical(past, want)) << i;
    places.insert(past.data());
    kept.push_back(past);
    copies.push_back(want);
  }
  EXPECT_LT(places.size(), 10u);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(identical(kept[i], copies[i])) << i;
}

TEST(Append, TwoContinuationsOfOneValueDoNotSeeEachOther) {
  const Graph graph = graph_of(kCache);
  const Carrying tier(graph);
  Tensor past = rising({1, 2, 1, 3}, 0);
  for (int i = 0; i < 3; ++i) past = tier.run(past, rising({1, 2, 1, 3}, 10));
  const Tensor a = rising({1, 2, 2, 3}, 100), b = rising({1, 2, 1, 3}, 200);
  const Tensor with_a = tier.run(past, a), with_b = tier.run(past, b);
  EXPECT_EQ(with_a.data(), past.data());
  EXPECT_NE(with_b.data(), past.data());
  EXPECT_TRUE(identical(with_a, joined(graph, past, a)));
  EXPECT_TRUE(identical(with_b, joined(graph, past, b)));
  const Carrying other(graph);
  EXPECT_TRUE(identical(other.run(past, b), with_b)) << "on another session";
}

TEST(Append, ListsAreDenseAnyway) {
  const Graph graph = graph_of(kList);
  const Tier0 tier(graph);
  Tensor past = Tensor::of<std::int64_t>({0}, {});
  std::set<const std::byte*> places;
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::vector<Datum> inputs{past, Tensor::of<std::int64_t>({1}, {i})};
    past = tier.session->run(inputs).value()[0].tensor();
    ASSERT_TRUE(past.contiguous());
    places.insert(past.data());
  }
  EXPECT_LT(places.size(), 8u);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(past.integer_at(i), i);
}

TEST(Append, ResultsHaveGapsOnlyForThoseWhoTakeThem) {
  const Tier0 tier(graph_of(kCache));
  Tensor past = rising({1, 2, 1, 3}, 0);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Datum> inputs{past, rising({1, 2, 1, 3}, 10)};
    past = tier.session->run(inputs).value()[0].tensor();
    EXPECT_TRUE(past.contiguous());
  }
}

TEST(Append, ARunThatFailsTakesNothing) {
  const Graph graph = graph_of(R"(graph g(%past: f32[2,T], %new: f32[2,S], %i: i64[1]) {
    %present = Concat(%past, %new) {axis = 1}
    %picked = Gather(%present, %i) {axis = 1}
    return present = %present, picked = %picked
  })");
  const Carrying tier(graph);
  Tensor past = rising({2, 1}, 0);
  const auto inputs = [&](std::int64_t i) {
    return std::vector<Datum>{past, rising({2, 1}, 10), Tensor::of<std::int64_t>({1}, {i})};
  };
  for (int i = 0; i < 4; ++i) past = tier.session->run(inputs(0)).value()[0].tensor();
  const Tensor before = past.packed().value();
  EXPECT_FALSE(tier.session->run(inputs(1000)));
  EXPECT_TRUE(identical(past, before));
  const Tensor after = tier.session->run(inputs(0)).value()[0].tensor();
  EXPECT_EQ(after.data(), past.data()) << "the room is free again";
  EXPECT_TRUE(identical(past, before));
}

TEST(Append, TensorsOfOtherMemoryAreTakenAsTheyAre) {
  const Graph graph = graph_of(kCache);
  const Carrying tier(graph);
  const Tensor wide = rising({1, 2, 4, 6}, 0), added = rising({1, 2, 1, 3}, 50);
  const Tensor cut(Elem::f32, {1, 2, 4, 3}, wide.strides(), wide.buffer(), 4);
  const Tensor has_capacity(Elem::f32, {1, 2, 2, 3}, {24, 12, 3, 1}, wide.buffer(), 0);
  const Tensor turned(Elem::f32, {1, 2, 4, 3}, {24, 1, 6, 2}, wide.buffer(), 0);
  for (const Tensor& past : {cut, has_capacity, turned}) {
    EXPECT_TRUE(identical(tier.run(past, added), joined(graph, past, added)));
  }
}

TEST(Append, LimitsHold) {
  const Graph graph = graph_of(kCache);
  const Carrying tier(graph);
  Tensor past = rising({1, 2, 1, 3}, 0);
  for (int i = 0; i < 4; ++i) past = tier.run(past, rising({1, 2, 1, 3}, 10));
  Limits limits;
  limits.tensor_elements = 6 * 5;
  tier.session->set_limits(limits);
  const auto refused = tier.session->run(std::vector<Datum>{past, rising({1, 2, 1, 3}, 10)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit);
  EXPECT_THAT(refused.error().text(), HasSubstr("'present' f32[1,2,6,3]"));

  const Graph loop = graph_of(R"(graph g(%n: i64[], %x: f32[2,K]) {
    %y = Loop(%n, _, %x) body(%i, %on, %v) {
      %next = Concat(%v, f32[2,1024] 1) {axis = 1}
      yield %on, %next
    }
    return y = %y
  })");
  const Tier0 growing(loop);
  limits = Limits{};
  limits.memory_bytes = 1 << 20;
  growing.session->set_limits(limits);
  const auto run = [&](std::int64_t n) {
    return growing.session->run(std::vector<Datum>{Tensor::scalar(n), Tensor::make(Elem::f32, {2, 0}).value()});
  };
  const auto over = run(1 << 30);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::limit);
  EXPECT_THAT(over.error().text(), HasSubstr("Concat"));
  EXPECT_TRUE(run(3));
}

TEST(Append, ThePlanSaysWhatIsAppendedAndWhatIsNot) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {kCache, "appended in place: 'past' along axis 2"},
      {kCache, "output 'present' where input 'past'"},
      {R"(graph g(%n: i64[], %x: f32[2,K]) {
            %y = Loop(%n, _, %x) body(%i, %on, %v) {
              %next = Concat(%v, f32[2,1] 1) {axis = 1} "more"
              yield %on, %next
            }
            return y = %y
          })",
       "appended in place: 'v' along axis 1 by node 'more' (Concat)"},
      {R"(graph g(%x: f32[K]) {
            %y = Concat(f32[1] 1, %x) {axis = 0}
            return y = %y
          })",
       "'x'; it is not the first operand"},
      {R"(graph g(%x: f32[K], %z: f32[M]) {
            %at = NonZero(%z)
            %f = Cast(%at) {to = f32}
            %line = Reshape(%f, i64[1] -1)
            %y = Concat(%x, %line) {axis = 0}
            return y = %y
          })",
       "'x'; its extents are known only when the run has begun"},
      {R"(graph g(%c: bool[], %x: f32[K]) {
            %y = If(%c) then_branch() {
              %a = Concat(%x, f32[1] 1) {axis = 0}
              yield %a
            } else_branch() {
              yield %x
            }
            return y = %y
          })",
       "'x'; a branch makes it"},
      {R"(graph g(%x: f32[K]) {
            %y = Concat(%x, f32[1] 1) {axis = 0}
            %z = Concat(%x, f32[1] 2) {axis = 0}
            return y = %y, z = %z
          })",
       "'x'; another output takes it"},
      {R"(graph g(%n: i64[], %x: f32[N,K]) {
            %y = Loop(%n, _, %x) body(%i, %on, %v) {
              %t = Transpose(%v) {perm = [1, 0]}
              %next = Concat(%v, %v) {axis = 0}
              %turned = Concat(%t, %t) {axis = 0}
              %s = ReduceSum(%turned) {keepdims = 0}
              yield %on, %next
            }
            return y = %y
          })",
       "appended in place: 'v' along axis 0"},
  };
  for (const auto& c : cases) {
    const Tier0 tier(graph_of(c.text));
    ASSERT_TRUE(tier) << c.text;
    EXPECT_THAT(tier.executable->explain(), HasSubstr(c.part)) << c.text;
    const Tier0 without(graph_of(c.text), PassSet::without(Pass::append));
    EXPECT_THAT(without.executable->plan().str(), Not(HasSubstr("appended"))) << c.text;
  }
}

/// A loop over values of random ranks that Concat extends along random axes, with steps that read all or part of them,
/// and results that iterations write in parts.
std::string random_loop(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const char* const types[] = {"f32", "f64", "i32", "u8", "i64"};
  const int count = 1 + pick(3);
  std::string params, args, names, body, yields, results;
  for (int k = 0; k < count; ++k) {
    const int rank = 1 + pick(4), axis = pick(rank);
    const char* const type = types[pick(5)];
    std::string shape, more, all;
    for (int d = 0; d < rank; ++d) {
      const std::string extent = d == axis ? fmt::format("T{}", k) : std::to_string(1 + pick(3));
      shape += (d ? "," : "") + extent;
      more += (d ? "," : "") + (d == axis ? std::to_string(1 + pick(3)) : extent);
    }
    for (int d = 0; d < rank; ++d) all += fmt::format("{}{}", d ? ", " : "", d);
    params += fmt::format(", %x{}: {}[{}], %m{}: {}[{}]", k, type, shape, k, type, more);
    args += fmt::format(", %x{}", k);
    names += fmt::format(", %v{}", k);
    const bool before = pick(2) == 0, twice = pick(3) == 0;
    body += fmt::format("    %a{0} = Add(%m{0}, %m{0})\n", k);
    body += fmt::format("    %n{0} = Concat(%v{0}, %a{0}{1}) {{axis = {2}}}\n", k,
                        twice ? fmt::format(", %m{}", k) : "", axis);
    body += fmt::format("    %c{0} = Cast(%{1}{0}) {{to = f32}}\n", k, before ? "v" : "n");
    body += fmt::format("    %s{0} = ReduceSum(%c{0}, i64[1] {1}) {{keepdims = 0}}\n", k, axis);
    body += fmt::format("    %r{0} = Mul(%s{0}, f32[] 0.5)\n", k);
    yields += fmt::format(", %{}{}", pick(6) == 0 ? "v" : "n", k);
    results += fmt::format(", y{0} = %y{0}, p{0} = %p{0}", k);
  }
  std::string outs, parts;
  for (int k = 0; k < count; ++k) outs += fmt::format("{}%y{}", k ? ", " : "", k), parts += fmt::format(", %p{}", k);
  for (int k = 0; k < count; ++k) yields += fmt::format(", %r{}", k);
  return fmt::format("graph g(%n: i64[]{}) {{\n  {}{} = Loop(%n, _{}) body(%i, %on{}) {{\n{}    yield %on{}\n  }}\n",
                     params, outs, parts, args, names, body, yields) +
         "  return " + results.substr(2) + "\n}\n";
}

TEST(Append, RandomLoopsGiveTheSameBits) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_loop(random);
    const Graph graph = graph_of(text);
    const Tier0 with(graph), without(graph, PassSet::none());
    ASSERT_TRUE(with && without) << text;
    for (const std::int64_t n : {0, 1, 5, 40, 3}) {
      std::vector<Datum> inputs{Tensor::scalar(n)};
      for (std::size_t k = 1; k < graph.input_names().size(); ++k) {
        const Type& type = graph.type(graph.main().params[k]);
        Sizes sizes;
        for (Dim d : type.shape) sizes.push_back(d.is_const() ? d.value() : static_cast<std::int64_t>(random() % 3));
        Tensor t = Tensor::make(type.elem, sizes).value();
        for (std::size_t b = 0; b < t.bytes(); ++b) t.mutable_data()[b] = static_cast<std::byte>(random() % 64);
        inputs.emplace_back(std::move(t));
      }
      const auto got = with.session->run(inputs), want = without.session->run(inputs);
      ASSERT_TRUE(got && want) << text << (got ? want : got).error().text();
      for (std::size_t k = 0; k < got->size(); ++k) {
        EXPECT_TRUE(identical((*got)[k].tensor(), (*want)[k].tensor())) << graph.output_names()[k] << "\n" << text;
      }
    }
  }
}

}  // namespace
}  // namespace frazil::test
