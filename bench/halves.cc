// Models of 16-bit floats against the same models of f32, ours, in turns; and the peer on the same files, where it runs
// them:
//
//   halves [MODELDIR] [--peer LIBRARY] [--rounds N] [--json FILE] [NAME...]
//
// "error" is the difference of the results from those of f32, as a root mean square relative to theirs. Pin the process
// to a core.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/arguments.h"
#include "bench/child.h"
#include "bench/pair.h"
#include "bench/workload_models.h"
#include "bench/workloads.h"

namespace bench {
namespace {

/// A workload of 16-bit floats, and that of f32.
struct Row {
  std::string_view name, wide;
};
constexpr Row kRows[] = {
    {"resnet50_bf16", "resnet50"},       {"resnet50_f16", "resnet50"},          {"bert_base_bf16", "bert_base"},
    {"bert_base_f16", "bert_base"},      {"bert_base_bf16_16", "bert_base_16"}, {"bert_base_f16_16", "bert_base_16"},
    {"bert_base_bf16_1", "bert_base_1"}, {"bert_base_f16_1", "bert_base_1"},
};

bool is_row(std::string_view word) { return std::ranges::find(kRows, word, &Row::name) != std::end(kRows); }

const Workload& workload_of(std::string_view name) {
  const auto* found = std::ranges::find(kWorkloads, name, &Workload::name);
  if (found == std::end(kWorkloads)) throw std::runtime_error("no workload " + std::string(name));
  return *found;
}

double error_of(const HostTensor& got, const HostTensor& want) {
  double squares = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = static_cast<double>(got.as<float>()[i]) - static_cast<double>(want.as<float>()[i]);
    squares += difference * difference;
    all += static_cast<double>(want.as<float>()[i]) * static_cast<double>(want.as<float>()[i]);
  }
  return std::sqrt(squares / all);
}

class Table {
 public:
  Table(const Arguments& arguments, const std::string& peer) : arguments_(arguments) {
    built_ = std::filesystem::path(self_path()).parent_path().parent_path() / "workloads";
    try {
      ort_.emplace(Ort::find_library(peer));
    } catch (const std::exception& e) {
      std::printf("no peer: %s\n", e.what());
    }
    std::printf("%-18s %9s %9s %7s %-13s %9s %9s\n", "ms", "f32", "ours", "ratio", "pairs", "error", "ort");
  }

  void add(const Row& row) {
    const Workload &narrow = workload_of(row.name), &wide = workload_of(row.wide);
    const std::string path = path_of(narrow);
    auto ours = runner(path, narrow), reference = runner(path_of(wide), wide);
    ours->run();
    reference->run();
    const double error = error_of(ours->outputs()[0], reference->outputs()[0]);
    const Comparison c = interleave(std::string(row.name), ours.get(), reference.get(), arguments_.timing);
    std::string note;
    const double peer = peer_ms(path, narrow, note);
    std::printf("%-18s %9.3f %9.3f %7.3f %5.3f..%-6.3f %9.5f %9.3f  %s\n", std::string(row.name).c_str(), c.b->median,
                c.a->median, 1 / c.pair_ratio, 1 / c.ratio_high, 1 / c.ratio_low, error, peer, note.c_str());
    std::fflush(stdout);
    json_.push_back({{"name", row.name},
                     {"f32_ms", c.b->median},
                     {"ours_ms", c.a->median},
                     {"ratio", 1 / c.pair_ratio},
                     {"error", error},
                     {"peer_ms", peer},
                     {"note", note}});
  }
  void finish() const { write_json(arguments_.json, json_); }

 private:
  std::string path_of(const Workload& workload) const {
    const std::string name = std::string(workload.model) + ".onnx";
    const std::string given = arguments_.folder.empty() ? "" : arguments_.folder + "/" + name;
    return !given.empty() && std::filesystem::exists(given) ? given : model_file(built_, workload.model, false);
  }

  static std::unique_ptr<FrazilRunner> runner(const std::string& path, const Workload& workload) {
    auto executable = load_frazil(path);
    return std::make_unique<FrazilRunner>(executable,
                                          make_requests(frazil_inputs(executable->graph()), workload.inputs, "."));
  }

  /// 0 with the reason in `note` where it does not run.
  double peer_ms(const std::string& path, const Workload& workload, std::string& note) const {
    if (!ort_) return 0;
    try {
      const OrtSession session(*ort_, path);
      PeerRunner peer(session, make_requests(session.inputs(), workload.inputs, "."));
      peer.run();
      return interleave("", &peer, nullptr, arguments_.timing).a->median;
    } catch (const std::exception& e) {
      note = std::string(e.what()).substr(0, 160);
      return 0;
    }
  }

  const Arguments& arguments_;
  std::optional<Ort> ort_;
  std::string built_;
  nlohmann::json json_ = nlohmann::json::array();
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments;
  arguments.timing = {.rounds = 9, .batch_ms = 50, .max_seconds = 10};
  std::string peer;
  CLI::App app("Models of 16-bit floats against f32", "halves");
  app.add_option("--peer", peer, "the peer's library");
  bench::add_arguments(app, arguments, bench::is_row, true);
  return bench::run_program(app, argc, argv, [&] {
    bench::Table table(arguments, peer);
    for (const bench::Row& row : bench::kRows) {
      if (arguments.wants(row.name)) table.add(row);
    }
    table.finish();
    return true;
  });
}
