#include <algorithm>
#include <memory>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"
#include "tool/save.h"

namespace frazil::tool {
namespace {

struct RunOptions {
  Common common;
  RequestOptions requests;
  std::string model, output_dir;
};

/// The report of each request, as text immediately or as JSON at the end.
class RunReport {
 public:
  RunReport(const Model& model, bool json, bool streaming)
      : ports_(model.outputs()), json_(json), streaming_(streaming) {}

  void add(std::span<const Array> outputs, double seconds) {
    if (json_) {
      add_json(outputs, seconds);
    } else {
      print(outputs);
    }
    ++count_;
  }
  void finish(const Common& common, double load_seconds) {
    if (!json_) return;
    Json json{{"tier", common.tier}, {"load_ms", load_seconds * 1e3}, {"requests", requests_}};
    print_json(json);
  }

 private:
  void print(std::span<const Array> outputs) const {
    if (streaming_) print_line(fmt::format("request {}", count_));
    std::size_t name_width = 0, type_width = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      name_width = std::max(name_width, ports_[i].name.size());
      type_width = std::max(type_width, type_of(outputs[i]).size());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      print_line(fmt::format("{:<{}}  {:<{}}  {}", one_line(ports_[i].name), name_width, type_of(outputs[i]),
                             type_width, summary_of(outputs[i])));
    }
  }
  void add_json(std::span<const Array> outputs, double seconds) {
    Json values = Json::array();
    for (std::size_t i = 0; i < outputs.size(); ++i) values.push_back(json_of(ports_[i].name, outputs[i]));
    requests_.push_back({{"ms", seconds * 1e3}, {"outputs", std::move(values)}});
  }

  const std::vector<Port>& ports_;
  bool json_, streaming_;
  std::uint64_t count_ = 0;
  Json requests_ = Json::array();
};

void run_requests(Session& session, Requests& requests, const OutputFolder* folder, RunReport& report) {
  Progress progress;
  Results outputs;
  for (std::uint64_t number = 0;; ++number) {
    const auto inputs = requests.next();
    if (!inputs) return;
    const double begin = now();
    within(requests.streaming() ? fmt::format("request {}: ", number) : "", [&] { session.run(*inputs, outputs); });
    const double seconds = now() - begin;
    progress.clear();
    report.add(outputs, seconds);
    if (folder != nullptr) folder->save(outputs, requests.streaming() ? std::optional(number) : std::nullopt);
    requests.done(outputs);
    if (requests.streaming()) progress.show(fmt::format("{} requests", number + 1));
  }
}

int run(const RunOptions& options) {
  prepare(options.common);
  const double begin = now();
  const Model model = load_model(options.model, options.common);
  const double load_seconds = now() - begin;
  const ValueSource source(model, options.common.run.seed, options.common.memory_limit());
  Requests requests = Requests::make(source, options.requests);
  std::optional<OutputFolder> folder;
  if (!options.output_dir.empty()) folder = OutputFolder::make(options.output_dir, model.outputs());
  Session session = open_session(model, options.common);
  RunReport report(model, options.common.json, requests.streaming());
  run_requests(session, requests, folder ? &*folder : nullptr, report);
  report.finish(options.common, load_seconds);
  return kDone;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model on given or random inputs and show its outputs");
  add_model(*command, options->model);
  add_requests(*command, options->requests);
  command->add_option("--output-dir,-o", options->output_dir, "Write each output to DIR/NAME.npy")
      ->group(group::kOutput)
      ->type_name("DIR");
  add_common(*command, options->common);
  command->footer(
      "Examples:\n"
      "  frazil run mnist.onnx --input Input3=1x1x28x28\n"
      "  frazil run mnist.onnx --input Input3=digit.npy --output-dir out\n"
      "  frazil run - --input x=1x64 < model.onnx\n"
      "  frazil run vad.onnx --input sr==16000 --input state=2x1x128 --carry stateN=state --stream chunks.jsonl");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace frazil::tool
