#include <algorithm>
#include <memory>
#include <thread>

#include <frazil/error.h>

#include "server/http_server.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct ServeOptions {
  std::string folder;
  server::ServerOptions server;
  std::string tier = "auto";
  std::optional<double> deadline_ms;
};

Result<int> serve(const ServeOptions& options) try {
  const api::Options run{.tier = options.tier, .threads = 1, .deadline_ms = options.deadline_ms};
  server::Service service(server::Repository::load(options.folder, run), FRAZIL_VERSION);
  server::serve(service, options.server, [&](std::uint16_t http, std::uint16_t metrics) {
    fmt::print(stderr, "listening http={0}:{1} grpc=off metrics={0}:{2}\n", options.server.host, http, metrics);
  });
  return kDone;
} catch (const api::Error& error) {
  return fail(static_cast<Code>(error.code()), "{}", error.what());
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  options->server.workers = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* command = app.add_subcommand("serve", "Serve the models of a folder over HTTP");
  command->add_option("DIR", options->folder, "NAME.onnx, NAME.frzc or NAME/VERSION/model.onnx")->required();
  const auto port = [&](const char* name, std::uint16_t& to, const char* help) {
    command->add_option(name, to, help)->type_name("P")->check(CLI::Range(0, 65535))->capture_default_str();
  };
  command->add_option("--host", options->server.host, "The address to listen at; :: or 0.0.0.0: all")
      ->type_name("H")
      ->capture_default_str();
  port("--http-port", options->server.http_port, "Of requests; 0: a free one");
  port("--metrics-port", options->server.metrics_port, "Of metrics; 0: a free one");
  command->add_option("--workers", options->server.workers, "Requests that run at the same time, on a thread each")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--max-waiting", options->server.most_waiting, "Requests that run or wait; more are refused")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--max-request-bytes", options->server.most_bytes, "Of a request's body")
      ->type_name("BYTES")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U))
      ->capture_default_str();
  command->add_option("--deadline-ms", options->deadline_ms, "Of a run, where a request has no time-out")
      ->type_name("MS");
  command->add_option("--tier", options->tier, "As of run")->capture_default_str();
  command->footer(
      "Speaks the Open Inference Protocol v2 over REST; docs/serving.md has the paths. GET /v2/health/ready answers "
      "200\n"
      "once requests are served. SIGTERM answers what has arrived and ends with 0; a second one ends at once.\n"
      "Examples:\n"
      "  frazil serve models --http-port 8000\n"
      "  curl -s localhost:8000/v2/models/mnist");
  command->callback([options, &action] { action = [options] { return serve(*options); }; });
}

}  // namespace frazil::tool
