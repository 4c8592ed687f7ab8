#include <memory>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct ConvertOptions {
  std::string from, to;
  std::int64_t opset = 0;
  std::size_t external_bytes = 0;
  api::LoadOptions load;
};

int convert(const ConvertOptions& options) {
  const api::Model model = load_model(options.from, options.load);
  api::SaveOptions how{.external_bytes = options.external_bytes};
  if (options.opset != 0) how.opset = options.opset;
  model.save(options.to, how);
  return kDone;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "Write a model as ONNX, in another opset or layout");
  command->add_option("IN", options->from, "An ONNX file, or '-' for standard input")->required();
  command->add_option("OUT", options->to, "The ONNX file to write")->required();
  command->option_defaults()->group(group::kOutput);
  command->add_option("--opset", options->opset, "The opset of ai.onnx")
      ->type_name("N")
      ->default_str("the oldest that has the model's operators")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--external-data", options->external_bytes,
                   "Write tensors of at least BYTES bytes to OUT.data; 0: none")
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(whole_number());
  add_load_limits(*command, options->load);
  command->footer(
      "Examples:\n"
      "  frazil convert model.onnx newer.onnx --opset 21\n"
      "  frazil convert large.onnx split.onnx --external-data 1024");
  command->callback([options, &action] { action = [options] { return convert(*options); }; });
}

}  // namespace frazil::tool
