// What a run costs beside its arithmetic, ours against the peer's, on one thread:
//
//   overhead MODELDIR [--peer LIBRARY] [--rounds N] [--json FILE] [--all] [NAME...]
//
// NAMEs are workloads (workloads.h); without any, those where overhead is nearly all there is. --all takes every
// workload whose model lies in MODELDIR. Pin it to a core, as the peer's figures move with the machine's load.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/inputs.h"
#include "bench/interleave.h"
#include "bench/ort.h"
#include "bench/workloads.h"

namespace bench {
namespace {

constexpr const char* kDefaultNames[] = {"floor_add", "chain100", "loop_tiny", "if_chain"};
constexpr std::uint64_t kSeed = 1;

class PeerRunner : public Runner {
 public:
  PeerRunner(const OrtSession& session, const NamedTensors& inputs) : prepared_(session, inputs) {}
  void run() override { prepared_.run(); }

 private:
  OrtPrepared prepared_;
};

/// THE PLACE FOR OUR SIDE: a runner that holds a loaded model and its input tensors, made once, so that run() is one
/// Session::run with output allocation. Null while there is none; the peer is then timed alone.
std::unique_ptr<Runner> make_frazil_runner([[maybe_unused]] const std::string& model_path,
                                           [[maybe_unused]] const NamedTensors& inputs) {
  return nullptr;
}

struct Arguments {
  std::string model_dir, peer, json;
  InterleaveOptions timing;
  bool all = false;
  std::vector<std::string> names;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " wants a value");
      return argv[i];
    };
    if (word == "--peer") {
      arguments.peer = value();
    } else if (word == "--rounds") {
      arguments.timing.rounds = std::stoi(value());
    } else if (word == "--json") {
      arguments.json = value();
    } else if (word == "--all") {
      arguments.all = true;
    } else if (word.starts_with("--")) {
      throw std::runtime_error("unknown option " + word);
    } else if (arguments.model_dir.empty()) {
      arguments.model_dir = word;
    } else {
      arguments.names.push_back(word);
    }
  }
  if (arguments.model_dir.empty()) {
    throw std::runtime_error("usage: overhead MODELDIR [--peer LIBRARY] [--rounds N] [--json FILE] [--all] [NAME...]");
  }
  return arguments;
}

std::string model_path(const Arguments& arguments, const Workload& workload) {
  return arguments.model_dir + "/" + std::string(workload.model) + ".onnx";
}

std::vector<Workload> choose(const Arguments& arguments) {
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
    auto found = std::find_if(kWorkloads.begin(), kWorkloads.end(), [&](const Workload& w) { return w.name == name; });
    if (found == kWorkloads.end()) throw std::runtime_error("unknown workload " + name);
    chosen.push_back(*found);
  }
  return chosen;
}

NamedTensors make_inputs(const OrtSession& session, const Workload& workload) {
  InputSpecs specs;
  std::istringstream words{std::string(workload.inputs)};
  for (std::string word; words >> word;) add_input_spec(specs, word);
  NamedTensors tensors;
  for (const Port& port : session.inputs()) {
    auto spec = specs.find(port.name);
    if (spec == specs.end()) throw std::runtime_error(std::string(workload.name) + " lists no input " + port.name);
    tensors[port.name] = make_input(port, spec->second, kSeed);
  }
  return tensors;
}

Comparison compare(const Ort& ort, const Arguments& arguments, const Workload& workload) {
  std::string path = model_path(arguments, workload);
  OrtSession session(ort, path);
  NamedTensors inputs = make_inputs(session, workload);
  PeerRunner peer(session, inputs);
  std::unique_ptr<Runner> ours = make_frazil_runner(path, inputs);
  return interleave(std::string(workload.name), ours.get(), &peer, arguments.timing);
}

void overhead(const Arguments& arguments) {
  Ort ort(Ort::find_library(arguments.peer));
  std::fprintf(stderr, "peer: onnxruntime %s, one thread\n", ort.version().c_str());
  Report report("frazil", "ort");
  for (const Workload& workload : choose(arguments)) report.add(compare(ort, arguments, workload));
  if (!arguments.json.empty()) report.write(arguments.json);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  bench::overhead(bench::parse(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "overhead: %s\n", error.what());
  return 2;
}
