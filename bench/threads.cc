// What more threads bring to one run: each row on one thread and on N, in turns, and whether their bits are equal.
//
//   threads [--threads N] [--rounds N] [--batch MS] [--workloads DIR] [--json FILE] [NAME...]
//
// N is 2 unless given. A round is as many runs as take MS milliseconds (40). "cpu" is processor time / wall time: below
// 1 on one thread, or below N on N, others had the cores meanwhile, and the median says little; "best", of the fastest
// rounds of many short ones, is then nearer to the truth. Returns 1 where bits differ.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/interleave.h"
#include "bench/net.h"
#include "bench/workload_models.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using frazil::Model;

struct Arguments {
  unsigned threads = 2;
  InterleaveOptions timing{.rounds = 31, .batch_ms = 40, .max_seconds = 60};
  std::string workloads = "build/workloads", json;
  std::vector<std::string> names;
};

/// One input of f32 or more, all in [-1, 1).
struct Row {
  const char* name;
  Model (*make)(const Arguments& arguments);
  std::vector<Sizes> inputs;
};

/// `body` makes the result of the graph's inputs.
template <class Make>
Model model_of(const std::vector<Sizes>& inputs, const Make& make) {
  GraphBuilder graph("row");
  Random random(7, "threads");
  Terms terms;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    terms.push_back(graph.input("x" + std::to_string(i), Dtype::f32, {inputs[i].begin(), inputs[i].end()}));
  }
  graph.output("y", make(Net(graph, random), terms));
  return graph.build();
}

Model product(const Arguments&) {
  return model_of({{1024, 1024}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], net.weight({1024, 1024})}); });
}

Model product_of_inputs(const Arguments&) {
  return model_of({{1024, 1024}, {1024, 1024}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], x[1]}); });
}

Model small_product(const Arguments&) {
  return model_of({{128, 256}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], net.weight({256, 256})}); });
}

Model batched_product(const Arguments&) {
  return model_of({{12, 256, 64}, {12, 64, 256}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], x[1]}); });
}

Model convolution(const Arguments&) {
  return model_of({{1, 64, 56, 56}}, [](const Net& net, const Terms& x) {
    return net.op("Relu", {net.op("Conv", {x[0], net.weight({64, 64, 3, 3}, 0.05)}, {{"pads", {1, 1, 1, 1}}})});
  });
}

Model softmax(const Arguments&) {
  return model_of({{1024, 1024}}, [](const Net& net, const Terms& x) { return net.op("Softmax", {x[0]}); });
}

Model workload(const Arguments& arguments, std::string_view name) {
  return Model::load(model_file(arguments.workloads, name, false));
}
Model ew_1024(const Arguments& arguments) { return workload(arguments, "ew_1024"); }
Model ewc_1024(const Arguments& arguments) { return workload(arguments, "ewc_1024"); }

const Row kRows[] = {
    {"product_1024", product, {{1024, 1024}}},      {"inputs_1024", product_of_inputs, {{1024, 1024}, {1024, 1024}}},
    {"product_small", small_product, {{128, 256}}}, {"products_batch", batched_product, {{12, 256, 64}, {12, 64, 256}}},
    {"conv_3x3", convolution, {{1, 64, 56, 56}}},   {"softmax_1024", softmax, {{1024, 1024}}},
    {"ew_1024", ew_1024, {{1024, 1024}}},           {"ewc_1024", ewc_1024, {{1024, 1024}}},
};

class SessionRunner : public Runner {
 public:
  SessionRunner(const Model& model, const std::vector<Array>& inputs, unsigned threads)
      : session_(model.open({.threads = threads})), inputs_(inputs) {}
  void run() override { session_.run(inputs_, results_); }
  const Array& result() const { return results_[0]; }

 private:
  frazil::Session session_;
  const std::vector<Array>& inputs_;
  frazil::Results results_;
};

std::vector<Array> inputs_of(const Row& row) {
  std::vector<Array> inputs;
  Random random(11, row.name);
  for (const Sizes& sizes : row.inputs) {
    Array& array = inputs.emplace_back(Dtype::f32, sizes);
    for (float& v : array.mutable_values<float>()) v = static_cast<float>(2 * random.uniform() - 1);
  }
  return inputs;
}

bool measure(const Row& row, const Arguments& arguments, Report& report) {
  const Model model = row.make(arguments);
  const std::vector<Array> inputs = inputs_of(row);
  SessionRunner one(model, inputs, 1), many(model, inputs, arguments.threads);
  const Comparison times = interleave(row.name, &many, &one, arguments.timing);
  const Array &a = one.result(), &b = many.result();
  const bool equal = a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  report.add(times, {}, equal ? "" : "bits differ");
  return equal;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " wants a value");
      return argv[i];
    };
    if (word == "--threads") {
      arguments.threads = static_cast<unsigned>(std::stoul(value()));
    } else if (word == "--rounds") {
      arguments.timing.rounds = std::stoi(value());
    } else if (word == "--batch") {
      arguments.timing.batch_ms = std::stod(value());
    } else if (word == "--workloads") {
      arguments.workloads = value();
    } else if (word == "--json") {
      arguments.json = value();
    } else if (std::ranges::find(kRows, word, &Row::name) != std::end(kRows)) {
      arguments.names.push_back(word);
    } else {
      throw std::runtime_error("unknown option or row " + word);
    }
  }
  return arguments;
}

bool all(const Arguments& arguments) {
  Report report(std::to_string(arguments.threads) + " threads", "1 thread");
  bool good = true;
  for (const Row& row : kRows) {
    const bool wanted = arguments.names.empty() || std::ranges::count(arguments.names, row.name) > 0;
    if (wanted) good &= measure(row, arguments, report);
  }
  if (!arguments.json.empty()) {
    std::ofstream out(arguments.json);
    out << nlohmann::json{{"threads", arguments.threads}, {"rows", report.json()}}.dump(2) << '\n';
    if (!out) throw std::runtime_error(arguments.json + ": cannot be written");
  }
  return good;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  return bench::all(bench::parse(argc, argv)) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "threads: %s\n", error.what());
  return 2;
}
