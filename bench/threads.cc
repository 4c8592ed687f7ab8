// What more threads bring to one run: each row on one thread and on N, in turns, and whether their bits are equal.
//
//   threads [--threads N] [--rounds N] [--batch MS] [--workloads DIR] [--json FILE] [NAME...]
//
// N is 2 unless given. A round is as many runs as take MS milliseconds (40). "cpu" is processor time / wall time: below
// 1 on one thread, or below N on N, others had the cores meanwhile, and the median says little; "best", of the fastest
// rounds of many short ones, is then nearer to the truth. Returns 1 where bits differ.

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/interleave.h"
#include "bench/net.h"
#include "bench/workload_models.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using frazil::Model;

struct ThreadArguments : Arguments {
  unsigned threads = 2;
  std::string workloads = "build/workloads";

  ThreadArguments() { timing = {.rounds = 31, .batch_ms = 40, .max_seconds = 60}; }
};

/// One input of f32 or more, all in [-1, 1).
struct Row {
  const char* name;
  Model (*make)(const ThreadArguments& arguments);
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

Model product(const ThreadArguments&) {
  return model_of({{1024, 1024}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], net.weight({1024, 1024})}); });
}

Model product_of_inputs(const ThreadArguments&) {
  return model_of({{1024, 1024}, {1024, 1024}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], x[1]}); });
}

Model small_product(const ThreadArguments&) {
  return model_of({{128, 256}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], net.weight({256, 256})}); });
}

Model batched_product(const ThreadArguments&) {
  return model_of({{12, 256, 64}, {12, 64, 256}},
                  [](const Net& net, const Terms& x) { return net.op("MatMul", {x[0], x[1]}); });
}

Model convolution(const ThreadArguments&) {
  return model_of({{1, 64, 56, 56}}, [](const Net& net, const Terms& x) {
    return net.op("Relu", {net.op("Conv", {x[0], net.weight({64, 64, 3, 3}, 0.05)}, {{"pads", {1, 1, 1, 1}}})});
  });
}

Model softmax(const ThreadArguments&) {
  return model_of({{1024, 1024}}, [](const Net& net, const Terms& x) { return net.op("Softmax", {x[0]}); });
}

Model workload(const ThreadArguments& arguments, std::string_view name) {
  return Model::load(model_file(arguments.workloads, name, false));
}
Model ew_1024(const ThreadArguments& arguments) { return workload(arguments, "ew_1024"); }
Model ewc_1024(const ThreadArguments& arguments) { return workload(arguments, "ewc_1024"); }

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

bool measure(const Row& row, const ThreadArguments& arguments, Report& report) {
  const Model model = row.make(arguments);
  const std::vector<Array> inputs = inputs_of(row);
  SessionRunner one(model, inputs, 1), many(model, inputs, arguments.threads);
  const Comparison times = interleave(row.name, &many, &one, arguments.timing);
  const Array &a = one.result(), &b = many.result();
  const bool equal = a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  report.add(times, {}, equal ? "" : "bits differ");
  return equal;
}

bool all(const ThreadArguments& arguments) {
  Report report(std::to_string(arguments.threads) + " threads", "1 thread");
  bool good = true;
  for (const Row& row : kRows) {
    if (arguments.wants(row.name)) good &= measure(row, arguments, report);
  }
  write_json(arguments.json, {{"threads", arguments.threads}, {"rows", report.json()}});
  return good;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ThreadArguments arguments;
  CLI::App app("What more threads bring to one run", "threads");
  const auto is_row = [](std::string_view word) {
    return std::ranges::find(bench::kRows, word, &bench::Row::name) != std::end(bench::kRows);
  };
  add_arguments(app, arguments, is_row, false);
  app.add_option("--threads", arguments.threads);
  app.add_option("--batch", arguments.timing.batch_ms, "milliseconds of a round");
  app.add_option("--workloads", arguments.workloads, "the folder of models");
  return bench::run_program(app, argc, argv, [&] { return bench::all(arguments); });
}
