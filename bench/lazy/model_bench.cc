// Models in batches: 64 requests of which each goes its own way through a graph, together and one after the other.
//
//   model_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <frazil/frazil.h>

namespace {

using frazil::Array;
using Requests = std::vector<std::vector<Array>>;

constexpr std::int64_t kRequests = 64, kExperts = 4, kMaxIterations = 50;

struct Work {
  std::string name;
  frazil::Model model;
  Requests requests;
};

class Random {
 public:
  Array matrix(std::int64_t rows, std::int64_t columns, float scale) {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& value : values) value = scale * normal_(engine_);
    return Array::of<float>({rows, columns}, std::span<const float>(values));
  }
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(engine_() % static_cast<unsigned>(end)); }

 private:
  std::mt19937 engine_{1};
  std::normal_distribution<float> normal_;
};

std::string declared(const std::map<std::string, Array>& weights) {
  std::string text;
  for (const auto& [name, weight] : weights) {
    const auto& sizes = weight.sizes();
    text += "weight @" + name + ": f32[" + std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + "]\n";
  }
  return text;
}

/// One of four experts, x * U, at least 0, * D, that branches choose.
Work experts(std::int64_t width) {
  Random random;
  std::map<std::string, Array> weights;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    weights["u" + std::to_string(e)] = random.matrix(width, 2 * width, 0.03F);
    weights["d" + std::to_string(e)] = random.matrix(2 * width, width, 0.03F);
  }
  const auto expert = [](int e) {
    const std::string n = std::to_string(e);
    return "{ %a" + n + " = MatMul(%x, @u" + n + ") %b" + n + " = Relu(%a" + n + ") %c" + n + " = MatMul(%b" + n +
           ", @d" + n + ") yield %c" + n + " } ";
  };
  const std::string text = declared(weights) + "graph experts(%x: f32[1," + std::to_string(width) +
                           "], %e: i64[]) { %p = Less(%e, i64[] 1) %q = Less(%e, i64[] 2) %r = Less(%e, i64[] 3)\n %y "
                           "= If(%q) then_branch() "
                           "{ %l = If(%p) then_branch() " +
                           expert(0) + "else_branch() " + expert(1) +
                           "yield %l } else_branch() { %m = If(%r) then_branch() " + expert(2) + "else_branch() " +
                           expert(3) + "yield %m }\n return y = %y }";
  Work work{.name = "experts of " + std::to_string(width), .model = frazil::Model::from_text(text, weights)};
  for (std::int64_t i = 0; i < kRequests; ++i) {
    work.requests.push_back({random.matrix(1, width, 1), Array::scalar(random.below(kExperts))});
  }
  return work;
}

/// 1 to 50 products of a row and a matrix.
Work loop(std::int64_t width) {
  Random random;
  const std::map<std::string, Array> weights{{"w", random.matrix(width, width, 0.05F)}};
  const std::string text = declared(weights) + "graph products(%n: i64[], %x: f32[1," + std::to_string(width) +
                           "]) { %y = Loop(%n, _, %x) body(%i, %on, %v) { %a = MatMul(%v, @w) %b = Tanh(%a) yield %on, "
                           "%b } return y = %y }";
  Work work{.name = "loop of " + std::to_string(width), .model = frazil::Model::from_text(text, weights)};
  for (std::int64_t i = 0; i < kRequests; ++i) {
    work.requests.push_back({Array::scalar(1 + random.below(kMaxIterations)), random.matrix(1, width, 1)});
  }
  return work;
}

double microseconds(const auto& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarm = 20, kRuns = 41;
  std::vector<double> times;
  for (int i = -kWarm; i < kRuns; ++i) {
    const auto begun = Clock::now();
    run();
    if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / kRequests);
  }
  std::ranges::nth_element(times, times.begin() + kRuns / 2);
  return times[kRuns / 2];
}

void measure(const Work& work) {
  frazil::Session session = work.model.open({.threads = 1});
  const frazil::BatchedModel batched(work.model);
  const double alone = microseconds([&] {
    for (const auto& request : work.requests) (void)session.run(request);
  });
  const double together = microseconds([&] { (void)batched.run(work.requests, {.always = true}); });
  const double chosen = microseconds([&] { (void)batched.run(work.requests); });
  std::printf("%-16s %9.1f us alone %9.1f us together %9.1f us as it pays: %s, %5.2f times as fast\n",
              work.name.c_str(), alone, together, chosen, batched.pays() ? "together" : "alone", alone / chosen);
}

}  // namespace

int main() {
  std::printf("%d requests, a request\n", static_cast<int>(kRequests));
  for (const std::int64_t width : {64, 256, 768}) measure(experts(width));
  for (const std::int64_t width : {64, 256, 768}) measure(loop(width));
}
