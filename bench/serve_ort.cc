// The peer of the serving benchmark: our transport and protocols in front of ONNX Runtime, called once per request:
//
//   serve_ort DIR [--config FILE] [--http-port P] [--grpc-port P] [--metrics-port P] [--workers N] [--max-waiting N]
//   [--peer LIBRARY]
//
// DIR has NAME.onnx, as for frazil serve. Of the configuration only the states of sequences are used: they are kept in
// a table, without a limit.

#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include <frazil/model.h>

#include "bench/arguments.h"
#include "bench/ort.h"
#include "bench/serve_ort_model.h"
#include "server/config/config_yaml.h"
#include "server/model/responses.h"
#include "server/server.h"

namespace bench {
namespace {

using frazil::api::Array;
using namespace frazil::server;  // NOLINT(google-build-using-namespace): half of its names are used

/// A model that the peer runs.
class PeerServed final : public frazil::server::Served {
 public:
  PeerServed(const std::string& name, const std::string& path, const std::string& library, std::vector<StateLink> links)
      : frazil::server::Served(name, "1"),
        model_(frazil::api::Model::load(path)),
        links_(std::move(links)),
        peer_(library, path, names_of(model_.inputs()), names_of(model_.outputs())) {}

  std::string_view platform() const override { return "onnxruntime_onnx"; }
  const std::vector<frazil::api::Port>& inputs() const override { return model_.inputs(); }
  const std::vector<frazil::api::Port>& outputs() const override { return model_.outputs(); }
  std::string digest() const override { return model_.digest(); }

 protected:
  void start(Call call) const override {
    std::vector<Array> values = inputs_of(call.request);
    milliseconds_left(call);  // refuses a request whose time has passed
    const SequencePart& sequence = call.request.sequence;
    if (!links_.empty()) load_state(sequence, values);
    std::vector<Array> results = peer_.run(values);
    if (!links_.empty()) keep_state(sequence, results);
    call.done(response_of(*this, call.request, std::move(results)));
  }

 private:
  using State = std::vector<Array>;  // by link

  static std::vector<std::string> names_of(const std::vector<frazil::api::Port>& ports) {
    std::vector<std::string> names;
    for (const frazil::api::Port& port : ports) names.push_back(port.name);
    return names;
  }
  static std::size_t position(const std::vector<frazil::api::Port>& ports, const std::string& name) {
    const auto at = std::ranges::find(ports, name, &frazil::api::Port::name);
    if (at == ports.end()) throw Refusal(Http::bad_request, "there is no '" + name + "'");
    return static_cast<std::size_t>(at - ports.begin());
  }
  static Array zeros(const frazil::api::Port& port) {
    frazil::api::Sizes sizes;
    for (const std::string& dim : port.dims) sizes.push_back(std::isdigit(dim[0]) != 0 ? std::stoll(dim) : 1);
    return {port.dtype, std::move(sizes)};
  }

  std::vector<Array> inputs_of(InferRequest& request) const {
    std::vector<Array> values(inputs().size());
    for (auto& [name, value] : request.inputs) values[position(inputs(), name)] = std::move(value);
    return values;
  }
  void load_state(const SequencePart& sequence, std::vector<Array>& values) const {
    State state;
    {
      const std::scoped_lock lock(mutex_);
      if (const auto at = states_.find(sequence.id); at != states_.end() && !sequence.start) state = at->second;
    }
    if (state.empty() && !sequence.start) throw Refusal(Http::bad_request, "the sequence is not known");
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const std::size_t at = position(inputs(), links_[i].input);
      values[at] = state.empty() ? zeros(inputs()[at]) : state[i];
    }
  }
  void keep_state(const SequencePart& sequence, const std::vector<Array>& results) const {
    State state;
    for (const StateLink& link : links_) state.push_back(results[position(outputs(), link.output)]);
    const std::scoped_lock lock(mutex_);
    states_[sequence.id] = std::move(state);
  }

  const frazil::api::Model model_;
  const std::vector<StateLink> links_;
  const OrtModel peer_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, State> states_;
};

std::shared_ptr<const Repository> repository_of(const std::string& folder, const std::string& library,
                                                const ServerConfig& config) {
  auto repository = std::make_shared<const Repository>();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string name = entry.path().stem().string();
    const auto at = config.models.find(name);
    auto served = std::make_shared<PeerServed>(
        name, entry.path().string(), library,
        at == config.models.end() ? std::vector<StateLink>() : at->second.sequences.states);
    repository = repository->with(name, {{1, std::move(served)}});
  }
  return repository;
}

struct PeerArguments {
  ServiceOptions service;
  ServerOptions server;
  std::string config, peer;
};

bool serve_peer(PeerArguments arguments) {
  ServiceOptions& service = arguments.service;
  if (!arguments.config.empty()) service.config = read_server_config(arguments.config);
  service.repository = repository_of(service.folder, Ort::find_library(arguments.peer), service.config);
  Service models(std::move(service));
  frazil::server::serve(models, arguments.server, [&](const Ports& ports) {
    std::fprintf(stderr, "listening http=%s:%u grpc=%s:%u\n", arguments.server.host.c_str(), ports.http,
                 arguments.server.host.c_str(), ports.grpc);
  });
  return true;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::PeerArguments arguments;
  CLI::App app("The peer behind our transport", "serve_ort");
  app.add_option("DIR", arguments.service.folder, "of NAME.onnx")->required();
  app.add_option("--config", arguments.config, "as of frazil serve");
  app.add_option("--http-port", arguments.server.http_port);
  app.add_option("--grpc-port", arguments.server.grpc_port);
  app.add_option("--metrics-port", arguments.server.metrics_port);
  app.add_option("--workers", arguments.service.workers);
  app.add_option("--max-waiting", arguments.service.max_waiting);
  app.add_option("--peer", arguments.peer, "libonnxruntime.so.1");
  return bench::run_program(app, argc, argv, [&] { return bench::serve_peer(std::move(arguments)); });
}
