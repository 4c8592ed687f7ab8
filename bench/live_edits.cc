#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <frazil/live.h>
#include <unistd.h>

#include "api/access.h"
#include "bench/overhead_sections.h"
#include "ir/op/op.h"
#include "onnx/import/import.h"

namespace bench {
namespace {

using frazil::api::Array;
using frazil::api::LiveModel;
using frazil::api::LiveSession;
using frazil::api::Model;

/// A node to edit, by the names of its values.
struct Place {
  std::string input, output;
  frazil::Sizes weight;  ///< of its second operand
};

/// The middle one of the nodes of an operator; with a matrix as second operand where `weights` is set, inside of bodies
/// where `inside` is set.
Place place_of(const frazil::Graph& graph, std::string_view op, bool weights, bool inside = false) {
  std::vector<Place> found;
  for (const frazil::NodeId id : graph.nodes()) {
    const frazil::Node& node = graph.node(id);
    if (node.op->name != op || (graph.block_of(node.out[0]) != frazil::Graph::kMain) != inside) continue;
    const frazil::Constant* weight = weights ? graph.constant(node.in[1]) : nullptr;
    if (weights && (weight == nullptr || weight->tensor.rank() != 2)) continue;
    found.push_back({graph.value_name(node.in[0]), graph.value_name(node.out[0]),
                     weight != nullptr ? weight->tensor.sizes() : frazil::Sizes()});
  }
  if (found.empty()) throw std::runtime_error("the model has no " + std::string(op) + " to edit");
  return found[found.size() / 2];
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) * 1e-6;
}

using Inputs = std::vector<frazil::api::Named>;

Inputs rows() {
  std::vector<float> numbers(std::size_t{4} * 512);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97) / 97 - 0.5f;
  return {{"x", Array::of<float>({4, 512}, std::span<const float>(numbers))}};
}

Inputs sentence() {
  const auto ids = [](std::int64_t value) {
    std::vector<std::int64_t> numbers(16, value);
    return Array::of<std::int64_t>({1, 16}, std::span<const std::int64_t>(numbers));
  };
  return {{"input_ids", ids(7)}, {"attention_mask", ids(1)}, {"token_type_ids", ids(0)}};
}

double timed(const auto& what) {
  const auto start = detail::Clock::now();
  what();
  return detail::since_ms(start);
}

/// A pointwise node gets another one behind it.
void scale(frazil::api::Patch& patch, const Place& at, float by) {
  patch.replace(at.output, patch.op("Mul", {patch.tap(at.output), patch.scalar(by)}));
}

void swap_weights(frazil::api::Patch& patch, const Place& at, float value) {
  std::vector<float> numbers(static_cast<std::size_t>(at.weight[0] * at.weight[1]), value);
  const Array weight = Array::of<float>({at.weight[0], at.weight[1]}, std::span<const float>(numbers));
  patch.replace(at.output, patch.op("MatMul", {patch.tap(at.input), patch.constant(weight)}));
}

/// A pointwise node moves into the branch of an If.
void wrap(frazil::api::Patch& patch, const Place& at, float by) {
  const frazil::api::Term most = patch.op("ReduceMax", {patch.tap(at.input)}, {{"keepdims", std::int64_t{0}}});
  patch.wrap({at.output}, patch.op("Greater", {most, patch.scalar(-by)}),
             [&](frazil::api::Body&) { return std::vector{patch.tap(at.input)}; });
}

struct Times {
  std::vector<double> edit, first, steady;
  double extra() const {
    const auto median = [](const std::vector<double>& times) { return detail::quantile(times, 0.5); };
    return median(edit) + median(first) - median(steady);
  }
};

/// Edits one model again and again; every edit is of the first version.
template <class Change>
Times edit_times(const Model& model, const Inputs& inputs, int rounds, const Change& change) {
  LiveModel live(model);
  LiveSession session = live.open();
  const auto run = [&] { (void)session.run(std::span<const frazil::api::Named>(inputs)); };
  run();
  Times times;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 3; ++i) times.steady.push_back(timed(run));
    times.edit.push_back(timed([&] {
      live.edit({"bench", "edit"}, [&](frazil::api::Patch& patch) { change(patch, static_cast<float>(round + 2)); });
    }));
    times.first.push_back(timed(run));
    live.roll_back(1, {"bench", "back"});
    run();
  }
  return times;
}

/// y = x * k, in version k.
Model factor(float k) {
  return Model::from_text("graph g(%x: f32[N]) { %y = Mul(%x, f32[] " + std::to_string(k) + ") return y = %y }");
}

/// Runs requests until `done`; counts answers of no version.
void serve(const LiveModel& live, const std::atomic<bool>& done, std::atomic<std::int64_t>& runs,
           std::atomic<std::int64_t>& wrong) {
  LiveSession session = live.open();
  const std::vector<frazil::api::Named> inputs{{"x", Array::of<float>({3}, {1, 2, 3})}};
  while (!done) {
    const auto results = session.run(std::span<const frazil::api::Named>(inputs));
    const auto y = results["y"].values<float>();
    const float factor = y[0];
    wrong += factor < 1 || factor > 8 || y[1] != 2 * factor || y[2] != 3 * factor;
    ++runs;
  }
}

}  // namespace

nlohmann::json edits_under_load(int edits, int threads) {
  LiveModel live(factor(1));
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> runs{0}, wrong{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back([&] { serve(live, done, runs, wrong); });
  double early = 0;
  const double ms = timed([&] {
    for (int i = 0; i < edits; ++i) {
      const auto version = live.edit({"bench", "edit"}, [&](frazil::api::Patch& patch) {
        const auto x = patch.tap("x");
        patch.replace("y", patch.op("Mul", {x, patch.scalar(static_cast<float>(i % 8 + 1))}));
      });
      if (version.number > 4) live.forget(version.number - 4);
      if (i == edits / 10) early = resident_mb();
    }
  });
  const double late = resident_mb();
  done = true;
  for (std::thread& worker : workers) worker.join();
  std::printf(
      "live     %d edits beside %d threads: %.3f ms each; %lld runs, %lld wrong; %.1f MB resident after a tenth, %.1f "
      "MB at the end\n",
      edits, threads, ms / edits, static_cast<long long>(runs), static_cast<long long>(wrong), early, late);
  return {{"edits", edits},        {"threads", threads}, {"edit_ms", ms / edits}, {"runs", runs.load()},
          {"wrong", wrong.load()}, {"early_mb", early},  {"late_mb", late}};
}

frazil::Graph imported(const std::string& path) {
  auto graph = frazil::import_onnx(path);
  if (!graph) throw std::runtime_error(graph.error().text());
  return *std::move(graph);
}

nlohmann::json live_edits(const std::string& path, const std::string& branches, int rounds, int versions) {
  const frazil::Graph graph = imported(path);
  const Place pointwise = place_of(graph, "Erf", false), product = place_of(graph, "MatMul", true),
              in_branch = place_of(imported(branches), "Relu", false, true);
  const Model model = Model::load(path);
  const auto with = [](const auto& change, const Place& at) {
    return [&change, &at](auto& patch, float by) { change(patch, at, by); };
  };
  const Times scaled = edit_times(model, sentence(), rounds, with(scale, pointwise));
  const Times swapped = edit_times(model, sentence(), rounds, with(swap_weights, product));
  const Times wrapped = edit_times(model, sentence(), rounds, with(wrap, pointwise));
  const Times inside = edit_times(Model::load(branches), rows(), rounds, with(scale, in_branch));

  LiveModel live(model);
  LiveSession session = live.open();
  const auto inputs = sentence();
  (void)session.run(std::span<const frazil::api::Named>(inputs));
  const double one = resident_mb();
  const auto packed =
      frazil::api::Access::impl(model).executable(frazil::api::ExecutionMode::planned)->packed().bytes();
  for (int i = 0; i < versions; ++i) {
    live.roll_back(1, {"bench", "back"});
    live.edit({"bench", "edit"},
              [&](frazil::api::Patch& patch) { scale(patch, pointwise, static_cast<float>(i + 2)); });
    (void)session.run(std::span<const frazil::api::Named>(inputs));
  }
  const double all = resident_mb();
  const auto packed_after =
      frazil::api::Access::impl(live.current().model).executable(frazil::api::ExecutionMode::planned)->packed().bytes();
  std::printf(
      "live     edit + first run - steady run: pointwise %.2f ms, weights %.2f, a new region %.2f, inside of a "
      "branch %.2f\n",
      scaled.extra(), swapped.extra(), wrapped.extra(), inside.extra());
  std::printf("live     %d versions: %.1f MB resident, one: %.1f MB (%.3f); packed %.1f and %.1f MB\n", versions, all,
              one, all / one, static_cast<double>(packed) * 1e-6, static_cast<double>(packed_after) * 1e-6);
  return {{"pointwise_ms", scaled.extra()},
          {"weights_ms", swapped.extra()},
          {"region_ms", wrapped.extra()},
          {"branch_ms", inside.extra()},
          {"versions", versions},
          {"one_mb", one},
          {"versions_mb", all}};
}

}  // namespace bench
