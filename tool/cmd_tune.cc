#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "kernel/tuning/measure_tuning.h"
#include "kernel/tuning/tuning_file.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"

namespace frazil::tool {
namespace {

struct TuneOptions {
  Common common;
  std::vector<std::string> models;
  std::string output;
};

/// The best times of a model in milliseconds, with the reference table and with the measured one.
struct ModelTimes {
  std::string model;
  double before = 0, after = 0;
};

/// Returns options that fill every input with ones, in its declared shape with 1 for free extents.
RequestOptions ones(const Model& model) {
  RequestOptions options;
  for (const Port& port : model.inputs()) {
    if (!port.has_default) options.inputs.push_back(port.name + "==1");
  }
  return options;
}

/// Runs a model with both tables alternately. Sessions keep the table that they were prepared with.
ModelTimes compare(const std::string& path, const kernel::Tuning& measured, const Common& common) {
  constexpr double kSeconds = 1;
  constexpr int kMin = 3;
  const Model model = load_model(path, common);
  const ValueSource source(model, common.run.seed, common.memory_limit());
  Requests requests = Requests::make(source, ones(model));
  const auto inputs = requests.next();
  const Isa isa = kernel::features().isa;
  ModelTimes times{.model = path, .before = HUGE_VAL, .after = HUGE_VAL};
  struct Side {
    const kernel::Tuning* table;
    double* best;
    Session session;
  };
  Side sides[] = {{nullptr, &times.before, open_session(model, common)},
                  {&measured, &times.after, open_session(model, common)}};
  const double end = now() + kSeconds;
  for (int i = 0; i < kMin || now() < end; ++i) {
    for (Side& side : sides) {
      side.table != nullptr ? kernel::install_tuning(isa, *side.table) : kernel::forget_tuning(isa);
      const double begin = now();
      const Results outputs = within(path + ": ", [&] { return side.session.run(*inputs); });
      *side.best = std::min(*side.best, (now() - begin) * 1e3);
    }
  }
  return times;
}

/// Returns the geometric mean of the models' times relative to the reference table.
double gain(const std::vector<ModelTimes>& models) {
  double sum = 0;
  for (const ModelTimes& m : models) sum += std::log(m.after / m.before);
  return models.empty() ? 1 : std::exp(sum / static_cast<double>(models.size()));
}

void print_tuning(const kernel::MeasuredTuning& measured) {
  const kernel::Tuning& reference = kernel::reference_tuning(kernel::features().isa);
  print_line(fmt::format("{:<18} {:>12} {:>12}  ns", "constant", "reference", "measured"));
  for (const auto& c : kernel::tuning_constants())
    print_line(fmt::format("{:<18} {:>12.4g} {:>12.4g}", c.name, reference.*c.value, measured.tuning.*c.value));
  print_line(fmt::format("\n{:<52} {:>10} {:>10} {:>7}", "work", "us", "predicted", "ratio"));
  for (const auto& c : measured.checks)
    print_line(fmt::format("{:<52} {:>10.1f} {:>10.1f} {:>7.2f}", c.work, c.measured * 1e-3, c.predicted * 1e-3,
                           c.predicted / c.measured));
}

Json json_of_tuning(const kernel::MeasuredTuning& measured, const std::vector<ModelTimes>& models) {
  Json constants = Json::object(), checks = Json::array(), runs = Json::array();
  for (const auto& c : kernel::tuning_constants()) constants[std::string(c.name)] = measured.tuning.*c.value;
  for (const auto& c : measured.checks)
    checks.push_back({{"work", c.work}, {"measured_ns", c.measured}, {"predicted_ns", c.predicted}});
  for (const ModelTimes& m : models)
    runs.push_back({{"model", m.model}, {"reference_ms", m.before}, {"tuned_ms", m.after}});
  return {{"isa", name_of(kernel::features().isa)}, {"constants", constants}, {"checks", checks}, {"models", runs}};
}

int tune(const TuneOptions& options) {
  constexpr double kWorse = 1.02;
  prepare(options.common);
  const kernel::TuningKey key = kernel::tuning_key();
  const std::string path = options.output.empty() ? kernel::tuning_path(key) : options.output;
  if (path.empty()) {
    fail(Code::bad_input, "neither XDG_CACHE_HOME nor HOME names a folder for the table; use --output FILE");
  }
  const auto folder = std::filesystem::path(options.output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    fail(Code::bad_input, "--output {}: there is no folder '{}'", path, folder.string());
  }
  const kernel::MeasuredTuning measured = kernel::measure_tuning();
  std::vector<ModelTimes> models;
  for (const std::string& model : options.models) {
    const ModelTimes times = compare(model, measured.tuning, options.common);
    models.push_back(times);
  }
  const bool kept = gain(models) <= kWorse;
  if (kept) {
    const auto saved = kernel::save_tuning(path, measured.tuning, key);
    if (!saved) throw Error(static_cast<Code>(saved.error().code), saved.error().text());
  }
  if (options.common.json) {
    Json json = json_of_tuning(measured, models);
    json["file"] = kept ? Json(path) : Json();
    print_json(json);
    return kDone;
  }
  print_tuning(measured);
  for (const ModelTimes& m : models)
    print_line(
        fmt::format("{}: {:.3f} ms with the reference, {:.3f} ms with the measured table", m.model, m.before, m.after));
  print_line(kept ? fmt::format("\nsaved as {}", path)
                  : std::string("\nnot saved, as the models take longer with the measured table"));
  return kDone;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand("tune", "Measure what kernels take on this machine, and remember it");
  command->add_option("MODEL", options->models, "ONNX files; the table is saved unless they take longer with it");
  command->add_option("--output", options->output, "The file of the table, which FRAZIL_TUNING names later")
      ->group(group::kOutput)
      ->type_name("FILE")
      ->default_str("the user's own table, which later commands use");
  add_common(*command, options->common);
  command->footer(
      "Takes about two seconds, and one more for each model, whose inputs are filled with ones. The machine should "
      "have no other work.\n"
      "\n"
      "Examples:\n"
      "  frazil tune\n"
      "  frazil tune resnet50.onnx --output tuned.txt && FRAZIL_TUNING=tuned.txt frazil bench ...");
  command->callback([options, &action] { action = [options] { return tune(*options); }; });
}

}  // namespace frazil::tool
