#include <algorithm>
#include <filesystem>
#include <memory>

#include <frazil/debug.h>
#include <frazil/graph.h>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/compare_ways.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"
#include "tool/save.h"

namespace frazil::tool {
namespace {

namespace fs = std::filesystem;
using api::Divergence;
using api::Recording;

/// The options of both commands.
struct CompareOptions {
  Common common;
  RequestOptions requests;
  std::string a, b, tier_a, tier_b, numerics_a, numerics_b, output, plot;
  api::Closeness closeness;
  bool ways = false;
};

/// Returns the options of one side.
Common side_of(const CompareOptions& options, const std::string& tier, const std::string& numerics) {
  Common side = options.common;
  if (!tier.empty()) side.tier = tier;
  if (!numerics.empty()) side.numerics = numerics;
  return side;
}

std::vector<Array> inputs_of(const Model& model, const CompareOptions& options) {
  const ValueSource source(model, options.common.run.seed, options.common.memory_limit());
  Requests requests = Requests::make(source, options.requests);
  auto inputs = requests.next();
  if (!inputs) fail(Code::bad_input, "--stream: it has no request");
  return *std::move(inputs);
}

/// Reads the values stored as NAME.npy, for the names of the other side.
Recording stored(const std::string& folder, const Recording& other) {
  Recording recording;
  for (const Recording::Value& made : other.values) {
    const fs::path path = fs::path(folder) / (file_name_of(made.name) + ".npy");
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    recording.values.push_back({.name = made.name, .value = Array::read_npy(path.string())});
  }
  if (recording.values.empty()) fail(Code::bad_input, "'{}' has no file NAME.npy of a value", folder);
  return recording;
}

std::string place_of(const Divergence& d) {
  std::string iterations;
  for (const std::int64_t i : d.iterations) iterations += fmt::format("{}{}", iterations.empty() ? "" : ", ", i);
  return fmt::format("{}{}value '{}'", d.node,
                     d.node.empty()       ? ""
                     : iterations.empty() ? ": "
                                          : fmt::format(", iteration {}: ", iterations),
                     d.value);
}

bool differs(const Divergence& d) { return d.differ > 0; }

Json json_of_comparison(const Divergence& c) {
  Json json{{"compared", c.compared},
            {"differ", c.differ},
            {"only_a", c.only_a},
            {"only_b", c.only_b},
            {"inconclusive", c.inconclusive}};
  if (differs(c)) {
    json["first"] = {{"value", c.value}, {"node", c.node}, {"iterations", c.iterations}, {"what", c.what}};
  }
  return json;
}

int print_outcome(const Divergence& c, bool json) {
  if (json) {
    print_json(json_of_comparison(c));
  } else {
    print_line(fmt::format("{} values compared, {} differ; {} only in A, {} only in B", c.compared, c.differ, c.only_a,
                           c.only_b));
    if (differs(c)) print_line(fmt::format("first: {}: {}", one_line(place_of(c)), one_line(c.what)));
    if (c.inconclusive) print_line("inconclusive: most values of A and of B have no counterpart of the same name");
  }
  return differs(c) || c.inconclusive ? kFailed : kDone;
}

/// Prints the failures if the sides differ in them. If both fail with the same code, throws that error.
int tell_failures(const Recording& a, const Recording& b, bool json) {
  const auto text = [](const Recording& r) { return r.error ? one_line(r.error->what()) : "runs"; };
  if (a.error && b.error && a.error->code() == b.error->code()) throw *a.error;
  if (json) {
    print_json({{"a", text(a)}, {"b", text(b)}});
  } else {
    print_line(fmt::format("A: {}\nB: {}", text(a), text(b)));
  }
  return kFailed;
}

/// Returns the options of both sides of a comparison of `models` models.
std::pair<Common, Common> sides_of(const CompareOptions& options, int models) {
  std::pair<Common, Common> sides{
      side_of(options, options.tier_a, options.numerics_a),
      side_of(options, !options.tier_b.empty() || models == 2 ? options.tier_b : "ref", options.numerics_b)};
  prepare(sides.first);
  prepare(sides.second);
  return sides;
}

int compare_models(const CompareOptions& options) {
  prepare(options.common);
  if (options.ways) {
    if (!options.b.empty()) fail(Code::bad_input, "--ways compares one model with itself; B is not used");
    return compare_ways(options.a, options.requests, options.plot, options.common);
  }
  const bool two = !options.b.empty();
  const auto [side_a, side_b] = sides_of(options, two ? 2 : 1);
  const Model model = load_model(options.a, options.common);
  const auto inputs = inputs_of(model, options);
  const Recording a = api::record(model, named(model, inputs), session_options(side_a));
  Recording b;
  if (two && fs::is_directory(options.b)) {
    b = stored(options.b, a);
  } else {
    const Model other = two ? load_model(options.b, options.common) : model;
    b = api::record(other, named(other, two ? inputs_of(other, options) : inputs), session_options(side_b));
  }
  if (a.error || b.error) return tell_failures(a, b, options.common.json);
  const Divergence found = api::compare(a, b, options.closeness);
  if (found.compared == 0) fail(Code::bad_input, "the two have no value of the same name");
  return print_outcome(found, options.common.json);
}

int reduce_model(const CompareOptions& options) {
  prepare(options.common);
  const auto [side_a, side_b] = sides_of(options, 1);
  const Model model = load_model(options.a, options.common);
  const auto inputs = inputs_of(model, options);
  const api::Reduced reduced = api::reduce(model, named(model, inputs),
                                           {.a = session_options(side_a),
                                            .b = session_options(side_b),
                                            .rtol = options.closeness.rtol,
                                            .atol = options.closeness.atol,
                                            .of_largest = options.closeness.of_largest});
  reduced.model.save(options.output);
  const std::string folder = options.output + ".inputs";
  const OutputFolder to = OutputFolder::make(folder, reduced.model.inputs());
  to.save(reduced.inputs, std::nullopt);
  std::string command = "frazil compare " + options.output;
  Json files = Json::object();
  for (const Port& port : reduced.model.inputs()) {
    const std::string file = (fs::path(folder) / (file_name_of(port.name) + ".npy")).string();
    command += fmt::format(" --input '{}={}'", port.name, file);
    files[port.name] = file;
  }
  const std::size_t nodes = api::GraphView(reduced.model).nodes().size(), of = api::GraphView(model).nodes().size();
  if (options.common.json) {
    print_json({{"output", options.output},
                {"inputs", files},
                {"nodes", nodes},
                {"of", of},
                {"why", one_line(reduced.why)},
                {"command", command}});
    return kDone;
  }
  print_line(fmt::format("{} of {} nodes fail: {}", nodes, of, one_line(reduced.why)));
  print_line(command);
  return kDone;
}

void add_sides(CLI::App& app, CompareOptions& options) {
  add_requests(app, options.requests);
  app.option_defaults()->group(group::kExecution);
  const auto side = [&](const char* name, std::string& to, const char* text, const char* type, const char* usual) {
    app.add_option(name, to, text)->type_name(type)->default_str(usual);
  };
  side("--tier-a", options.tier_a, "The tier of A", "auto|ref|0|1|2", "that of --tier");
  side("--tier-b", options.tier_b, "The tier of B", "auto|ref|0|1|2",
       "ref for the same model, otherwise that of --tier");
  side("--numerics-a", options.numerics_a, "The numerics of A", "default|strict", "those of --numerics");
  side("--numerics-b", options.numerics_b, "The numerics of B", "default|strict", "those of --numerics");
  const auto tolerance = [&](const char* name, double& to, const char* text) {
    app.add_option(name, to, text)->type_name("X")->capture_default_str()->check(CLI::NonNegativeNumber);
  };
  tolerance("--rtol", options.closeness.rtol, "Relative tolerance");
  tolerance("--atol", options.closeness.atol, "Absolute tolerance");
  tolerance("--of-largest", options.closeness.of_largest,
            "Part of a tensor's largest magnitude that is added to the absolute tolerance");
  add_common(app, options.common);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compare every value of two models, or of two ways to run one: the first to differ");
  add_model(*command, options->a, "A");
  command->add_option("B", options->b, "Another model, or a folder with NAME.npy")->default_str("A on tier ref");
  add_sides(*command, *options);
  command
      ->add_flag("--ways", options->ways,
                 "Measure A dynamic (tier 0), hybrid (auto) and static (compiled beforehand) instead")
      ->group(group::kExecution);
  command->add_option("--plot", options->plot, "With --ways: the SVG file of each request's time")
      ->group(group::kOutput)
      ->type_name("FILE");
  command->footer(
      "Ends with 1 when a value differs, and when most values of both sides have no counterpart.\n"
      "\n"
      "Examples:\n"
      "  frazil compare model.onnx --input x=1x64\n"
      "  frazil compare model.onnx --numerics-a default --numerics-b strict --tier-b 0 --input x=1x64\n"
      "  frazil compare old.onnx new.onnx --input x=x.npy\n"
      "  frazil compare model.onnx stored/ --input x=x.npy\n"
      "  frazil compare --ways model.onnx --input x=1x64 --plot ways.svg");
  command->callback([options, &action] { action = [options] { return compare_models(*options); }; });
}

void add_reduce(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("reduce", "Cut the part out of a model that fails, with its inputs");
  command->add_option("MODEL", options->a, "An ONNX file that fails, or whose values differ between two tiers")
      ->required();
  command->add_option("--output,-o", options->output, "The ONNX file to write; inputs go to FILE.inputs/NAME.npy")
      ->group(group::kOutput)
      ->type_name("FILE")
      ->required();
  add_sides(*command, *options);
  command->footer(
      "Example:\n"
      "  frazil reduce model.onnx --input x=x.npy -o small.onnx");
  command->callback([options, &action] { action = [options] { return reduce_model(*options); }; });
}

}  // namespace frazil::tool
