#include "tool/witness_client.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "server/net/http_client.h"
#include "tool/error.h"

namespace frazil::tool {
namespace {
constexpr auto kWitnessPatience = std::chrono::seconds(10);
}  // namespace

govern::WitnessClient witness_client(const govern::WitnessPolicy& policy, std::string_view what) {
  constexpr std::size_t kMaxAnswer = std::size_t{1} << 20U;
  std::map<std::string, std::shared_ptr<server::HttpClient>> clients;
  for (const auto& witness : policy.witnesses()) {
    if (witness.url.empty()) fail(Code::bad_input, "{}: witness '{}' has no URL", what, witness.name);
    const std::string url = witness.url + (witness.url.ends_with('/') ? "" : "/") + "add-checkpoint";
    try {
      clients[witness.name] = std::make_shared<server::HttpClient>(server::HttpUrl::parse(url),
                                                                   server::HttpClientOptions{.max_bytes = kMaxAnswer});
    } catch (const std::invalid_argument& error) {
      fail(Code::bad_input, "{}: witness '{}': {}", what, witness.name, error.what());
    }
  }
  return [clients = std::move(clients)](const govern::WitnessPolicy::Witness& witness, const std::string& body) {
    const auto answer = clients.at(witness.name)
                            ->post_and_wait({.body = body, .type = "text/plain; charset=utf-8"},
                                            server::Clock::now() + kWitnessPatience);
    return govern::WitnessAnswer{answer.status, answer.body};
  };
}

}  // namespace frazil::tool
