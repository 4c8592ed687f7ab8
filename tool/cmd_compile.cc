#include <filesystem>
#include <memory>

#include "base/knobs.h"
#include "exec/code_maker.h"
#include "exec/executable.h"
#include "exec/package.h"
#include "exec/session.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/report.h"
#include "tool/requests.h"

namespace frazil::tool {
namespace {

struct CompileOptions {
  Common common;
  RequestOptions requests;
  std::string model, output;
  std::vector<std::string> shapes;
};

/// What is left of `text` up to the separator, which goes as well.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

/// Of --shapes, one list for each input that is named: the requests that they make together, each an --input list.
Result<std::vector<std::vector<std::string>>> requests_of(const std::vector<std::string>& shapes) {
  std::vector<std::vector<std::string>> requests;
  for (std::string_view text : shapes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(Code::bad_input, "--shapes: expected NAME=SHAPE;SHAPE..., got '{}'", text);
    }
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::vector<std::string> specs;
    do specs.push_back(fmt::format("{}={}", name, take_until(text, ';')));
    while (!text.empty());
    if (requests.empty()) requests.resize(specs.size());
    if (requests.size() != specs.size()) {
      return fail(Code::bad_input, "--shapes: '{}' has {} shapes, the input before it {}", name, specs.size(),
                  requests.size());
    }
    for (std::size_t i = 0; i < specs.size(); ++i) requests[i].push_back(specs[i]);
  }
  return requests;
}

/// Enough runs for loops, bodies and the plan to get their code.
Status warm(Session& session, const ValueSource& source, const RequestOptions& options) {
  constexpr int kRuns = 3;
  FRAZIL_TRY(Requests requests, Requests::make(source, options));
  FRAZIL_CHECK(requests.preload());
  for (int run = 0; run < kRuns; ++run) {
    for (;;) {
      FRAZIL_TRY(const auto inputs, requests.next());
      if (!inputs) break;
      FRAZIL_TRY(const auto outputs, session.run(*inputs));
      requests.done(outputs);
    }
    requests.restart();
  }
  return {};
}

Result<int> compile(const CompileOptions& options) {
  FRAZIL_CHECK(prepare(options.common));
  FRAZIL_TRY(const auto shapes, requests_of(options.shapes));
  FRAZIL_TRY(const auto graph, load_graph(options.model, load_limits_of(options.common)));
  const ValueSource source(*graph, options.common.seed, static_cast<std::size_t>(options.common.limits.memory_bytes));
  exec::keep_known_code();
  FRAZIL_TRY(const auto model, Executable::make(graph, {.passes = knobs()->passes}));
  FRAZIL_TRY(Graph packed, exec::graph_of_package(*model));
  const auto tier = options.common.tier == "auto" ? exec::Tier::specialised : exec::tier_named(options.common.tier);
  FRAZIL_TRY(const auto executable,
             Executable::make(std::make_shared<const Graph>(std::move(packed)),
                              {.passes = exec::passes_of_package(), .tier = tier.value_or(exec::Tier::interpreted)}));
  const auto session = open_session(*executable, options.common);
  for (const auto& inputs : shapes) {
    RequestOptions request = options.requests;
    request.inputs.insert(request.inputs.end(), inputs.begin(), inputs.end());
    FRAZIL_CHECK(warm(*session, source, request));
  }
  const bool given = !options.requests.inputs.empty() || !options.requests.stream.empty();
  if (shapes.empty() && given) FRAZIL_CHECK(warm(*session, source, options.requests));
  FRAZIL_CHECK(exec::write_package(options.output, *executable, options.shapes));
  const auto bytes = std::filesystem::file_size(options.output);
  if (options.common.json) {
    print_json({{"output", options.output}, {"bytes", bytes}, {"objects", exec::known_code().size()}});
  } else {
    print_line(fmt::format("{}: {:.1f} MB, {} objects of generated code", options.output,
                           static_cast<double>(bytes) / 1e6, exec::known_code().size()));
  }
  return kDone;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Pack a model, its weights and its code into one file for this machine");
  command->add_option("MODEL", options->model, "An ONNX file")->required();
  command->add_option("-o,--output", options->output, "The package, MODEL.frzc")->required();
  command
      ->add_option("--shapes", options->shapes,
                   "NAME=SHAPE;SHAPE...: shapes of an input to compile for, with random values; the first ones of "
                   "all inputs make one request, and so on; repeat for each input")
      ->type_name("NAME=SHAPES");
  add_requests(*command, options->requests);
  add_common(*command, options->common);
  command->footer(
      "run, bench, profile and inspect take the package like a model. It holds what runs on the given inputs needed: "
      "give\n"
      "--shapes, or --input and --stream where values matter. Without any it holds no code.\n"
      "Examples:\n"
      "  frazil compile model.onnx -o model.frzc --shapes 'x=1x37;1x64'\n"
      "  frazil compile model.onnx -o model.frzc --input ids=1x128:0..1000");
  command->callback([options, &action] { action = [options] { return compile(*options); }; });
}

}  // namespace frazil::tool
