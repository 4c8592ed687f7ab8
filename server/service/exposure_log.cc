#include "server/service/exposure_log.h"

#include <utility>

#include "server/core/digest.h"
#include "server/core/json_text.h"

namespace frazil::server {

ExposureLog::ExposureLog(Options options)
    : key_(std::move(options.key)), file_(options.file, "--exposure-log", std::chrono::seconds(1)) {}

std::string ExposureLog::pseudonym_of(std::string_view by) const {
  return key_.empty() ? "sha256:" + sha256(by) : "hmac-sha256:" + hmac_sha256(key_, by);
}

void ExposureLog::write(const ExposedRequest& request, const PathRecord::Exposure& exposure) {
  JsonText json;
  const auto write_text = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) json.member(key, text);
  };
  json.begin_object();
  json.member("time", text_of_time(request.time));
  write_text("tenant", request.tenant);
  json.member("pipeline", request.pipeline);
  json.member("version", request.version);
  json.member("digest", request.digest);
  json.member("split", exposure.split);
  json.member("arm", exposure.arm);
  if (exposure.key) json.member("by", pseudonym_of(*exposure.key));
  if (exposure.rolled_back) json.member("rolled_back", true);
  write_text("id", request.id);
  json.member("status", static_cast<unsigned>(request.status));
  json.member("seconds", std::chrono::duration<double>(request.duration).count());
  json.end_object();
  file_.write_line(json.take());
}

namespace {

std::map<std::string, std::string> arms_of(const std::vector<PathRecord::Exposure>& exposures) {
  std::map<std::string, std::string> arms;
  for (const PathRecord::Exposure& exposure : exposures) {
    std::string& text = arms[exposure.split];
    (text += text.empty() ? "" : ",") += exposure.arm;
  }
  return arms;
}

}  // namespace

void name_arms(Call& call, const Served& target, std::shared_ptr<ExposureLog> log, const Privacy* privacy) {
  if (call.path == nullptr) call.path = std::make_shared<PathRecord>(call.arrived);
  call.done = [log = std::move(log), path = call.path, time = std::chrono::system_clock::now(),
               tenant = call.identity.name(), id = call.record_id, target = target.shared_from_this(), privacy,
               arrived = call.arrived, done = std::move(call.done)](Outcome outcome) {
    auto exposures = path->exposures();
    if (outcome) outcome->arms = arms_of(exposures);
    if (log != nullptr && !exposures.empty()) {
      const ExposedRequest request{.time = time,
                                   .tenant = tenant,
                                   .pipeline = target->name(),
                                   .version = target->version(),
                                   .digest = target->digest(),
                                   .id = id,
                                   .status = outcome ? Http::ok : outcome.error().status(),
                                   .duration = Clock::now() - arrived};
      for (PathRecord::Exposure& exposure : exposures) {
        const bool guessable = privacy != nullptr && !log->has_key() && exposure.key;
        if (guessable) exposure.key = privacy->commitment("by", *exposure.key);
        log->write(request, exposure);
      }
    }
    done(std::move(outcome));
  };
}

}  // namespace frazil::server
