// Measures the cost of a run besides its arithmetic, ours against the peer's, on one thread:
//
//   overhead [MODELDIR] [--peer LIBRARY | --no-peer] [--rounds N] [--json FILE] [--all] [NAME...]
//
// MODELDIR is $FRAZIL_WORKLOADS or build/workloads unless given. NAMEs are workloads (workloads.h) or sections:
// observer, shapes, stream, append, edit, live, load. Without NAMEs: the workloads dominated by overhead, and every
// section.
// --all takes every workload whose model is in MODELDIR. Pin the process to a core, as the peer's figures vary with the
// machine's load. The results of both sides are compared; exits with 1 when a row fails.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/child.h"
#include "bench/frazil_runner.h"
#include "bench/interleave.h"
#include "bench/overhead_sections.h"
#include "bench/pair.h"
#include "bench/workload_models.h"
#include "bench/workloads.h"
#include "ir/op/op.h"

namespace bench {
namespace {

constexpr const char* kDefaultNames[] = {"floor_add", "chain100",   "mlp_tiny", "loop_tiny",
                                         "if_chain",  "if_in_loop", "loop_rnn", "ew_64"};
constexpr const char* kObserved[] = {"floor_add", "chain100", "loop_tiny"};
constexpr const char* kSections[] = {"observer", "shapes", "stream", "append", "edit", "live", "load"};

struct OverheadArguments : Arguments {
  std::string peer;
  bool all = false, no_peer = false;

  OverheadArguments() { timing.max_seconds = 30; }
};

bool is_section(std::string_view word) {
  return std::find(std::begin(kSections), std::end(kSections), word) != std::end(kSections);
}

const Workload* find_workload(std::string_view name) {
  auto found = std::find_if(kWorkloads.begin(), kWorkloads.end(), [&](const Workload& w) { return w.name == name; });
  return found == kWorkloads.end() ? nullptr : &*found;
}

std::string default_model_dir() {
  const char* variable = std::getenv("FRAZIL_WORKLOADS");
  return variable && *variable ? variable : "build/workloads";
}

std::string model_path(const OverheadArguments& arguments, const Workload& workload) {
  return arguments.folder + "/" + std::string(workload.model) + ".onnx";
}

std::vector<Workload> choose(const OverheadArguments& arguments) {
  std::vector<Workload> chosen;
  if (arguments.all) {
    for (const Workload& workload : kWorkloads) {
      if (std::filesystem::exists(model_path(arguments, workload))) chosen.push_back(workload);
    }
    return chosen;
  }
  std::vector<std::string> names = arguments.names;
  if (names.empty()) names.assign(std::begin(kDefaultNames), std::end(kDefaultNames));
  for (const std::string& name : names) {
    if (!is_section(name)) chosen.push_back(*find_workload(name));
  }
  return chosen;
}

double count_nodes(const frazil::Graph& graph, std::string_view op) {
  double count = 0;
  for (frazil::NodeId id : graph.main().nodes) count += op.empty() || graph.node(id).op->name == op;
  return count;
}

/// Per node for chains of small nodes, per If for chains of them, per iteration for loops, else per run.
Unit unit_of(const Workload& workload, FrazilRunner& ours) {
  const frazil::Graph& graph = ours.session().executable().graph();
  if (double iterations = ours.iterations_per_run(); iterations > 1) return {"iteration", iterations};
  if (workload.name == "if_chain") return {"If", count_nodes(graph, "If")};
  if (workload.name == "chain100") return {"node", count_nodes(graph, "")};
  return {};
}

bool measure(const Ort* ort, const OverheadArguments& arguments, const Workload& workload, Report& report) {
  const std::string path = model_path(arguments, workload);
  if (!std::filesystem::exists(path)) throw std::runtime_error("no model " + path);
  Pair pair(ort, path, workload.inputs);
  const Comparison row = interleave(std::string(workload.name), pair.ours(), pair.peer(), arguments.timing);
  report.add(row, pair.ours() ? unit_of(workload, *pair.ours()) : Unit{}, pair.note());
  return pair.note().empty();
}

nlohmann::json observers(const OverheadArguments& arguments) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char* name : kObserved) {
    const Workload& workload = *find_workload(name);
    std::shared_ptr<frazil::exec::Executable> executable = load_frazil(model_path(arguments, workload));
    const Requests requests = make_requests(frazil_inputs(executable->graph()), workload.inputs, "");
    rows.push_back(observer_cost(name, std::move(executable), requests, arguments.timing));
  }
  return rows;
}

bool overhead(const OverheadArguments& arguments) {
  nlohmann::json json;
  std::optional<Ort> ort;
  if (!arguments.no_peer) {
    ort.emplace(Ort::find_library(arguments.peer));
    json["peer"] = "onnxruntime " + ort->version();
    std::printf("peer: onnxruntime %s; one thread each\n", ort->version().c_str());
  }
  bool good = true;
  Report report("frazil", "ort");
  for (const Workload& workload : choose(arguments)) {
    good &= measure(ort ? &*ort : nullptr, arguments, workload, report);
  }
  json["rows"] = report.json();
  if (arguments.wants("observer")) json["observer"] = observers(arguments);
  if (arguments.wants("shapes")) json["unseen_shapes"] = unseen_shapes(scratch_dir(), arguments.timing.rounds);
  if (arguments.wants("stream")) json["stream"] = shape_stream(scratch_dir(), arguments.timing.rounds);
  if (arguments.wants("append")) json["append"] = appended_values(arguments.timing.rounds);
  if (arguments.wants("edit"))
    json["edit"] = edited_graph(model_file(arguments.folder, "bert_base", false), arguments.timing.rounds);
  if (arguments.wants("live"))
    json["live"] = live_edits(model_file(arguments.folder, "bert_base", false),
                              model_file(arguments.folder, "moe_if", false), 9, 100);
  if (arguments.wants("live")) json["edits_under_load"] = edits_under_load(10000, 4);
  if (arguments.wants("load")) json["load"] = large_load(scratch_dir());
  write_json(arguments.json, json);
  return good;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--load-child") {
    bench::load_child(argv[2], std::stoll(argv[3]));
    return 0;
  }
  bench::OverheadArguments arguments;
  CLI::App app("The cost of a run besides its arithmetic", "overhead");
  const auto is_name = [](std::string_view word) { return bench::is_section(word) || bench::find_workload(word); };
  add_arguments(app, arguments, is_name, true);
  app.add_option("--peer", arguments.peer, "libonnxruntime.so.1");
  app.add_flag("--no-peer", arguments.no_peer);
  app.add_flag("--all", arguments.all, "every workload whose model is in the folder");
  return bench::run_program(app, argc, argv, [&] {
    if (arguments.folder.empty()) arguments.folder = bench::default_model_dir();
    return bench::overhead(arguments);
  });
}
