#include <cstdio>
#include <random>

#include "bench/models.h"
#include "bench/overhead_sections.h"
#include "bench/serve.h"

namespace bench {
namespace {

constexpr int kShapes = 1000;
constexpr double kBoundUs = 5, kUs = 1e3 / kShapes;  ///< kUs: of a request, of a series in ms

/// `each`: every shape once. `twice`: every shape twice in a row. `one`: the mean shape, as often as `each` has shapes.
struct Series {
  Requested each, twice, one;
};

Series make_series(std::int64_t width) {
  frazil::Tensor values = frazil::Tensor::make(frazil::Elem::f32, {kShapes, width}).value();
  auto span = values.as_mutable<float>();
  for (std::size_t i = 0; i < span.size(); ++i) span[i] = static_cast<float>(i % 101) * 0.02f - 1;
  std::vector<frazil::Sizes> shapes, twice;
  for (std::int64_t n = 1; n <= kShapes; ++n) shapes.push_back({n, width});
  std::shuffle(shapes.begin(), shapes.end(), std::mt19937(1));
  for (const frazil::Sizes& sizes : shapes) twice.insert(twice.end(), 2, sizes);
  const std::vector<frazil::Sizes> one(kShapes, {kShapes / 2, width});
  const auto requests = [&](const auto& all) { return requests_of(all, {&values, 1}); };
  return {requests(shapes), requests(twice), requests(one)};
}

/// Microseconds per request in each round.
struct Times {
  std::vector<double> each, one, over_one, over_repeat;
  frazil::exec::Counters counters;  ///< of the last pass over every shape
};

Times time_rounds(const std::shared_ptr<frazil::exec::Executable>& executable, const Series& series, int rounds) {
  Times times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    Served each = serve(executable, series.each), one = serve(executable, series.one);
    Served twice = serve(executable, series.twice);
    if (round < 0) continue;
    times.each.push_back(each.ms * kUs);
    times.one.push_back(one.ms * kUs);
    times.over_one.push_back((each.ms - one.ms) * kUs);
    times.over_repeat.push_back((2 * each.ms - twice.ms) * kUs);
    times.counters = each.counters;
  }
  return times;
}

std::string told(const std::vector<double>& us) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f (%.2f..%.2f) us", detail::quantile(us, 0.5), detail::quantile(us, 0.25),
                detail::quantile(us, 0.75));
  return text;
}

nlohmann::json measure(const std::string& name, const std::string& path, std::int64_t width, int rounds) {
  Times times = time_rounds(load_frazil(path), make_series(width), rounds);
  std::printf(
      "shapes   %-12s %d new shapes: %s each, one shape %s; a new shape adds %s, over the same shape again %s (bound "
      "%.0f); plans %llu, steps prepared %llu\n",
      name.c_str(), kShapes, told(times.each).c_str(), told(times.one).c_str(), told(times.over_one).c_str(),
      told(times.over_repeat).c_str(), kBoundUs, static_cast<unsigned long long>(times.counters.plans),
      static_cast<unsigned long long>(times.counters.prepared));
  std::fflush(stdout);
  return {{"name", name},
          {"requests", kShapes},
          {"plans", times.counters.plans},
          {"shape_changes", times.counters.shape_changes},
          {"steps_prepared", times.counters.prepared},
          {"us_per_unseen_request", quartiles(times.each)},
          {"us_per_same_request", quartiles(times.one)},
          {"extra_us_over_one_shape", quartiles(times.over_one)},
          {"extra_us_over_repeat", quartiles(times.over_repeat)},
          {"bound_us", kBoundUs}};
}

}  // namespace

nlohmann::json unseen_shapes(const std::string& scratch_dir, int rounds) {
  nlohmann::json rows = nlohmann::json::array();
  std::string path = scratch_dir + "/unseen.onnx";
  write_norm(path);
  rows.push_back(measure("ln_softmax", path, 64, rounds));
  for (int nodes : {10, 100}) {
    write_chain(path, nodes);
    rows.push_back(measure("chain" + std::to_string(nodes), path, 4, rounds));
  }
  std::remove(path.c_str());
  return rows;
}

}  // namespace bench
