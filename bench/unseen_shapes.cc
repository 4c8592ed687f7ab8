#include <array>
#include <cstdio>
#include <numeric>
#include <random>

#include "bench/models.h"
#include "bench/overhead_sections.h"

namespace bench {
namespace {

constexpr int kShapes = 1000;
constexpr double kBoundUs = 5;

using Requests = std::vector<std::vector<frazil::Datum>>;

/// One request of each number of rows, all on the same bytes.
Requests requests_of(const std::vector<std::int64_t>& rows, std::int64_t width, const frazil::Tensor& values) {
  Requests requests;
  for (std::int64_t n : rows) {
    requests.push_back({frazil::Tensor::over(frazil::Elem::f32, {n, width}, values.buffer()).value()});
  }
  return requests;
}

struct Pass {
  double us = 0;
  frazil::Counters counters;
};

/// All requests on a session of their own, each with results of its own.
Pass serve(const std::shared_ptr<frazil::Executable>& executable, const Requests& requests) {
  frazil::Session session(executable);
  auto start = detail::Clock::now();
  for (const auto& inputs : requests) {
    std::vector<frazil::Datum> outputs;
    run_frazil(session, inputs, outputs);
  }
  return {detail::since_ms(start) * 1e3, session.counters()};
}

/// `each`: every shape once. `twice`: every shape twice in a row. `one`: the mean shape, as often as `each` has shapes.
struct Series {
  Requests each, twice, one;
};

Series make_series(std::int64_t width) {
  frazil::Tensor values = frazil::Tensor::make(frazil::Elem::f32, {kShapes, width}).value();
  auto span = values.as_mutable<float>();
  for (std::size_t i = 0; i < span.size(); ++i) span[i] = static_cast<float>(i % 101) * 0.02f - 1;
  std::vector<std::int64_t> rows(kShapes), twice;
  std::iota(rows.begin(), rows.end(), 1);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  for (std::int64_t n : rows) twice.insert(twice.end(), 2, n);
  return {requests_of(rows, width, values), requests_of(twice, width, values),
          requests_of(std::vector<std::int64_t>(kShapes, kShapes / 2), width, values)};
}

nlohmann::json quartiles(const std::vector<double>& values) {
  return {{"median", detail::quantile(values, 0.5)},
          {"q1", detail::quantile(values, 0.25)},
          {"q3", detail::quantile(values, 0.75)}};
}

nlohmann::json measure(const std::string& name, const std::string& path, std::int64_t width, int rounds) {
  std::shared_ptr<frazil::Executable> executable = load_frazil(path);
  Series series = make_series(width);
  std::vector<double> each, one, twice, over_one, over_same;
  Pass pass;
  for (int round = -1; round < rounds; ++round) {
    pass = serve(executable, series.each);
    double on_one = serve(executable, series.one).us, on_twice = serve(executable, series.twice).us;
    if (round < 0) continue;
    each.push_back(pass.us / kShapes);
    one.push_back(on_one / kShapes);
    twice.push_back(on_twice / kShapes);
    over_one.push_back((pass.us - on_one) / kShapes);
    over_same.push_back((2 * pass.us - on_twice) / kShapes);
  }
  nlohmann::json json = {{"name", name},
                         {"requests", kShapes},
                         {"plans", pass.counters.plans},
                         {"shape_changes", pass.counters.shape_changes},
                         {"steps_prepared", pass.counters.prepared},
                         {"us_per_unseen_request", quartiles(each)},
                         {"us_per_same_request", quartiles(one)},
                         {"us_per_two_requests", quartiles(twice)},
                         {"extra_us_over_one_shape", quartiles(over_one)},
                         {"extra_us_over_repeat", quartiles(over_same)},
                         {"bound_us", kBoundUs}};
  auto text = [&](const char* key) {
    std::array<char, 48> line;
    const auto& q = json[key];
    std::snprintf(line.data(), line.size(), "%.2f (%.2f..%.2f)", q["median"].get<double>(), q["q1"].get<double>(),
                  q["q3"].get<double>());
    return std::string(line.data());
  };
  std::printf(
      "shapes   %-12s %d new shapes: %s us each, one shape %s us; extra per new shape %s us, over the same shape again "
      "%s us (bound %.0f); plans %llu, steps prepared %llu\n",
      name.c_str(), kShapes, text("us_per_unseen_request").c_str(), text("us_per_same_request").c_str(),
      text("extra_us_over_one_shape").c_str(), text("extra_us_over_repeat").c_str(), kBoundUs,
      static_cast<unsigned long long>(pass.counters.plans), static_cast<unsigned long long>(pass.counters.prepared));
  std::fflush(stdout);
  return json;
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
