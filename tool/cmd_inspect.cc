#include <map>
#include <memory>

#include <fmt/format.h>
#include <frazil/graph.h>
#include <frazil/native.h>
#include <frazil/text.h>

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
  api::LoadOptions load;
};

/// Statistics of the graph over all blocks.
struct Contents {
  std::map<std::string, std::size_t> operators;
  std::size_t nodes = 0, blocks = 0, constants = 0, constant_bytes = 0;
};

Contents contents_of(const Model& model) {
  const api::GraphView graph(model);
  Contents c;
  c.blocks = graph.block_count();
  for (const std::uint32_t id : graph.nodes()) {
    ++c.nodes;
    ++c.operators[graph.node(id).op];
  }
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    if (const auto bytes = graph.constant_bytes(v)) {
      ++c.constants;
      c.constant_bytes += *bytes;
    }
  }
  return c;
}

Json json_of_ports(const std::vector<Port>& ports) {
  Json json = Json::array();
  for (const Port& port : ports) {
    Json entry{{"name", port.name}, {"type", port.full_type}};
    const bool may_be_absent = port.optional && !port.has_default;
    if (port.kind == Array::Kind::tensor && port.ranked && !may_be_absent) {
      entry["elem"] = name_of(port.dtype);
      entry["shape"] = Json::array();
      for (std::size_t i = 0; i < port.dims.size(); ++i) {
        entry["shape"].push_back(port.extents[i] >= 0 ? Json(port.extents[i]) : Json(port.dims[i]));
      }
    }
    json.push_back(std::move(entry));
  }
  return json;
}

using Note = api::Annotations::Note;

Json json_of_properties(const Note& note) {
  Json json = Json::array();
  for (const auto& [key, text] : note.properties) json.push_back({{"key", key}, {"value", text}});
  return json;
}

Json json_of_note(const Note& note) { return {{"doc", note.doc}, {"metadata", json_of_properties(note)}}; }

/// Returns notes with their subject under the key `what`.
Json json_of_notes(const std::vector<Note>& notes, const char* what) {
  Json json = Json::array();
  for (const Note& note : notes) {
    Json entry = json_of_note(note);
    entry[what] = note.subject;
    json.push_back(std::move(entry));
  }
  return json;
}

/// Returns the metadata of the model; null if it is not from a file.
Json info_json(const Model& model) {
  const api::Metadata data = model.metadata();
  if (data.ir_version <= 0) return {};
  const api::Annotations info = api::annotations(model);
  Json opsets = Json::array(), quantization = Json::array();
  for (const auto& [domain, version] : info.opsets) opsets.push_back({{"domain", domain}, {"version", version}});
  for (const Note& note : info.quantization) {
    quantization.push_back({{"value", note.subject}, {"parameters", json_of_properties(note)}});
  }
  return {{"ir_version", data.ir_version},
          {"model_version", data.model_version},
          {"producer", data.producer},
          {"producer_version", data.producer_version},
          {"domain", data.domain},
          {"opsets", std::move(opsets)},
          {"model", json_of_note(info.model)},
          {"graph", json_of_note(info.graph)},
          {"nodes", json_of_notes(info.nodes, "node")},
          {"values", json_of_notes(info.values, "value")},
          {"quantization", std::move(quantization)}};
}

Json json_of_model(const Model& model) {
  const Contents c = contents_of(model);
  Json inputs = json_of_ports(model.inputs());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i]["optional"] = model.inputs()[i].has_default;
  return {{"name", model.name()},
          {"inputs", std::move(inputs)},
          {"outputs", json_of_ports(model.outputs())},
          {"nodes", c.nodes},
          {"blocks", c.blocks},
          {"constants", c.constants},
          {"constant_bytes", c.constant_bytes},
          {"operators", c.operators},
          {"info", info_json(model)}};
}

void print_ports(std::string_view title, const std::vector<Port>& ports) {
  print_line(title);
  for (const Port& port : ports) {
    print_line(
        fmt::format("  {}  {}{}", api::printable(port.name), port.type, port.has_default ? "  (has a default)" : ""));
  }
}

void print_summary(const Model& model) {
  const Contents c = contents_of(model);
  print_line(fmt::format("{}: {} nodes in {} blocks, {} constants of {:.3f} MB", api::printable(model.name()), c.nodes,
                         c.blocks, c.constants, static_cast<double>(c.constant_bytes) / 1e6));
  print_ports("inputs", model.inputs());
  print_ports("outputs", model.outputs());
  print_line("operators");
  for (const auto& [name, count] : c.operators) print_line(fmt::format("  {:>5}  {}", count, name));
}

void print_tiers() {
  print_line("ref  the reference executor: simple and slow");
  print_line("0    the plan on kernels compiled ahead of time");
  const api::CodeGenerator generator = api::code_generator();
  if (generator.missing.empty()) {
    print_line(fmt::format("1    the same with bodies of fused kernels compiled by {}, {}", generator.version,
                           generator.file));
    print_line("2    the same with loops, branches and small steps of the plan compiled as well, for the extents seen");
    print_line("auto 0 at first; what takes time gets the code of 1 and 2 in the background");
  } else {
    print_line(fmt::format("1, 2 not available: {}", generator.missing));
    print_line("auto 0, as no code is generated; code that is stored in the cache or a package runs");
  }
}

/// Prints the state of the tiers after some runs.
void print_compiled(const Model& model, const InspectOptions& options) {
  const ValueSource source(model, 0, api::with_environment(api::Options{}).memory_limit.value());
  Requests requests = Requests::make(source, options.requests);
  requests.preload();
  Session session = model.open({.tier = "adaptive"});
  settle([&] { timed_pass(session, requests, nullptr); });
  print_line(session.explain());
  const api::Counters c = session.counters();
  print_line(fmt::format("{} runs entered code of the plan {} times and left it {} times as a guard missed", c.runs,
                         c.entered, c.missed));
}

int inspect(const InspectOptions& options) {
  const Model model = load_model(options.model, options.load);
  if (options.json) {
    print_json(json_of_model(model));
  } else if (options.tiers) {
    print_tiers();
    if (!options.requests.inputs.empty() || !options.requests.stream.empty()) print_compiled(model, options);
  } else if (options.plan) {
    print_line(model.explain());
  } else if (options.text) {
    print_line(model.text());
  } else if (options.dot) {
    print_line(model.dot());
  } else {
    print_summary(model);
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
  add_load_limits(*command, options->load);
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
