// Every target in one table: our figure, the peer's, their ratio, the allowed ratio, and the same for the model's twin:
//
//   targets [MODELDIR] [--peer LIBRARY] [--rounds N] [--starts N] [--json FILE] [--no-twins] [--cpu-time] [--threads N]
//   [NAME...]
//
// The models are built by the library's own builder and written to the folder "workloads" of the build, unless MODELDIR
// or $FRAZIL_WORKLOADS has them; twins are always built. The silero model is $FRAZIL_SILERO; its row is omitted without
// one. Pin the process to a core; on a shared core, --cpu-time uses the processor time of rows that run (not of load).
// With --threads both sides have N threads, the peer's of one operator, which spin as they do by default: a round
// begins when those of the other side sleep. Rows of load and memory are left out. Pin the process to N cores then.
// Results of both sides are compared: exits with 1 when a row fails or differs. Missed targets are reported and
// counted.

#include "bench/targets.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include "bench/arguments.h"
#include "bench/child.h"
#include "bench/pair.h"
#include "bench/start.h"
#include "bench/workload_models.h"
#include "bench/workloads.h"

namespace bench {
namespace {

/// Allowed ratio of a twin relative to its model's.
constexpr double kTwinSlack = 1.15;
/// Longer than the peer's threads spin, which is 40 ms.
constexpr double kSettleMs = 60;
constexpr double kBatchMs = 20;  ///< with several threads

struct TargetArguments : Arguments {
  std::string peer;
  int starts = 7;
  bool twins = true;
  unsigned threads = 1;
};

const Workload& workload_of(std::string_view name) {
  for (const Workload& workload : kWorkloads) {
    if (workload.name == name) return workload;
  }
  throw std::runtime_error("no workload " + std::string(name));
}

bool is_row(std::string_view word) {
  return std::ranges::any_of(kTargets, [&](const Target& t) { return t.name == word || t.workload == word; });
}

/// One figure of both sides.
struct Figure {
  double ours = 0, peer = 0;            ///< in the row's unit
  double ratio = 0, low = 0, high = 0;  ///< ours / peer: the median of the pairs and their quartiles
  Start planned;                        ///< memory: the parts of ours
  std::string note;
};

class Table {
 public:
  Table(const TargetArguments& arguments, const Ort& ort)
      : arguments_(arguments), ort_(ort), library_(Ort::find_library(arguments.peer)) {
    built_ = std::filesystem::path(self_path()).parent_path().parent_path() / "workloads";
    std::printf("%-17s %10s %10s %4s %7s %-15s %6s %-5s %7s %7s %s\n", "row", "ours", "ort", "unit", "ratio", "pairs",
                "most", "", "twin", "of row", "");
  }

  void add(const Target& target) {
    const Workload& workload = workload_of(target.workload);
    const std::string path = path_of(workload);
    const std::string missing = missing_of(path, workload);
    if (!missing.empty()) {
      std::printf("%-17s left out: no %s\n", std::string(target.name).c_str(), missing.c_str());
      return;
    }
    const Figure row = figure(target, path, std::string(workload.inputs));
    std::optional<Figure> twin;
    if (arguments_.twins && !target.twin_inputs.empty()) {
      twin = figure(target, model_file(built_, workload.model, true), std::string(target.twin_inputs));
    }
    print(target, row, twin);
    keep(target, row, twin);
  }

  /// False when results differ or a side failed.
  bool finish() const {
    std::printf("%d of %d targets met; %d of %d twins within %.0f%% of their row; %d rows failed\n", met_, rows_,
                alike_, twins_, 100 * (kTwinSlack - 1), failed_);
    write_json(arguments_.json,
               {{"peer", "onnxruntime " + ort_.version()}, {"threads", arguments_.threads}, {"rows", json_}});
    return failed_ == 0;
  }

 private:
  std::string path_of(const Workload& workload) const {
    const std::string given = arguments_.folder + "/" + std::string(workload.model) + ".onnx";
    if (!arguments_.folder.empty() && std::filesystem::exists(given)) return given;
    return model_file(built_, workload.model, false);
  }

  /// A file that the row needs and that is absent; empty when there is none.
  static std::string missing_of(const std::string& path, const Workload& workload) {
    if (!std::filesystem::exists(path)) return path;
    return missing_file(workload.inputs, std::filesystem::path(path).parent_path());
  }

  Figure figure(const Target& target, const std::string& path, const std::string& specs) {
    const double apart = workload_of(target.workload).apart;
    return target.what == Target::What::run ? run_figure(path, specs, apart) : start_figure(target, path, specs);
  }

  Figure run_figure(const std::string& path, const std::string& specs, double apart) const {
    Pair pair(&ort_, path, specs, arguments_.threads, apart);
    if (!pair.ours()) return {.note = pair.note()};
    const Comparison c = interleave("", pair.ours(), pair.peer(), arguments_.timing);
    return {.ours = c.a->median * 1e3,
            .peer = c.b->median * 1e3,
            .ratio = 1 / c.pair_ratio,
            .low = 1 / c.ratio_high,
            .high = 1 / c.ratio_low,
            .note = pair.note()};
  }

  Figure start_figure(const Target& target, const std::string& path, const std::string& specs) {
    auto [at, fresh] = starts_.try_emplace(path);
    if (fresh) {
      at->second.note = Pair(&ort_, path, specs).note();
      if (!at->second.note.starts_with("FAILED")) {
        at->second.starts = time_starts(path, specs, library_, arguments_.starts);
      }
    }
    const Starts& s = at->second.starts;
    if (target.what == Target::What::load) {
      return {.ours = s.ours.ms,
              .peer = s.peer.ms,
              .ratio = s.ms_ratio,
              .low = s.ms_low,
              .high = s.ms_high,
              .note = at->second.note};
    }
    return {.ours = s.ours.bytes * 1e-6,
            .peer = s.peer.bytes * 1e-6,
            .ratio = s.bytes_ratio,
            .low = s.bytes_low,
            .high = s.bytes_high,
            .planned = s.ours,
            .note = at->second.note};
  }

  static const char* unit_of(const Target& target) {
    return target.what == Target::What::run ? "us" : target.what == Target::What::load ? "ms" : "MB";
  }

  void print(const Target& target, const Figure& row, const std::optional<Figure>& twin) {
    const bool met = row.note.empty() && row.ratio <= target.most;
    ++rows_;
    met_ += met;
    failed_ += !row.note.empty();
    std::printf("%-17s %10.3f %10.3f %4s %7.4f %6.4f..%-6.4f %7.3f %-5s", std::string(target.name).c_str(), row.ours,
                row.peer, unit_of(target), row.ratio, row.low, row.high, target.most, met ? "ok" : "MISS");
    if (twin) {
      const bool alike = twin->note.empty() && twin->ratio <= kTwinSlack * row.ratio;
      ++twins_;
      alike_ += alike;
      failed_ += !twin->note.empty();
      std::printf(" %7.4f %7.2f %s", twin->ratio, row.ratio > 0 ? twin->ratio / row.ratio : 0, alike ? "ok" : "SLOW");
      if (!twin->note.empty()) std::printf("  twin: %s", twin->note.c_str());
    }
    if (const Start& p = row.planned; p.planned() > 0) {
      std::printf("  weights %.1f + values %.1f + process %.1f = %.1f MB, %.0f%%", p.weights * 1e-6, p.values * 1e-6,
                  p.process * 1e-6, p.planned() * 1e-6, 100 * p.planned() / p.bytes);
    }
    std::printf("%s%s\n", row.note.empty() ? "" : "  ", row.note.c_str());
    std::fflush(stdout);
  }

  static nlohmann::json to_json(const Figure& f) {
    return {{"ours", f.ours},     {"peer", f.peer},       {"ratio", f.ratio},
            {"ratio_low", f.low}, {"ratio_high", f.high}, {"planned", f.planned.planned() * 1e-6},
            {"note", f.note}};
  }

  void keep(const Target& target, const Figure& row, const std::optional<Figure>& twin) {
    nlohmann::json json = {
        {"name", target.name}, {"unit", unit_of(target)}, {"most", target.most}, {"row", to_json(row)}};
    if (twin) json["twin"] = to_json(*twin);
    json_.push_back(std::move(json));
  }

  struct Known {
    Starts starts;
    std::string note;
  };
  const TargetArguments& arguments_;
  const Ort& ort_;
  std::string library_, built_;
  std::map<std::string, Known> starts_;
  nlohmann::json json_ = nlohmann::json::array();
  int rows_ = 0, met_ = 0, twins_ = 0, alike_ = 0, failed_ = 0;
};

bool targets(const TargetArguments& arguments) {
  const Ort ort(Ort::find_library(arguments.peer));
  std::printf("peer: onnxruntime %s; threads of each: %u\n", ort.version().c_str(), arguments.threads);
  Table table(arguments, ort);
  for (const Target& target : kTargets) {
    if (arguments.threads > 1 && target.what != Target::What::run) continue;
    if (arguments.wants(target.name) || arguments.wants(target.workload)) table.add(target);
  }
  return table.finish();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (bench::is_start_child(argc, argv)) {
    bench::start_child(argv[2], argv[3], argv[4]);
    return 0;
  }
  bench::TargetArguments arguments;
  CLI::App app("Every target in one table", "targets");
  add_arguments(app, arguments, bench::is_row, true);
  app.add_option("--peer", arguments.peer, "libonnxruntime.so.1");
  app.add_option("--starts", arguments.starts, "of each side, for rows of load and memory")->check(CLI::PositiveNumber);
  app.add_option("--threads", arguments.threads, "of each side")->check(CLI::PositiveNumber);
  app.add_flag("--cpu-time", arguments.timing.cpu_time);
  app.add_flag("!--no-twins", arguments.twins);
  return bench::run_program(app, argc, argv, [&] {
    if (arguments.threads > 1)
      arguments.timing.settle_ms = bench::kSettleMs, arguments.timing.batch_ms = bench::kBatchMs;
    const char* folder = std::getenv("FRAZIL_WORKLOADS");
    if (arguments.folder.empty() && folder) arguments.folder = folder;
    return bench::targets(arguments);
  });
}
