// Operators that select, compared with plain sorting and loops, as all tiers share their code: on every instruction
// set, with ties, repeated numbers and NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "paths.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity(),
                kFloatNan = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;
using Places = std::vector<std::int64_t>;

/// Pseudo-random numbers in [0, 1), the same in each run.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed * 2654435761u + 1) {}
  float operator()() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(state_ >> 8) * 0x1p-24f;
  }

 private:
  std::uint32_t state_;
};

enum class Kind { uniform, few, rising, falling, constant, special };
constexpr Kind kKinds[] = {Kind::uniform, Kind::few, Kind::rising, Kind::falling, Kind::constant, Kind::special};

Floats floats_of_kind(Kind kind, std::size_t n) {
  constexpr float specials[] = {0.0f,   -0.0f,   kFloatNan, -kFloatNan, kFloatInfinity, -kFloatInfinity,
                                1e-45f, -1e-45f, 3.4e38f,   -1.0f};
  Dice dice(static_cast<std::uint32_t>(n));
  Floats all(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float at = static_cast<float>(i);
    switch (kind) {
      case Kind::uniform: all[i] = 2 * dice() - 1; break;
      case Kind::few: all[i] = std::floor(4 * dice()); break;
      case Kind::rising: all[i] = at; break;
      case Kind::falling: all[i] = -at; break;
      case Kind::constant: all[i] = 7; break;
      case Kind::special: all[i] = specials[static_cast<std::size_t>(dice() * 10)]; break;
    }
  }
  return all;
}

/// NaN is the largest.
bool less(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

Places best(const Floats& row, std::size_t k, bool largest) {
  Places order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
    return largest ? less(y, x) : less(x, y);
  });
  order.resize(k);
  return order;
}

class Select : public kernel::OnIsa {};

std::vector<Datum> run(const Tier0& tier, const std::vector<Datum>& inputs) {
  auto got = tier.session->run(inputs);
  if (got) return std::move(*got);
  ADD_FAILURE() << got.error().text();
  return {};
}

Places places(const Datum& value) {
  const auto all = value.tensor().as<std::int64_t>();
  return {all.begin(), all.end()};
}

TEST_P(Select, TopKOfRows) {
  const std::pair<std::size_t, std::size_t> sizes[] = {
      {1, 0},  {1, 1},  {2, 1},     {15, 15},  {16, 3},     {17, 17},    {33, 1},    {63, 4},
      {64, 4}, {65, 4}, {1000, 10}, {1001, 0}, {1007, 250}, {4099, 100}, {70001, 3}, {70001, 9000}};
  for (const bool largest : {true, false}) {
    const Graph graph = graph_of(fmt::format(
        "graph g(%x: f32[N], %k: i64[1]) {{ %v, %i = TopK(%x, %k) {{largest = {}}} return v = %v, i = %i }}",
        int{largest}));
    const Tier0 tier(graph);
    ASSERT_TRUE(tier);
    for (const Kind kind : kKinds) {
      for (const auto& [n, k] : sizes) {
        const Floats row = floats_of_kind(kind, n);
        const auto count = static_cast<std::int64_t>(k);
        const auto got =
            run(tier, {Tensor::of<float>({static_cast<std::int64_t>(n)}, row), Tensor::of<std::int64_t>({1}, {count})});
        ASSERT_EQ(got.size(), 2u);
        const Places want = best(row, k, largest);
        EXPECT_EQ(places(got[1]), want) << "kind " << static_cast<int>(kind) << ", " << k << " of " << n;
        for (std::size_t i = 0; i < k; ++i) {
          const float value = got[0].tensor().as<float>()[i], wanted = row[static_cast<std::size_t>(want[i])];
          EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(wanted));
        }
      }
    }
  }
}

TEST_P(Select, TopKAlongAnInnerAxis) {
  const Graph graph = graph_of("graph g(%x: f32[2,300,3]) { %v, %i = TopK(%x, i64[1] [7]) {axis = 1} return i = %i }");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const Floats all = floats_of_kind(Kind::few, 1800);
  const auto got = run(tier, {Tensor::of<float>({2, 300, 3}, all)});
  ASSERT_EQ(got.size(), 1u);
  for (std::size_t outer = 0; outer < 2; ++outer) {
    for (std::size_t inner = 0; inner < 3; ++inner) {
      Floats line;
      for (std::size_t i = 0; i < 300; ++i) line.push_back(all[(outer * 300 + i) * 3 + inner]);
      const Places want = best(line, 7, true), whole = places(got[0]);
      for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(whole[(outer * 7 + i) * 3 + inner], want[i]);
    }
  }
}

TEST_P(Select, NonZeroOfAllWidths) {
  // bool, u8, i16, f16, i32, f32, i64, f64, f8e4m3fn
  for (const int elem : {9, 2, 5, 10, 6, 1, 7, 11, 17}) {
    const Graph graph = graph_of(
        fmt::format("graph g(%x: f32[A,B,C]) {{ %y = Cast(%x) {{to = {}}} %i = NonZero(%y) return i = %i }}", elem));
    if (HasFailure()) return;
    const Tier0 tier(graph);
    ASSERT_TRUE(tier);
    for (const Sizes& sizes : {Sizes{1, 1, 1}, Sizes{2, 3, 17}, Sizes{1, 1, 130}, Sizes{5, 0, 2}, Sizes{3, 70, 1}}) {
      const auto count = static_cast<std::size_t>(element_count(sizes));
      Floats all = floats_of_kind(Kind::few, count);
      for (std::size_t i = 0; i < count; i += 5) all[i] = -0.0f;
      Places want[3], whole;
      for (std::size_t i = 0; i < count; ++i) {
        if (all[i] == 0) continue;
        const auto at = static_cast<std::int64_t>(i);
        want[0].push_back(at / (sizes[1] * sizes[2]));
        want[1].push_back(at / sizes[2] % sizes[1]);
        want[2].push_back(at % sizes[2]);
      }
      for (const Places& row : want) whole.insert(whole.end(), row.begin(), row.end());
      const auto got = run(tier, {Tensor::of<float>(sizes, all)});
      ASSERT_EQ(got.size(), 1u) << elem;
      EXPECT_EQ(places(got[0]), whole) << elem;
    }
  }
}

TEST_P(Select, CompressOfManyPieces) {
  const Graph graph = graph_of("graph g(%x: f32[2,N], %c: bool[N]) { %y = Compress(%x, %c) {axis = 1} return y = %y }");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (const std::int64_t n : {1, 1023, 1024, 5000}) {
    const Floats all = floats_of_kind(Kind::uniform, static_cast<std::size_t>(2 * n));
    Tensor flags = Tensor::make(Elem::boolean, {n}).value();
    Floats want;
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t i = 0; i < n; ++i) {
        flags.mutable_data()[i] = std::byte{i % 7 != 3};
        if (i % 7 != 3) want.push_back(all[static_cast<std::size_t>(row * n + i)]);
      }
    }
    const auto got = run(tier, {Tensor::of<float>({2, n}, all), flags});
    ASSERT_EQ(got.size(), 1u);
    const auto values = got[0].tensor().as<float>();
    EXPECT_EQ(Floats(values.begin(), values.end()), want);
  }
}

struct Box {
  float y0, x0, y1, x1;
  float area() const { return (y1 - y0) * (x1 - x0); }
};

Box box_of(const float* p, bool centred) {
  if (centred) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

bool covers(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return false;
  const float both = height * width, either = a.area() + b.area() - both;
  return a.area() > 0 && b.area() > 0 && either > 0 && both / either > threshold;
}

struct Suppression {
  std::int64_t most;
  float overlap;
  float score;  ///< -inf: not given
  bool centred;
  Kind boxes, scores;
};

Places suppressed(const Suppression& s, const Floats& boxes, const Floats& scores, std::int64_t classes) {
  const std::size_t n = boxes.size() / 4;
  Places rows;
  for (std::int64_t c = 0; c < classes; ++c) {
    const auto first = scores.begin() + c * static_cast<std::int64_t>(n);
    const Floats row(first, first + static_cast<std::int64_t>(n));
    std::vector<Box> kept;
    for (const std::int64_t i : best(row, n, true)) {
      if (s.score != -kFloatInfinity && !(row[static_cast<std::size_t>(i)] > s.score)) continue;
      if (static_cast<std::int64_t>(kept.size()) >= s.most) break;
      const Box box = box_of(boxes.data() + 4 * i, s.centred);
      if (std::ranges::any_of(kept, [&](const Box& other) { return covers(box, other, s.overlap); })) continue;
      kept.push_back(box);
      rows.insert(rows.end(), {0, c, i});
    }
  }
  return rows;
}

TEST_P(Select, NonMaxSuppression) {
  const Suppression cases[] = {{100, 0.5f, 0.3f, true, Kind::uniform, Kind::uniform},
                               {100, 0.0f, -kFloatInfinity, false, Kind::uniform, Kind::uniform},
                               {1000, 0.2f, -kFloatInfinity, true, Kind::uniform, Kind::few},
                               {9, 0.5f, 1.0f, false, Kind::few, Kind::few},
                               {1000, 0.1f, -kFloatInfinity, false, Kind::special, Kind::special},
                               {50, 0.5f, 0.0f, true, Kind::special, Kind::special},
                               {50, 0.5f, kFloatNan, true, Kind::uniform, Kind::uniform},
                               {50, 0.5f, kFloatInfinity, true, Kind::uniform, Kind::special},
                               {0, 0.5f, 0.0f, true, Kind::uniform, Kind::uniform},
                               {-1, 0.5f, 0.0f, true, Kind::uniform, Kind::uniform}};
  for (const Suppression& s : cases) {
    for (const std::int64_t n : {0, 1, 5, 17, 300}) {
      const Graph graph = graph_of(fmt::format(
          "graph g(%b: f32[1,N,4], %s: f32[1,3,N], %m: i64[], %o: f32[], %t: f32[1]) {{ %y = NonMaxSuppression(%b, %s, "
          "%m, %o{}) {{center_point_box = {}}} return y = %y }}",
          s.score == -kFloatInfinity ? "" : ", %t", int{s.centred}));
      const Tier0 tier(graph);
      ASSERT_TRUE(tier);
      const Floats boxes = floats_of_kind(s.boxes, static_cast<std::size_t>(4 * n));
      const Floats scores = floats_of_kind(s.scores, static_cast<std::size_t>(3 * n));
      const auto got =
          run(tier, {Tensor::of<float>({1, n, 4}, boxes), Tensor::of<float>({1, 3, n}, scores), Tensor::scalar(s.most),
                     Tensor::scalar(s.overlap), Tensor::of<float>({1}, {s.score})});
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(places(got[0]), suppressed(s, boxes, scores, 3))
          << s.most << " " << s.overlap << " " << s.score << " of " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Select, ::testing::ValuesIn(kernel::isas()), kernel::name_of_isa);

/// The packed part of a weight must be the part that this iteration or run reads.
TEST(PartsOfWeights, AreTheOnesThatTheRunNames) {
  link_operators();
  const auto weight = [](std::string_view) {
    Floats all = floats_of_kind(Kind::uniform, 3 * 40 * 40);
    return Tensor::of<float>({3, 40, 40}, all);
  };
  for (const char* text :
       {"weight @w: f32[3,40,40]\ngraph g(%x: f32[2,40], %i: i64[]) { %b = Gather(@w, %i) %y = MatMul(%x, %b) return y "
        "= "
        "%y }",
        "weight @w: f32[3,40,40]\ngraph g(%x: f32[2,40], %i: i64[]) { %f = Unsqueeze(%i, i64[1] 0) %t = Add(%f, i64[1] "
        "1) %c = Slice(@w, %f, %t) %b = Reshape(%c, i64[2] [40, 40]) %y = MatMul(%x, %b) return y = %y }",
        "weight @w: f32[3,40,40]\ngraph g(%x: f32[2,40], %i: i64[]) { %n = Add(%i, i64[] 1) %y = Loop(%n, _, %x) "
        "body(%k, %on, %v) { %b = Gather(@w, %k) %z = MatMul(%v, %b) yield %on, %z } return y = %y }"}) {
    auto graph = parse(text, weight);
    ASSERT_TRUE(graph) << graph.error().text();
    const Tier0 tier(*graph);
    ASSERT_TRUE(tier);
    const Tensor x = Tensor::of<float>({2, 40}, floats_of_kind(Kind::uniform, 80));
    for (const std::int64_t i : {0, 2, 1}) {
      const auto got = run_beside_reference(*tier.session, *graph, {x, Tensor::scalar(i)}, sum_of(1600, 40));
      EXPECT_TRUE(got) << got.error().text();
    }
  }
}

}  // namespace
}  // namespace frazil::test
