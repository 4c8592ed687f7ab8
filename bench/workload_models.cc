#include "bench/workload_models.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/child.h"
#include "bench/model_maker.h"
#include "bench/net.h"
#include "bench/quantise.h"
#include "bench/workloads.h"

namespace bench {
namespace {

using frazil::Extent;
using frazil::GraphBuilder;

frazil::Model floor_add(bool twin) {
  GraphBuilder graph("floor");
  const Term x = graph.input("x", Dtype::f32, {twin ? 3 : 1});
  graph.output("y", graph.op(twin ? "Mul" : "Add", {x, graph.scalar(1.5f)}));
  return graph.build();
}

/// Small nodes with free extents.
frazil::Model chain100(bool twin) {
  GraphBuilder graph("chain");
  Random random(1, "chain");
  const Net net(graph, random);
  Term y = graph.input("x", Dtype::f32, {"b", "n"});
  for (int k = 0; k < 50; ++k) {
    if (twin) y = net.op("Transpose", {y}, {{"perm", {1, 0}}});
    y = net.op(twin ? "Reciprocal" : "Neg", {y});
    if (!twin) y = net.op("Transpose", {y}, {{"perm", {1, 0}}});
  }
  graph.output("y", net.op("Identity", {y}));
  return graph.build();
}

frazil::Model mlp_tiny(bool twin) {
  GraphBuilder graph("mlp");
  Random random(2, "mlp");
  const Net net(graph, random);
  const std::int64_t width = twin ? 24 : 32;
  Term y = graph.input("x", Dtype::f32, {"b", width});
  for (int k = 0; k < (twin ? 40 : 50); ++k) {
    y = net.op(twin ? "LeakyRelu" : "Relu", {net.linear(y, width, width, twin)});
  }
  graph.output("y", net.op("Identity", {y}));
  return graph.build();
}

/// Three rounds of ten operators each, some expensive, with operands that broadcast along rows and columns.
frazil::Model elementwise(const std::vector<Extent>& shape, const Sizes& row, const Sizes& column, bool twin) {
  GraphBuilder graph("elementwise");
  Random random(3, "elementwise");
  const Net net(graph, random);
  const Term x = graph.input("x", Dtype::f32, shape);
  Term y = x;
  for (int k = 0; k < 3; ++k) {
    if (twin) {
      y = net.op("Mul", {net.weight(column, 1), y});
      y = net.op("Tanh", {net.op("Sub", {y, net.weight(row, 1)})});
      y = net.op("Min", {net.op("Neg", {y}), x});
      y = net.op("Add", {net.f(0.25), net.op("Mul", {x, y})});
      y = net.op("Sigmoid", {net.op("Max", {y, net.weight(row, 0.1)})});
      y = net.op("Mul", {y, net.f(1.3)});
    } else {
      y = net.op("Sigmoid", {net.op("Mul", {net.op("Add", {y, net.weight(row, 1)}), net.weight(column, 1)})});
      y = net.op("Relu", {net.op("Sub", {y, net.f(0.5)})});
      y = net.op("Abs", {net.op("Tanh", {net.op("Mul", {y, x})})});
      y = net.op("Div", {net.op("Max", {y, net.weight(row, 0.1)}), net.f(1.7)});
    }
  }
  graph.output("y", net.op("Identity", {y}));
  return graph.build();
}

frazil::Model ew_1024(bool twin) {
  if (twin) return elementwise({768, 1280}, {1280}, {768, 1}, true);
  return elementwise({1024, 1024}, {1024}, {1024, 1}, false);
}

/// With any number of rows.
frazil::Model ew_free(bool twin) {
  const std::int64_t width = twin ? 80 : 64;
  return elementwise({"n", width}, {width}, {1}, twin);
}

frazil::Model ew_64(bool twin) { return elementwise({twin ? 80 : 64}, {twin ? 80 : 64}, {1}, twin); }

/// Thirty cheap operators.
frazil::Model ewc_1024(bool twin) {
  GraphBuilder graph("cheap");
  Random random(4, "cheap");
  const Net net(graph, random);
  const std::int64_t rows = twin ? 1280 : 1024, width = twin ? 768 : 1024;
  const Term x = graph.input("x", Dtype::f32, {rows, width});
  Term y = x;
  for (int k = 0; k < 5; ++k) {
    if (twin) {
      y = net.op("Mul", {net.f(0.8), net.op("Sub", {x, y})});
      y = net.op("Abs", {net.op("Add", {net.weight({width}, 1), y})});
      y = net.op("Add", {x, net.op("Min", {y, net.f(2.5)})});
    } else {
      y = net.op("Mul", {net.op("Add", {y, net.weight({width}, 1)}), net.f(0.9)});
      y = net.op("Relu", {net.op("Sub", {y, x})});
      y = net.op("Add", {net.op("Max", {y, net.f(0.01)}), x});
    }
  }
  graph.output("y", net.op("Identity", {y}));
  return graph.build();
}

frazil::Model ln_softmax(bool twin) {
  GraphBuilder graph("rows");
  Random random(5, "rows");
  const Net net(graph, random);
  const std::int64_t width = twin ? 1024 : 768;
  const Term x = graph.input("x", Dtype::f32, {"n", width});
  Term y = x;
  for (int k = 0; k < (twin ? 3 : 4); ++k) {
    const Term soft = net.op("Mul", {net.op("Softmax", {net.norm(y, width, twin)}, {{"axis", -1}}), net.f(50)});
    y = net.op("Add", twin ? Terms{x, soft} : Terms{soft, x});
  }
  graph.output("y", net.norm(y, width, twin));
  return graph.build();
}

/// Rows whose first element is positive, a product of them, and their sum.
frazil::Model nonzero_gather(bool twin) {
  GraphBuilder graph("rows_found");
  Random random(6, "rows_found");
  const Net net(graph, random);
  const std::int64_t width = twin ? 96 : 64, out = twin ? 192 : 256;
  const Term x = graph.input("x", Dtype::f32, {"n", width});
  const Term first =
      net.op("Squeeze", {net.op("Slice", {x, net.ints({0}), net.ints({1}), net.ints({1})}), net.ints({1})});
  const Term found =
      net.op("NonZero", {twin ? net.op("Less", {first, net.f(0)}) : net.op("Greater", {first, net.f(0)})});
  const Term rows = net.op("Gather", {x, net.op("Squeeze", {found, net.ints({0})})}, {{"axis", 0}});
  const Term y = net.op(twin ? "Abs" : "Relu", {net.op("MatMul", {rows, net.weight({width, out})})});
  graph.output("y", net.op("ReduceSum", {y, net.ints({0})}, {{"keepdims", 0}}));
  return graph.build();
}

frazil::Model topk(bool) {
  GraphBuilder graph("topk");
  const Term x = graph.input("x", Dtype::f32, {"b", "n"}), k = graph.input("k", Dtype::i64, {1});
  const Terms found = graph.ops("TopK", {x, k}, {{"axis", -1}}, 2);
  graph.output("v", found[0]);
  graph.output("idx", found[1]);
  return graph.build();
}

frazil::Model nms(bool twin) {
  GraphBuilder graph("nms");
  Random random(7, "nms");
  const Net net(graph, random);
  const Term boxes = graph.input("boxes", Dtype::f32, {1, "n", 4}),
             scores = graph.input("scores", Dtype::f32, {1, "c", "n"});
  const auto one = [&](double v) { return graph.constant(Array::of<float>({1}, {static_cast<float>(v)})); };
  const Term kept = net.op("NonMaxSuppression",
                           {boxes, scores, net.ints({twin ? 80 : 100}), one(twin ? 0.45 : 0.5), one(twin ? 0.25 : 0.3)},
                           {{"center_point_box", 1}});
  const Term box =
      net.op("Squeeze", {net.op("Slice", {kept, net.ints({2}), net.ints({3}), net.ints({1})}), net.ints({1})});
  graph.output("sel", net.op("Gather", {boxes, box}, {{"axis", 1}}));
  graph.output("ss", net.op("GatherND", {scores, kept}));
  return graph.build();
}

constexpr ModelMaker kPlain[] = {
    {"floor_add", floor_add},
    {"chain100", chain100},
    {"mlp_tiny", mlp_tiny},
    {"ew_1024", ew_1024},
    {"ew_64", ew_64},
    {"ew_free", ew_free},
    {"ewc_1024", ewc_1024},
    {"ln_softmax", ln_softmax},
    {"nonzero_gather", nonzero_gather},
    {"topk", topk},
    {"nms", nms},
};

const ModelMaker& maker_of(std::string_view name) {
  for (const auto models :
       {plain_models(), loop_models(), net_models(), convnet_models(), decoder_models(), expert_models()}) {
    for (const ModelMaker& maker : models) {
      if (maker.name == name) return maker;
    }
  }
  throw std::runtime_error("no model " + std::string(name));
}

/// Models that are not built but given.
struct Given {
  std::string_view name;
  const char *variable, *path;  ///< the path is in the folder of shared files
};
constexpr Given kGiven[] = {
    {"silero", "FRAZIL_SILERO", "models/silero_vad/model.onnx"},
    {"face_detector", "FRAZIL_FACE_DETECTOR", "models/face_detector/model.onnx"},
};

/// Quantised forms of built models, with ranges from the requests of a workload.
struct Derived {
  std::string_view name, from;
  Quantise how;
  std::string_view twin_inputs;  ///< requests from which the twin's ranges are taken
};
constexpr std::string_view kTwinOfBert = "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96";
constexpr Derived kDerived[] = {
    {"resnet50_int8", "resnet50", Quantise::fixed, "gpu_0/data_0=1x3x224x224"},
    {"bert_base_int8", "bert_base", Quantise::products, kTwinOfBert},
    {"bert_base_dynamic", "bert_base", Quantise::dynamic, kTwinOfBert},
};

std::string_view inputs_of(std::string_view name) {
  for (const Workload& workload : kWorkloads) {
    if (workload.name == name) return workload.inputs;
  }
  return {};
}

std::string given_file(const Given& given) {
  if (const char* path = std::getenv(given.variable)) return path;
  const char* shared = std::getenv("FRAZIL_SHARED");
  return std::filesystem::path(shared ? shared : "../shared") / given.path;
}

}  // namespace

std::span<const ModelMaker> plain_models() { return kPlain; }

namespace {

bool is_new(const std::string& path) {
  namespace fs = std::filesystem;
  return fs::exists(path) && fs::last_write_time(path) >= fs::last_write_time(self_path());
}

std::string derived_file(const std::string& folder, const Derived& derived, bool twin) {
  const std::string from = model_file(folder, derived.from, twin);
  const std::string path = folder + "/" + std::string(derived.name) + (twin ? "_twin" : "") + ".onnx";
  if (!is_new(path)) quantise_model(from, derived.how, twin ? derived.twin_inputs : inputs_of(derived.from), path);
  return path;
}

}  // namespace

std::string model_file(const std::string& folder, std::string_view name, bool twin) {
  namespace fs = std::filesystem;
  for (const Derived& derived : kDerived) {
    if (derived.name == name) return derived_file(folder, derived, twin);
  }
  for (const Given& given : kGiven) {
    if (given.name == name) return given_file(given);
  }
  const ModelMaker& maker = maker_of(name);
  const std::string path = folder + "/" + std::string(name) + (twin ? "_twin" : "") + ".onnx";
  if (is_new(path)) return path;
  fs::create_directories(folder);
  maker.make(twin).save(path);
  return path;
}

}  // namespace bench
