// Runs a model on the peer and stores inputs and outputs as .npy files:
//
//   ort_reference MODEL OUTDIR [--input NAME=SPEC]... [--random SEED] [--level LEVEL] [--peer LIBRARY]
//
// SPEC is a .npy file or a spec of inputs.h. --random seeds the random values and fills inputs without a SPEC.
// LEVEL is the peer's optimisation level: none, basic, extended or all (the default).

#include <cctype>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "bench/convert.h"
#include "bench/inputs.h"
#include "bench/ort.h"

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: ort_reference MODEL OUTDIR [--input NAME=SPEC]... [--random SEED] [--level LEVEL] [--peer LIBRARY]";

struct Arguments {
  std::string model, out_dir, peer;
  InputSpecs inputs;
  std::optional<std::uint64_t> seed;
  OrtLevel level = OrtLevel::all;
};

OrtLevel parse_level(const std::string& name) {
  if (name == "none") return OrtLevel::none;
  if (name == "basic") return OrtLevel::basic;
  if (name == "extended") return OrtLevel::extended;
  if (name == "all") return OrtLevel::all;
  throw std::runtime_error("unknown level " + name);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int positional = 0;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " wants a value");
      return argv[i];
    };
    if (word == "--input") {
      add_input_spec(arguments.inputs, value());
    } else if (word == "--random") {
      arguments.seed = std::stoull(value());
    } else if (word == "--level") {
      arguments.level = parse_level(value());
    } else if (word == "--peer") {
      arguments.peer = value();
    } else if (word.starts_with("--") || positional == 2) {
      throw std::runtime_error(kUsage);
    } else {
      (positional++ == 0 ? arguments.model : arguments.out_dir) = word;
    }
  }
  if (positional != 2) throw std::runtime_error(kUsage);
  return arguments;
}

NamedTensors make_inputs(const OrtSession& session, Arguments& arguments) {
  NamedTensors tensors;
  for (const Port& port : session.inputs()) {
    auto spec = arguments.inputs.find(port.name);
    if (spec != arguments.inputs.end()) {
      tensors[port.name] = make_input(port, spec->second, arguments.seed.value_or(0));
      arguments.inputs.erase(spec);
    } else if (arguments.seed) {
      tensors[port.name] = random_input(port, *arguments.seed);
    } else {
      throw std::runtime_error("no --input for " + port.name + " and no --random");
    }
  }
  for (const auto& [name, spec] : arguments.inputs) throw std::runtime_error("the model has no input " + name);
  return tensors;
}

/// Counts infinities and NaNs, so that a degenerate reference is noticed.
std::size_t count_not_finite(const HostTensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (tensor.elem == Elem::f32) count += !std::isfinite(tensor.as<float>()[i]);
    if (tensor.elem == Elem::f64) count += !std::isfinite(tensor.as<double>()[i]);
  }
  return count;
}

class Writer {
 public:
  explicit Writer(std::string dir) : dir_(std::move(dir)) { std::filesystem::create_directories(dir_); }

  void write(const std::string& kind, const std::string& name, const HostTensor& tensor) {
    std::string file = kind + "_" + name + ".npy";
    for (char& c : file) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
    }
    if (!written_.insert(file).second) throw std::runtime_error("two tensors would be written to " + file);
    write_npy(dir_ + "/" + file, tensor);

    std::printf("%s %s[", file.c_str(), elem_name(tensor.elem));
    for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
      std::printf("%s%lld", i ? "," : "", static_cast<long long>(tensor.dims[i]));
    }
    std::printf("]");
    if (std::size_t bad = count_not_finite(tensor)) std::printf(" %zu not finite", bad);
    std::printf("\n");
  }

 private:
  std::string dir_;
  std::set<std::string> written_;
};

void reference(Arguments arguments) {
  Ort ort(Ort::find_library(arguments.peer));
  OrtSession session(ort, arguments.model, {.level = arguments.level});
  NamedTensors inputs = make_inputs(session, arguments);
  std::vector<HostTensor> outputs = session.run(inputs);
  Writer writer(arguments.out_dir);
  for (const auto& [name, tensor] : inputs) writer.write("input", name, tensor);
  for (std::size_t i = 0; i < outputs.size(); ++i) writer.write("output", session.outputs()[i].name, outputs[i]);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  bench::reference(bench::parse(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ort_reference: %s\n", error.what());
  return 2;
}
