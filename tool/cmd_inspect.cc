#include <map>
#include <memory>

#include "api/dot.h"
#include "api/type_text.h"
#include "base/os/knobs.h"
#include "base/value/text.h"
#include "exec/native/backend.h"
#include "exec/native/compile_thread.h"
#include "exec/native/explain_tiers.h"
#include "exec/run/executable.h"
#include "ir/graph/model_info.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/measure.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"

namespace frazil::tool {
namespace {

struct InspectOptions {
  std::string model;
  bool text = false, plan = false, dot = false, tiers = false, json = false;
  RequestOptions requests;
  Loading loading;
};

/// Statistics of the graph over all blocks.
struct Contents {
  std::map<std::string, std::size_t> operators;
  std::size_t nodes = 0, blocks = 0, constants = 0, constant_bytes = 0;
};

Contents contents_of(const Graph& graph) {
  Contents c;
  c.blocks = graph.block_count();
  for (const NodeId id : graph.nodes()) {
    ++c.nodes;
    ++c.operators[std::string(graph.node(id).op->name)];
  }
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    if (const Constant* constant = graph.constant(Value{v})) {
      ++c.constants;
      c.constant_bytes += constant->tensor.bytes();
    }
  }
  return c;
}

Json typed_ports_json(const Graph& graph, const std::vector<Value>& values, const std::vector<std::string>& names) {
  Json json = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type& type = graph.type(values[i]);
    Json port{{"name", names[i]}, {"type", str(type, graph.scope())}};
    if (type.is_tensor() && type.ranked) {
      port["elem"] = name_of(type.elem);
      port["shape"] = Json::array();
      for (const Dim d : type.shape) {
        port["shape"].push_back(d.is_const() ? Json(d.value()) : Json(graph.scope().str(d)));
      }
    }
    json.push_back(std::move(port));
  }
  return json;
}

Json json_of_properties(const Properties& properties) {
  Json json = Json::array();
  for (const auto& [key, text] : properties) json.push_back({{"key", key}, {"value", text}});
  return json;
}

Json json_of_notes(const Notes& notes) {
  return {{"doc", notes.doc}, {"metadata", json_of_properties(notes.metadata)}};
}

/// Returns the notes of nodes that still exist.
Json node_notes(const Graph& graph) {
  Json json = Json::array();
  for (const NodeId id : graph.nodes()) {
    const auto found = graph.info->nodes.find(graph.node(id).stable);
    if (found == graph.info->nodes.end()) continue;
    Json entry = json_of_notes(found->second);
    entry["node"] = graph.node(id).name;
    json.push_back(std::move(entry));
  }
  return json;
}

/// Returns the metadata of the model.
Json info_json(const Graph& graph) {
  const ModelInfo& info = *graph.info;
  Json opsets = Json::array(), values = Json::array(), quantization = Json::array();
  for (const auto& [domain, version] : info.opsets) opsets.push_back({{"domain", domain}, {"version", version}});
  for (const auto& [name, notes] : info.values) {
    Json entry = json_of_notes(notes);
    entry["value"] = name;
    values.push_back(std::move(entry));
  }
  for (const auto& [tensor, parameters] : info.quantization) {
    quantization.push_back({{"value", tensor}, {"parameters", json_of_properties(parameters)}});
  }
  return {{"ir_version", info.ir_version},
          {"model_version", info.model_version},
          {"producer", info.producer},
          {"producer_version", info.producer_version},
          {"domain", info.domain},
          {"opsets", std::move(opsets)},
          {"model", json_of_notes(info.model)},
          {"graph", json_of_notes(info.graph)},
          {"nodes", node_notes(graph)},
          {"values", std::move(values)},
          {"quantization", std::move(quantization)}};
}

Json json_of_graph(const Graph& graph) {
  const Contents c = contents_of(graph);
  Json inputs = typed_ports_json(graph, graph.main().params, graph.input_names());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i]["optional"] = graph.input_default(i) != nullptr;
  return {{"name", graph.name},
          {"inputs", std::move(inputs)},
          {"outputs", typed_ports_json(graph, graph.main().results, graph.output_names())},
          {"nodes", c.nodes},
          {"blocks", c.blocks},
          {"constants", c.constants},
          {"constant_bytes", c.constant_bytes},
          {"operators", c.operators},
          {"info", graph.info && graph.info->ir_version > 0 ? info_json(graph) : Json()}};
}

void print_ports(std::string_view title, const Graph& graph, const std::vector<Value>& values,
                 const std::vector<std::string>& names) {
  print_line(title);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool optional = title == "inputs" && graph.input_default(i) != nullptr;
    print_line(fmt::format("  {}  {}{}", printable(names[i]), api::type_text(graph.type(values[i]), graph.scope()),
                           optional ? "  (has a default)" : ""));
  }
}

void print_summary(const Graph& graph) {
  const Contents c = contents_of(graph);
  print_line(fmt::format("{}: {} nodes in {} blocks, {} constants of {:.3f} MB", printable(graph.name), c.nodes,
                         c.blocks, c.constants, static_cast<double>(c.constant_bytes) / 1e6));
  print_ports("inputs", graph, graph.main().params, graph.input_names());
  print_ports("outputs", graph, graph.main().results, graph.output_names());
  print_line("operators");
  for (const auto& [name, count] : c.operators) print_line(fmt::format("  {:>5}  {}", count, name));
}

void print_tiers() {
  print_line("ref  the reference executor: simple and slow");
  print_line("0    the plan on kernels compiled ahead of time");
  if (const auto module = exec::native_module(); module) {
    print_line(
        fmt::format("1    the same with bodies of fused kernels compiled by {}", exec::describe_native_module()));
    print_line("2    the same with loops, branches and small steps of the plan compiled as well, for the extents seen");
    print_line("auto 0 at first; what takes time gets the code of 1 and 2 in the background");
  } else {
    print_line(fmt::format("1, 2 not available: {}", module.error().text()));
    print_line("auto 0, as no code is generated; code that is stored in the cache or a package runs");
  }
}

/// Runs the requests until compilation has settled.
Status warm_up(Session& session, Requests& requests) {
  constexpr double kSeconds = 0.02;
  for (int round = 0; round < 3; ++round) {
    const double end = now() + kSeconds;
    do FRAZIL_CHECK(timed_pass(session, requests, nullptr));
    while (now() < end);
    exec::CompileThread::instance().wait_until_idle();
  }
  return {};
}

/// Prints the state of the tiers after some runs.
Status print_compiled(const std::shared_ptr<const Graph>& graph, const InspectOptions& options) {
  const exec::Options how{.passes = knobs()->passes, .verify = knobs()->verify, .tier = exec::Tier::adaptive};
  FRAZIL_TRY(const auto executable, plan_within(load_bounds_of(options.loading), graph, how));
  const ValueSource source(*graph, 0, static_cast<std::size_t>(Limits{}.memory_bytes));
  FRAZIL_TRY(auto requests, Requests::make(source, options.requests));
  FRAZIL_CHECK(requests.preload());
  const auto session = executable->open();
  FRAZIL_CHECK(warm_up(*session, requests));
  print_line(exec::explain_tiers(*executable));
  const exec::Counters& c = session->counters();
  print_line(fmt::format("{} runs entered code of the plan {} times and left it {} times as a guard missed", c.runs,
                         c.entered, c.missed));
  return {};
}

Result<int> inspect(const InspectOptions& options) {
  FRAZIL_TRY(const auto graph, load_graph(options.model, load_bounds_of(options.loading)));
  if (options.json) {
    print_json(json_of_graph(*graph));
  } else if (options.tiers) {
    print_tiers();
    if (!options.requests.inputs.empty() || !options.requests.stream.empty())
      FRAZIL_CHECK(print_compiled(graph, options));
  } else if (options.plan) {
    const exec::Options how{.passes = knobs()->passes, .verify = knobs()->verify};
    FRAZIL_TRY(const auto executable, plan_within(load_bounds_of(options.loading), graph, how));
    print_line(executable->explain());
  } else if (options.text) {
    print_line(print(*graph));
  } else if (options.dot) {
    print_line(api::dot_of(*graph));
  } else {
    print_summary(*graph);
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Show a model's inputs, outputs and contents");
  add_model(*command, options->model);
  auto* views = command->add_option_group("views", "One at most");
  views->option_defaults()->group(group::kOutput);
  views->add_flag("--text", options->text, "The graph in Frazil's text form");
  views->add_flag("--plan", options->plan, "The plan: passes, steps, slots, memory");
  views->add_flag("--dot", options->dot, "The graph for Graphviz");
  views->add_flag("--tiers", options->tiers,
                  "The tiers of this build and, with inputs, the tier of each step after some runs");
  views->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout");
  views->require_option(0, 1);
  add_requests(*command, options->requests);
  add_load_limits(*command, options->loading);
  command->footer(
      "At most one of --text, --plan, --dot, --tiers and --json may be given.\n"
      "\n"
      "Examples:\n"
      "  frazil inspect model.onnx\n"
      "  frazil inspect model.onnx --tiers --input x=1x64\n"
      "  frazil inspect model.onnx --dot | dot -Tsvg > model.svg");
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace frazil::tool
