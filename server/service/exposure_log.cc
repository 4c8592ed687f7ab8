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
  if (const auto by = key_of_split(exposure.why)) json.member("by", pseudonym_of(*by));
  if (exposure.why.ends_with("is rolled back")) json.member("rolled_back", true);
  write_text("id", request.id);
  json.member("status", static_cast<unsigned>(request.status));
  json.member("seconds", std::chrono::duration<double>(request.duration).count());
  json.end_object();
  file_.write_line(json.take());
}

}  // namespace frazil::server
