#include <filesystem>
#include <memory>

#include "tool/commands.h"
#include "tool/compile_model.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct CompileOptions {
  Common common;
  RequestOptions requests;
  std::string model, output;
  std::vector<std::string> shapes;
};

int compile(const CompileOptions& options) {
  prepare(options.common);
  const std::size_t objects =
      compile_model(options.model, options.output, options.requests, options.shapes, options.common);
  const auto bytes = std::filesystem::file_size(options.output);
  if (options.common.json) {
    print_json({{"output", options.output}, {"bytes", bytes}, {"objects", objects}});
  } else {
    print_line(fmt::format("{}: {:.1f} MB, {} objects of generated code", options.output,
                           static_cast<double>(bytes) / 1e6, objects));
  }
  return kDone;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Pack a model, its weights and its code into one file for this machine");
  command->add_option("MODEL", options->model, "An ONNX file")->required();
  command->add_option("-o,--output", options->output, "The package to write, MODEL.frzc")
      ->group(group::kOutput)
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--shapes", options->shapes,
                   "Shapes of an input to compile for, as x=1x37;1x64, with random values. The first shapes of all "
                   "inputs make one request, and so on")
      ->group(group::kInputs)
      ->type_name("NAME=SHAPES");
  add_requests(*command, options->requests);
  add_common(*command, options->common);
  command->footer(
      "'run', 'bench', 'profile' and 'inspect' take the package like a model. It holds the code that runs on the given "
      "inputs needed: give --shapes, or --input and --stream where values matter. Without inputs it holds no code.\n"
      "\n"
      "Examples:\n"
      "  frazil compile model.onnx -o model.frzc --shapes 'x=1x37;1x64'\n"
      "  frazil compile model.onnx -o model.frzc --input ids=1x128:0..1000");
  command->callback([options, &action] { action = [options] { return compile(*options); }; });
}

}  // namespace frazil::tool
