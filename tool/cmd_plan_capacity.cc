#include <memory>

#include <fmt/core.h>
#include <frazil/error.h>

#include "server/config/config_yaml.h"
#include "server/service/forecast.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct CapacityOptions {
  server::ServiceOptions service;
  std::string mix, config;
  std::optional<double> rate;
  double profile_s = 10, check_s = 0;
  bool json = false;
};

Json json_of_forecast(const server::Forecast& forecast) {
  return {
      {"p50_ms", forecast.p50_ms}, {"p99_ms", forecast.p99_ms}, {"busy", forecast.busy}, {"peak_mb", forecast.peak_mb}};
}

std::string text_of(const server::Forecast& f) {
  return fmt::format("p50 {:.3f} ms, p99 {:.3f} ms, workers busy {:.0f} %, peak {:.0f} MB", f.p50_ms, f.p99_ms,
                     f.busy * 100, f.peak_mb);
}

int plan_capacity(const CapacityOptions& options) try {
  constexpr double kUsualLoad = 0.5;
  server::ServiceOptions of_service = options.service;
  if (!options.config.empty()) of_service.config = server::read_server_config(options.config);
  of_service.config.paths.ring = 0;
  const std::vector<server::MixRequest> mix = server::read_mix(options.mix);
  server::Service service(std::move(of_service));
  const server::MixProfile profile(service, mix, options.profile_s);
  const double most = profile.max_rate(), rate = options.rate.value_or(most * kUsualLoad);
  const server::Forecast forecast = profile.at(rate);
  Json json = {{"most_rate", most}, {"rate", rate}, {"forecast", json_of_forecast(forecast)}};
  if (!options.json) {
    print_line(fmt::format("at most {:.1f} requests per second on {} workers", most, options.service.workers));
    print_line(fmt::format("at {:.1f} per second: {}", rate, text_of(forecast)));
  }
  if (options.check_s > 0) {
    const server::LoadResult measured = server::run_load(service, mix, rate, options.check_s);
    json["measured"] = json_of_forecast(measured);
    json["measured"]["rate"] = measured.rate;
    json["measured"]["failed"] = measured.failed;
    if (!options.json) print_line(fmt::format("measured at {:.1f} per second: {}", measured.rate, text_of(measured)));
    if (!options.json && measured.failed > 0) {
      print_line(fmt::format("{} requests failed, the first one: {}", measured.failed, measured.why));
    }
  }
  if (options.json) print_json(json);
  if (const auto error = finish_output()) throw *error;
  return kDone;
} catch (const server::Refusal& refusal) {
  fail(Code::bad_input, "{}", refusal.what());
}

}  // namespace

void add_plan_capacity(CLI::App& app, Action& action) {
  auto options = std::make_shared<CapacityOptions>();
  server::ServiceOptions& service = options->service;
  service.workers = api::resources().cores;
  service.run.threads = 1;
  CLI::App* command =
      app.add_subcommand("plan-capacity", "Forecast times and memory of a mix of requests for a server");
  command->add_option("DIR", service.folder, "The folder of models, as in 'frazil serve'")->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--mix", options->mix, "A YAML file: requests, their shares and shapes")
      ->type_name("FILE")
      ->required();
  command->add_option("--rate", options->rate, "Requests per second")
      ->type_name("N")
      ->default_str("half of the highest rate")
      ->check(CLI::Range(1e-3, 1e9));
  command->add_option("--config", options->config, "As in 'frazil serve'")->type_name("FILE");
  command->option_defaults()->group(group::kExecution);
  command->add_option("--workers", service.workers, "As in 'frazil serve'")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->default_str("one per core");
  command->add_option("--profile-seconds", options->profile_s, "Seconds of measuring the models")
      ->type_name("S")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  command->add_option("--check", options->check_s, "Then send such requests for S seconds and print their times")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--tier", service.run.tier, "As in 'frazil run'")
      ->type_name("auto|ref|0|1|2")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout")
      ->group(group::kOutput);
  command->footer(
      "Measures every request of the mix at six lengths, alone and with all workers busy, and simulates requests that "
      "arrive at random. The forecast does not join requests: a server that batches does better. --check prints the "
      "rate that was reached.\n\n"
      "A mix:\n"
      "  requests: [{model: bert, share: 0.7, inputs: {input_ids: 1x5..128}},\n"
      "             {model: vad, share: 0.3, inputs: ...}]\n\n"
      "Example:\n"
      "  frazil plan-capacity models --mix mix.yaml --rate 100 --check 10");
  command->callback([options, &action] { action = [options] { return plan_capacity(*options); }; });
}

}  // namespace frazil::tool
