#include <algorithm>
#include <filesystem>
#include <memory>

#include "debug/compare.h"
#include "debug/reduce.h"
#include "onnx/export/export.h"
#include "tensor/npy.h"
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
using debug::Comparison;
using debug::Recording;

/// The options of both commands.
struct CompareOptions {
  Common common;
  RequestOptions requests;
  std::string a, b, tier_a, tier_b, numerics_a, numerics_b, output, plot;
  debug::Closeness closeness;
  bool ways = false;
};

/// Returns the options of one side.
Common side_of(const CompareOptions& options, const std::string& tier, const std::string& numerics) {
  Common side = options.common;
  if (!tier.empty()) side.tier = tier;
  if (!numerics.empty()) side.numerics = numerics;
  return side;
}

debug::Backend ways_of(const Common& common) {
  return {[common](std::shared_ptr<const Graph> graph) { return make_executable(std::move(graph), common); },
          [common](Executable& executable) { return open_session(executable, common); }};
}

Result<std::vector<Datum>> inputs_of(const Graph& graph, const CompareOptions& options) {
  const ValueSource source(graph, options.common.seed, static_cast<std::size_t>(options.common.limits.memory_bytes));
  FRAZIL_TRY(Requests requests, Requests::make(source, options.requests));
  FRAZIL_TRY(auto inputs, requests.next());
  if (!inputs) return fail(Code::bad_input, "--stream: it has no request");
  return *std::move(inputs);
}

/// Reads the values stored as NAME.npy, for the names of the other side.
Result<Recording> stored(const std::string& folder, const Recording& other) {
  Recording recording;
  for (const auto& made : other.values) {
    const fs::path path = fs::path(folder) / (file_name_of(made.name) + ".npy");
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    FRAZIL_TRY(Tensor tensor, read_npy(path.string()));
    recording.values.push_back({made.name, {}, {}, Datum(std::move(tensor))});
  }
  if (recording.values.empty()) return fail(Code::bad_input, "'{}' has no file NAME.npy of a value", folder);
  return recording;
}

std::string place_of(const debug::Difference& d) {
  std::string iterations;
  for (const std::int64_t i : d.iterations) iterations += fmt::format("{}{}", iterations.empty() ? "" : ", ", i);
  return fmt::format("{}{}value '{}'", d.node,
                     d.node.empty()       ? ""
                     : iterations.empty() ? ": "
                                          : fmt::format(", iteration {}: ", iterations),
                     d.name);
}

Json json_of_comparison(const Comparison& c) {
  Json json{{"compared", c.compared},
            {"differ", c.apart},
            {"only_a", c.only_a},
            {"only_b", c.only_b},
            {"inconclusive", c.inconclusive()}};
  if (c.first) {
    json["first"] = {{"value", c.first->name},
                     {"node", c.first->node},
                     {"iterations", c.first->iterations},
                     {"what", c.first->what}};
  }
  return json;
}

int print_outcome(const Comparison& c, bool json) {
  if (json) {
    print_json(json_of_comparison(c));
  } else {
    print_line(fmt::format("{} values compared, {} differ; {} only in A, {} only in B", c.compared, c.apart, c.only_a,
                           c.only_b));
    if (c.first) print_line(fmt::format("first: {}: {}", one_line(place_of(*c.first)), one_line(c.first->what)));
    if (c.inconclusive()) print_line("inconclusive: most values of A and of B have no counterpart of the same name");
  }
  return c.first || c.inconclusive() ? kFailed : kDone;
}

/// Prints the failures if the sides differ in them. If both fail with the same code, returns that fault.
Result<int> tell_failures(const Recording& a, const Recording& b, bool json) {
  const auto text = [](const Recording& r) { return r.status ? "runs" : one_line(r.status.error().text()); };
  if (!a.status && !b.status && a.status.error().code == b.status.error().code) {
    return std::unexpected(a.status.error());
  }
  if (json) {
    print_json({{"a", text(a)}, {"b", text(b)}});
  } else {
    print_line(fmt::format("A: {}\nB: {}", text(a), text(b)));
  }
  return kFailed;
}

Result<int> compare_models(const CompareOptions& options) {
  FRAZIL_CHECK(prepare(options.common));
  if (options.ways) {
    if (!options.b.empty()) return fail(Code::bad_input, "--ways compares one model with itself; B is not used");
    return compare_ways(options.a, options.requests, options.plot, options.common);
  }
  const bool two = !options.b.empty();
  const Common side_a = side_of(options, options.tier_a, options.numerics_a);
  const Common side_b = side_of(options, !options.tier_b.empty() || two ? options.tier_b : "ref", options.numerics_b);
  FRAZIL_CHECK(prepare(side_a));
  FRAZIL_CHECK(prepare(side_b));
  FRAZIL_TRY(const auto graph, load_graph(options.a, load_bounds_of(options.common)));
  FRAZIL_TRY(const auto inputs, inputs_of(*graph, options));
  const std::uint64_t most = options.common.limits.memory_bytes;
  FRAZIL_TRY(const Recording a, record(graph, ways_of(side_a), inputs, most));
  Recording b;
  if (two && fs::is_directory(options.b)) {
    FRAZIL_TRY(b, stored(options.b, a));
  } else {
    auto other = graph;
    if (two) {
      FRAZIL_TRY(other, load_graph(options.b, load_bounds_of(options.common)));
    }
    FRAZIL_TRY(const auto theirs, inputs_of(*other, options));
    FRAZIL_TRY(b, record(other, ways_of(side_b), theirs, most));
  }
  if (!a.status || !b.status) return tell_failures(a, b, options.common.json);
  const Comparison comparison = compare(a, b, options.closeness);
  if (comparison.compared == 0) return fail(Code::bad_input, "the two have no value of the same name");
  return print_outcome(comparison, options.common.json);
}

Result<int> reduce_model(const CompareOptions& options) {
  FRAZIL_CHECK(prepare(options.common));
  const Common side_a = side_of(options, options.tier_a, options.numerics_a);
  const Common side_b = side_of(options, options.tier_b.empty() ? "ref" : options.tier_b, options.numerics_b);
  FRAZIL_CHECK(prepare(side_a));
  FRAZIL_CHECK(prepare(side_b));
  FRAZIL_TRY(const auto graph, load_graph(options.a, load_bounds_of(options.common)));
  FRAZIL_TRY(const auto inputs, inputs_of(*graph, options));
  const debug::BackendPair ways{ways_of(side_a), ways_of(side_b), options.closeness,
                                options.common.limits.memory_bytes};
  FRAZIL_TRY(const debug::Reduced reduced, debug::reduce(graph, ways, inputs));
  FRAZIL_CHECK(onnx::export_file(reduced.graph, options.output));
  const std::string folder = options.output + ".inputs";
  FRAZIL_TRY(const OutputFolder to, OutputFolder::make(folder, reduced.graph.input_names()));
  FRAZIL_CHECK(to.save(reduced.inputs, std::nullopt));
  std::string command = "frazil compare " + options.output;
  Json files = Json::object();
  for (const std::string& name : reduced.graph.input_names()) {
    const std::string file = (fs::path(folder) / (file_name_of(name) + ".npy")).string();
    command += fmt::format(" --input '{}={}'", name, file);
    files[name] = file;
  }
  if (options.common.json) {
    print_json({{"output", options.output},
                {"inputs", files},
                {"nodes", reduced.graph.node_count()},
                {"of", graph->node_count()},
                {"why", one_line(reduced.why)},
                {"command", command}});
    return kDone;
  }
  print_line(
      fmt::format("{} of {} nodes fail: {}", reduced.graph.node_count(), graph->node_count(), one_line(reduced.why)));
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
