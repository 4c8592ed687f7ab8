#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>

#include "bench/models.h"
#include "bench/overhead_sections.h"
#include "bench/serve.h"
#include "bench/workload_models.h"

namespace bench {
namespace {

using frazil::Tensor;

constexpr std::size_t kRequests = 2000;
constexpr double kMaximum = 1.02;

/// Distinct shapes of a stream, and the one whose work is nearest to their mean.
struct Shapes {
  std::vector<frazil::Sizes> each, by_work;
  frazil::Sizes one;
  double work_ratio = 0;  ///< total work of `each` / work of as many requests of `one`
};

Shapes shapes_of(std::vector<frazil::Sizes> each, const std::function<double(const frazil::Sizes&)>& work) {
  double total = 0;
  for (const frazil::Sizes& sizes : each) total += work(sizes);
  const double mean = total / static_cast<double>(each.size());
  const frazil::Sizes one =
      *std::ranges::min_element(each, {}, [&](const frazil::Sizes& sizes) { return std::abs(work(sizes) - mean); });
  std::vector<frazil::Sizes> by_work = each;
  std::ranges::sort(by_work, {}, work);
  std::shuffle(each.begin(), each.end(), std::mt19937(1));
  return {std::move(each), std::move(by_work), one, mean / work(one)};
}

Shapes row_shapes(std::int64_t width) {
  std::vector<frazil::Sizes> each;
  for (std::int64_t n = 1; each.size() < kRequests; ++n) each.push_back({n, width});
  return shapes_of(std::move(each), [](const frazil::Sizes& s) { return static_cast<double>(s[0]); });
}

/// Sentences of 21 to 120 words, in batches of 1 to 20; an encoder with 32 features per word multiplies by its weights
/// and computes attention between words.
Shapes sentence_shapes() {
  std::vector<frazil::Sizes> each;
  for (std::int64_t batch = 1; batch <= 20; ++batch) {
    for (std::int64_t words = 21; words <= 120; ++words) each.push_back({batch, words});
  }
  return shapes_of(std::move(each), [](const frazil::Sizes& s) {
    const auto batch = static_cast<double>(s[0]), words = static_cast<double>(s[1]);
    return batch * words * (4 * 32 * 32 + 2 * 32 * 128 + 2 * 32 * words);
  });
}

Tensor numbers(frazil::Elem elem, std::int64_t count, std::int64_t below) {
  Tensor t = take(Tensor::make(elem, {count}));
  for (std::int64_t i = 0; i < count; ++i) {
    if (elem == frazil::Elem::f32) {
      t.as_mutable<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % below) * 0.02f - 1;
    } else {
      t.as_mutable<std::int64_t>()[static_cast<std::size_t>(i)] = i % below;
    }
  }
  return t;
}

/// Two shapes of nearly equal work, alternating either after each request or after every second one, in which case half
/// of the requests repeat the previous shape. The difference is the cost of a changed shape.
struct Pairs {
  Requested in_turns, in_a_row;
  Pairs(const Shapes& shapes, std::span<const Tensor> values) {
    constexpr std::size_t kApart = 8;
    std::vector<frazil::Sizes> turns, row;
    for (std::size_t i = 0; i + 1 < shapes.by_work.size(); i += kApart) {
      const auto &a = shapes.by_work[i], &b = shapes.by_work[i + 1];
      turns.insert(turns.end(), {a, b, a, b});
      row.insert(row.end(), {a, a, b, b});
    }
    in_turns = requests_of(turns, values);
    in_a_row = requests_of(row, values);
  }
  /// Extra time of a request with a changed shape relative to one with the same shape.
  double cost(const std::shared_ptr<frazil::exec::Executable>& executable) const {
    const double turns = serve(executable, in_turns).ms, row = serve(executable, in_a_row).ms;
    const double change = (turns - row) * 2;  // extrapolated to a change in every request
    return turns / (turns - change);
  }
};

nlohmann::json measure(const char* name, const std::string& path, const Shapes& shapes, std::span<const Tensor> values,
                       int rounds) {
  const auto executable = load_frazil(path);
  const Requested each = requests_of(shapes.each, values);
  const Requested one = requests_of(std::vector(kRequests, shapes.one), values);
  const Pairs pairs(shapes, values);
  std::vector<double> over_one, changes, times;
  Served last;
  serve(executable, each);
  for (int round = 0; round < rounds; ++round) {
    const Served before = round % 2 == 0 ? Served{} : serve(executable, one);
    last = serve(executable, each);
    const Served same = round % 2 == 0 ? serve(executable, one) : before;
    times.push_back(last.ms);
    over_one.push_back(last.ms / same.ms / shapes.work_ratio);
    changes.push_back(pairs.cost(executable));
  }
  std::printf(
      "stream   %-12s %zu shapes never seen %.0f ms; over one shape with the "
      "same work %.3f (%.3f..%.3f, most %.2f), of another shape alone %.3f; memory %+.1f MB after the first tenth, "
      "%llu plan\n",
      name, kRequests, detail::quantile(times, 0.5), detail::quantile(over_one, 0.5), detail::quantile(over_one, 0.25),
      detail::quantile(over_one, 0.75), kMaximum, detail::quantile(changes, 0.5), last.grown * 1e-6,
      static_cast<unsigned long long>(last.counters.plans));
  std::fflush(stdout);
  return {{"name", name},
          {"requests", kRequests},
          {"ms", detail::quantile(times, 0.5)},
          {"ratio", quartiles(over_one)},
          {"ratio_of_another_shape", quartiles(changes)},
          {"most", kMaximum},
          {"grown", last.grown},
          {"plans", last.counters.plans}};
}

}  // namespace

nlohmann::json shape_stream(const std::string& scratch_dir, int rounds) {
  rounds = std::min(rounds, 7);
  nlohmann::json rows = nlohmann::json::array();
  const std::string path = scratch_dir + "/stream.onnx";
  write_norm(path);
  const Tensor floats[] = {numbers(frazil::Elem::f32, 64 * static_cast<std::int64_t>(kRequests), 101)};
  rows.push_back(measure("ln_softmax", path, row_shapes(64), floats, rounds));
  std::remove(path.c_str());
  const Tensor ids = numbers(frazil::Elem::i64, 2400, 997), ones = numbers(frazil::Elem::i64, 2400, 2);
  const Tensor words[] = {ids, ones, ones};
  rows.push_back(
      measure("encoder", model_file(scratch_dir, "encoder", false), sentence_shapes(), words, std::min(rounds, 3)));
  return rows;
}

}  // namespace bench
