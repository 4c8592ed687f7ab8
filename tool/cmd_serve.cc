#include <algorithm>
#include <map>
#include <memory>

#include <frazil/environment.h>
#include <frazil/native.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os/io.h"
#include "server/config/config_yaml.h"
#include "server/core/access_log.h"
#include "server/core/log.h"
#include "server/server.h"
#include "server/service/spent_today.h"
#include "tool/bits_environment.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/serve_governance.h"

namespace frazil::tool {
namespace {

struct ServeOptions {
  server::ServiceOptions service;
  server::ServerOptions server;
  std::string config;
  bool has_poll_interval = false;
  GovernanceOptions governance;
  std::string log_level = "info", access_log, exposure_log, exposure_key;
  server::AccessFormat access_format = server::AccessFormat::text;
  std::uint64_t memory_limit = api::resources().memory_bytes / 8 * 5;  // about half of the machine's memory
};

/// Returns the default limit for buffers: a quarter of the usual memory limit, at most 1 GiB.
std::uint64_t usual_buffers() {
  return std::min(server::ServerOptions().max_buffered, api::resources().memory_bytes / 4);
}

/// Throws api::Error if a tenant is identified by a certificate but the server requests none.
void check_certificates(const std::vector<server::Tenant>& tenants, const server::TlsOptions& tls) {
  for (const server::Tenant& tenant : tenants) {
    if (tenant.certificates.empty() || !tls.client_ca.empty()) continue;
    throw api::Error(
        api::Code::bad_input,
        "tenant '" + tenant.name + "' is known by a certificate: give --tls-client-ca, so that clients show theirs");
  }
}

/// Throws api::Error for options of another mode.
void check_model_control(const server::ServiceOptions& options, bool has_interval) {
  using server::ModelControl;
  const auto needs = [](const char* option, const char* mode) {
    throw api::Error(api::Code::bad_input, fmt::format("{} needs --model-control-mode {}", option, mode));
  };
  if (!options.load_models.empty() && options.control != ModelControl::on_request) needs("--load-model", "explicit");
  if (has_interval && options.control != ModelControl::poll) needs("--repository-poll-secs", "poll");
}

/// Raises the limit of open files, as each connection is an open file.
void allow_files(std::size_t connections, const server::NoticeSink& notify) {
  constexpr rlim_t kOthers = 64;
  rlimit limit = {};
  const rlim_t wanted = connections + kOthers;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    server::warn(notify, "server",
                 fmt::format("--max-connections {}: this process may have only {} open files (ulimit -Hn)", connections,
                             limit.rlim_cur));
  }
}

/// Returns the version of the code generator, or "none". Warns if fused kernels run without machine code, which is
/// slower, and no option has disabled it.
std::string code_generator_of(const server::ServiceOptions& service) {
  const std::string tier = api::with_environment(service.run).tier;
  if (tier == "0" || tier == "ref") return "none";
  const api::CodeGenerator generator = api::code_generator();
  if (generator.missing.empty()) return generator.version;
  if (!generator.disabled) {
    server::warn(service.notify, "server", "fused kernels run without machine code: " + generator.missing);
  }
  return "none";
}

/// Returns the log of exposures, or null. Throws api::Error for files that cannot be used.
std::shared_ptr<server::ExposureLog> exposure_log_of(const ServeOptions& options) {
  if (options.exposure_log.empty()) return nullptr;
  constexpr std::size_t kMaxKey = 4096;
  std::string key;
  if (!options.exposure_key.empty()) {
    const std::string what = "--exposure-log-key " + options.exposure_key + ": ";
    auto read = read_file(options.exposure_key, kMaxKey);
    if (!read) throw api::Error(api::Code::bad_input, what + read.error().text());
    key = std::move(*read);
    if (key.ends_with('\n')) key.pop_back();
    if (key.empty()) throw api::Error(api::Code::bad_input, what + "expected a key, got an empty file");
  }
  return std::make_shared<server::ExposureLog>(
      server::ExposureLog::Options{.file = options.exposure_log, .key = std::move(key)});
}

/// Charges the budgets what was spent today before this start, by the audit log. Throws api::Error for a damaged log.
void restore_budgets(server::Service& service, const ServeOptions& options) {
  const auto now = std::chrono::system_clock::now();
  const server::ServerConfig& config = service.options().config;
  const auto has_day = [](const std::optional<server::BudgetConfig>& budget) { return budget && budget->day_cost_ms; };
  if (!has_day(config.governance.budget) && std::ranges::none_of(config.tenants, has_day, &server::Tenant::budget)) {
    return;
  }
  if (service.options().audit == nullptr) {
    server::warn(service.options().notify, "budget",
                 "what tenants spend today is forgotten at a restart: give --audit, so that it is read again");
    return;
  }
  service.options().audit->publish_checkpoint();
  const std::int64_t now_ms = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
  for (const auto& [tenant, cost] : server::spent_today(options.governance.audit, now_ms)) {
    service.costs().budgets().of(tenant)->restore(cost, now);
  }
}

/// Keeps values of requests out of core dumps, and other processes of the user out of this one's memory.
void forbid_core_dumps() {
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  if (::prctl(PR_SET_DUMPABLE, 0) == 0 && ::setrlimit(RLIMIT_CORE, &none) == 0) return;
  throw api::Error(api::Code::unsupported, "core dumps cannot be turned off, which governance.personal needs");
}

/// Makes the service. A policy that refuses the configuration is an error of the input.
std::unique_ptr<server::Service> service_of(server::ServiceOptions options) try {
  return std::make_unique<server::Service>(std::move(options));
} catch (const server::Refusal& refusal) {
  throw api::Error(api::Code::bad_input, refusal.what());
}

int serve(const ServeOptions& options) {
  server::ServiceOptions of_service = options.service;
  of_service.config_file = options.config;
  if (!options.config.empty()) of_service.config = server::read_server_config(options.config);
  const std::string& subject_keys = of_service.config.governance.keys;
  if (of_service.config.has_personal() || !subject_keys.empty()) forbid_core_dumps();
  check_certificates(of_service.config.tenants, options.server.tls);
  check_model_control(of_service, options.has_poll_interval);
  if (of_service.control == server::ModelControl::on_request) of_service.network.model_control = true;
  of_service.max_shared_bytes = options.server.max_buffered;
  of_service.run.memory_limit = std::max<std::uint64_t>(options.memory_limit / of_service.workers, 1);
  server::Log log(STDERR_FILENO);
  of_service.log->set_level(options.log_level);
  of_service.notify = [&log, settings = of_service.log](const server::Notice& notice) {
    if (settings->takes(notice.level)) log.write(notice);
  };
  server::AccessLog access({.file = options.access_log,
                            .format = options.access_format,
                            .to_log = [&log](const std::string& line) { log.write_line(line); },
                            .settings = of_service.log});
  of_service.dropped_notices = [&] { return log.dropped(); };
  of_service.dropped_accesses = [&] { return access.dropped(); };
  of_service.exposures = exposure_log_of(options);
  const server::NoticeSink notify = of_service.notify;
  allow_files(options.server.max_connections, notify);
  of_service.code_generator = code_generator_of(of_service);
  of_service.audit = audit_log_of(options.governance);
  of_service.environment = bits_environment();
  AuditEnd audit_end(of_service.audit);
  govern_service(options.governance, of_service);
  const std::shared_ptr<govern::Governor> governor = of_service.governor;
  if (governor != nullptr) api::install_policy(std::make_shared<govern::RegistrationPolicy>(governor));
  const std::unique_ptr<server::Service> service = service_of(std::move(of_service));
  restore_budgets(*service, options);
  if (governor != nullptr) governor->begin_serving();
  server::ServerOptions of_server = options.server;
  of_server.notify = notify;
  of_server.access = &access;
  server::serve(*service, of_server, [&](const server::Ports& ports) {
    const auto also = [](const char* name, const std::string& path) {
      return path.empty() ? "" : fmt::format(" {}={}", name, path);
    };
    // Programs parse this line, so it has neither time nor level.
    log.write_line(fmt::format("listening http={0}:{1} grpc={0}:{2} metrics={0}:{3}{4}{5}", options.server.host,
                               ports.http, ports.grpc, ports.metrics, also("http-socket", options.server.http_socket),
                               also("grpc-socket", options.server.grpc_socket)));
    server::inform(notify, "server",
                   fmt::format("--workers {} --memory-limit {} --max-buffered-bytes {}", options.service.workers,
                               options.memory_limit, options.server.max_buffered));
  });
  service->record_costs();
  audit_end.close("signal");
  return kDone;
}

void add_addresses(CLI::App& command, server::ServerOptions& to) {
  command.option_defaults()->group("Addresses");
  const auto port = [&](const char* name, std::uint16_t& value, const char* help) {
    command.add_option(name, value, help)->type_name("P")->check(CLI::Range(0, 65535))->capture_default_str();
  };
  const auto file = [&](const char* name, std::string& value, const char* help, const char* type = "FILE") {
    return command.add_option(name, value, help)->type_name(type);
  };
  command.add_option("--host", to.host, "The address to listen at; :: or 0.0.0.0: all addresses")
      ->type_name("H")
      ->capture_default_str();
  port("--http-port", to.http_port, "The port of requests over HTTP; 0: a free one");
  port("--grpc-port", to.grpc_port, "The port of requests over gRPC; 0: a free one");
  port("--metrics-port", to.metrics_port, "The port of metrics and health; 0: a free one");
  file("--http-socket", to.http_socket, "A Unix socket for requests over HTTP, beside the port", "PATH");
  file("--grpc-socket", to.grpc_socket, "A Unix socket for requests over gRPC, beside the port", "PATH");
  const auto certificate =
      file("--tls-certificate", to.tls.certificate, "A PEM file: TLS at all ports; SIGHUP reads it again");
  const auto key = file("--tls-key", to.tls.key, "A PEM file: the key of the certificate");
  certificate->needs(key);
  key->needs(certificate);
  file("--tls-client-ca", to.tls.client_ca,
       "A PEM file: clients need a certificate of one of these, except for metrics and health at --metrics-port")
      ->needs(certificate);
}

void add_limits(CLI::App& command, server::ServerOptions& to) {
  command.option_defaults()->group(group::kLimits);
  const auto bytes = [&](const char* name, std::uint64_t& value, const char* help) {
    return command.add_option(name, value, help)
        ->type_name("BYTES")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
        ->capture_default_str();
  };
  bytes("--max-request-bytes", to.max_bytes, "Maximum bytes of a request's body");
  bytes("--max-buffered-bytes", to.max_buffered,
        "Maximum bytes of requests and answers in memory; more requests are refused")
      ->default_str("a fifth of the memory, at most 1 GiB");
  bytes("--compress-from", to.compress_from,
        "Minimum bytes of an answer that is compressed for clients that accept it");
  command.add_option("--max-connections", to.max_connections, "Maximum connections; more are closed")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--patience", to.patience_s,
                  "Maximum seconds until a request is complete, until its answer is taken, and until the next request")
      ->type_name("S")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
}

void add_logs(CLI::App& command, ServeOptions& to) {
  command
      .add_option("--log-level", to.log_level,
                  "Of the log on stderr; each level includes those before it. verbose: a line for each request")
      ->type_name("error|warning|info|verbose")
      ->check(CLI::IsMember({"error", "warning", "info", "verbose"}).description(""))
      ->capture_default_str();
  command
      .add_option("--access-log", to.access_log,
                  "A line for each request is appended; '-': stdout. SIGHUP has the file opened again")
      ->type_name("FILE");
  const std::map<std::string, server::AccessFormat> kFormats{{"text", server::AccessFormat::text},
                                                             {"json", server::AccessFormat::json}};
  command.add_option("--access-log-format", to.access_format, "Of the lines of --access-log")
      ->type_name("text|json")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->default_str("text");
  const auto exposures =
      command
          .add_option("--exposure-log", to.exposure_log,
                      "A JSON line for each arm that a split chooses for a request is appended and synced each second; "
                      "'-': stdout. SIGHUP has the file opened again")
          ->type_name("FILE");
  command
      .add_option("--exposure-log-key", to.exposure_key,
                  "Its content is the key of the HMAC of the values of 'by' in --exposure-log; without it they are "
                  "written as SHA-256")
      ->type_name("FILE")
      ->needs(exposures);
}

void add_model_control(CLI::App& command, server::ServiceOptions& to, bool& has_poll_interval) {
  using server::ModelControl;
  const std::map<std::string, ModelControl> kModes{
      {"none", ModelControl::none}, {"poll", ModelControl::poll}, {"explicit", ModelControl::on_request}};
  command
      .add_option("--model-control-mode", to.control,
                  "none: all models are loaded at the start. poll: also as the folder changes. explicit: those of "
                  "--load-model at the start, others by requests; implies --model-control")
      ->type_name("none|poll|explicit")
      ->transform(CLI::CheckedTransformer(kModes, CLI::ignore_case).description(""))
      ->default_str("none");
  command
      .add_option("--load-model", to.load_models, "Loaded at the start with --model-control-mode explicit; '*': all")
      ->type_name("NAME")
      ->allow_extra_args(false);  // the next word may be DIR
  command
      .add_option_function<double>(
          "--repository-poll-secs",
          [&](double seconds) {
            to.poll_every = std::chrono::duration<double>(seconds);
            has_poll_interval = true;
          },
          "Between two looks at the folder with --model-control-mode poll")
      ->type_name("S")
      ->check(CLI::Range(0.01, 1e6))
      ->default_str("15");
}

void add_network(CLI::App& command, server::NetworkConfig& to) {
  command.option_defaults()->group("Access");
  command.add_flag("--model-control", to.model_control,
                   "Allow loads, unloads and resets of models and of --config over the network; with tenants, only to "
                   "those with admin: true");
  command.add_flag("--replay", to.replay, "Allow kept requests to run again over the network");
  command.add_flag("--show-tensors", to.tensors, "Show kept requests and the live view with their tensors");
  command.add_flag("--allow-client-shm", to.client_shm,
                   "Allow clients to register regions of this machine's shared memory for inputs and outputs");
  command
      .add_option("--host-name", to.host_names,
                  "A name of this server, beside addresses and localhost, in the header Host of requests that change "
                  "or show something; '*': every name")
      ->type_name("NAME");
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  server::ServiceOptions& service = options->service;
  service.workers = api::resources().cores;
  options->server.max_buffered = usual_buffers();
  service.version = FRAZIL_VERSION;
  service.run.threads = 1;
  CLI::App* command = app.add_subcommand("serve", "Serve the models of a folder over HTTP and gRPC");
  command->add_option("DIR", service.folder, "NAME.onnx, NAME.frzc or NAME/VERSION/model.onnx")->required();
  add_addresses(*command, options->server);
  command->option_defaults()->group(group::kExecution);
  command->add_option("--workers", service.workers, "Requests that run at the same time, each on a thread of its own")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->default_str("one per core");
  command
      ->add_option("--io-threads", options->server.io_threads,
                   "Threads that read and write sockets; each connection belongs to one of them")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option_function<unsigned>(
          "--busy-poll-us", [options](unsigned us) { options->server.busy_poll = std::chrono::microseconds(us); },
          "Microseconds for which such a thread may poll for the next event before it sleeps, if events follow each "
          "other that fast; 0: it sleeps")
      ->type_name("US")
      ->check(CLI::Range(0, 10'000))
      ->default_str(std::to_string(options->server.busy_poll.count()));
  command->option_defaults()->group(group::kLimits);
  command->add_option("--max-waiting", service.max_waiting, "Maximum requests that run or wait; more are refused")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_governance(*command, options->governance);
  add_limits(*command, options->server);
  add_logs(*command, *options);
  add_model_control(*command, service, options->has_poll_interval);
  add_network(*command, service.network);
  command->option_defaults()->group(group::kLimits);
  command
      ->add_option("--deadline-ms", service.run.deadline_ms,
                   "Maximum milliseconds of a run, if its request has no timeout")
      ->type_name("MS");
  command
      ->add_option("--memory-limit", options->memory_limit,
                   "Maximum bytes of the intermediate values of all runs together; a request that needs more than its "
                   "share is refused")
      ->type_name("BYTES")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
      ->default_str("half of the machine's memory");
  command->option_defaults()->group(group::kInputs);
  command
      ->add_option("--copies", service.copies,
                   "A folder for private copies of the models' files, which have no names there")
      ->type_name("DIR")
      ->default_str("TMPDIR or /tmp");
  command
      ->add_option("--config", options->config,
                   "A YAML file: models, tenants, network, state, paths; docs/reference/serving.md has the keys")
      ->type_name("FILE");
  command->add_option("--tier", service.run.tier, "As in 'frazil run'")
      ->group(group::kExecution)
      ->type_name("auto|ref|0|1|2")
      ->capture_default_str();
  command->footer(
      "Speaks the Open Inference Protocol v2 over REST and gRPC; docs/reference/protocol.md lists the paths. GET "
      "/v2/health/ready "
      "answers 200 once requests are served. SIGTERM answers the requests that have arrived and ends with 0; a second "
      "SIGTERM ends the server immediately. SIGHUP reads --policy, --envelope, --config and certificates again.\n\n"
      "Examples:\n"
      "  frazil serve models --http-port 8000\n"
      "  curl -s localhost:8000/v2/models/mnist");
  command->callback([options, &action] { action = [options] { return serve(*options); }; });
}

}  // namespace frazil::tool
