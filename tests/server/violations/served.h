#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <frazil/frazil.h>

#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/violations/violation.h"

// A server with tenants and a policy that tests replace.
namespace frazil::test {

constexpr const char* kSeededConfig = R"(
tenants:
  - {name: shop, keys: [shop-key]}
  - {name: bank, keys: [bank-key]}
  - {name: ops, keys: [ops-key], admin: true}
  - {name: root, keys: [root-key], admin: true}
paths: {ring: 10, sample: 1.0, inputs: true, redact: [secret]}
)";

class Seeded : public testing::Test {
 protected:
  void serve() {
    files_.write("frazil.yaml", kSeededConfig);
    server::ServiceOptions options = options_of(folder_);
    options.workers = 2;
    options.config_file = files_.path() + "frazil.yaml";
    options.config = server::read_server_config(options.config_file);
    options.governor = governor_;
    service_.emplace(std::move(options));
  }
  /// Writes a model that may call models which are in no registry yet.
  void add(const std::string& name, const std::string& text) const {
    const bool version = name.find('/') != std::string::npos;
    if (version) std::filesystem::create_directories(folder_.path() + name);
    api::Model::from_text(text, {}, {.check_calls = false})
        .save(folder_.path() + name + (version ? "/model.onnx" : ".onnx"));
  }
  void add_pipeline(const std::string& name, const std::string& steps) const {
    folder_.write(name + ".yaml", "inputs: {x: 'f32[N,2]'}\nsteps:\n" + steps + "outputs: {y: out.y}\n");
  }
  server::Tenants::Identity identity(const std::string& tenant) const {
    return service_->tenants().find("Bearer " + tenant + "-key");
  }

  struct Request {
    std::string tenant, model, version = {};
    std::map<std::string, server::Parameter> parameters = {};
    std::map<std::string, std::string> choices = {};
    std::uint64_t priority = 0;
  };
  /// Returns "permitted", or the reason of the refusal.
  std::string run(const Request& request) const {
    std::promise<server::Outcome> promise;
    server::Call call{.caller = std::make_shared<server::Caller>(),
                      .identity = identity(request.tenant),
                      .arrived = server::Clock::now(),
                      .explicit_version = !request.version.empty()};
    call.request.inputs = {{"x", row({1, 2})}};
    call.request.parameters = request.parameters;
    call.request.choices = request.choices;
    call.request.priority = request.priority;
    call.done = [&](server::Outcome outcome) { promise.set_value(std::move(outcome)); };
    server::Service& service = *service_;
    service.infer(service.models().find(request.model, request.version), std::move(call));
    const auto outcome = promise.get_future().get();
    return outcome ? "permitted" : outcome.error().what();
  }

  Folder folder_, files_;
  std::shared_ptr<govern::Governor> governor_ =
      std::make_shared<govern::Governor>(govern::GovernorOptions{.policy = all_but("")});
  mutable std::optional<server::Service> service_;
};

}  // namespace frazil::test
