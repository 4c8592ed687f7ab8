#include "server/service/trace_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "server/core/json_text.h"
#include "server/core/message.h"
#include "server/service/config_policy.h"

namespace frazil::server {
namespace {

constexpr std::string_view kLevel = "trace_level", kRate = "trace_rate";
constexpr const char *kOff = "OFF", *kTimestamps = "TIMESTAMPS";

/// Settings of Triton that have one value here.
struct Fixed {
  std::string_view name;
  const char* value;
  const char* why;
};
constexpr Fixed kFixed[] = {
    {"trace_count", "-1", "the latest paths are kept, without a limit for the number of recorded ones"},
    {"log_frequency", "0", "paths are not written to files"},
    {"trace_file", "", "paths are not written to files: read GET /v2/paths, or set paths.otlp"}};

const std::string& only_value(const std::string& what, const std::vector<std::string>& values) {
  if (values.size() != 1) refuse(what + "expected one value");
  return values.front();
}

PathLog::Sampling with(PathLog::Sampling sampling, const std::string& name, const std::vector<std::string>& values,
                       const PathLog::Sampling& configured) {
  const std::string what = "setting '" + name + "': ";
  if (name == kLevel) {
    if (values.empty()) return {.on = configured.on, .share = sampling.share};
    const std::string& level = only_value(what, values);
    if (level != kOff && level != kTimestamps) {
      refuse(what + "expected OFF or TIMESTAMPS, got '" + level + "'; paths.inputs keeps tensors");
    }
    return {.on = level == kTimestamps, .share = sampling.share};
  }
  if (name == kRate) {
    if (values.empty()) return {.on = sampling.on, .share = configured.share};
    const std::string& text = only_value(what, values);
    std::uint32_t rate = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || rate == 0) {
      refuse(what + "expected a whole number above 0, one of how many requests is recorded; got '" + text + "'");
    }
    return {.on = sampling.on, .share = 1.0 / rate};
  }
  const auto* const fixed = std::ranges::find(kFixed, name, &Fixed::name);
  if (fixed == std::end(kFixed)) refuse(what + "expected one of trace_level, trace_rate");
  if (!values.empty() && only_value(what, values) != fixed->value) {
    refuse(what + "expected '" + fixed->value + "': " + fixed->why);
  }
  return sampling;
}

/// Returns the change of the share of requests that are recorded, as a change of the setting paths.sample.
govern::ConfigQuestion sampling_question(const PathLog::Sampling& before, const PathLog::Sampling& after,
                                         const std::string& user) {
  govern::ConfigQuestion question{.user = user};
  const double old = before.on ? before.share : 0, now = after.on ? after.share : 0;
  if (old != now) {
    question.changes.push_back({.path = "paths.sample", .before = number_text(old), .after = number_text(now)});
  }
  question.lowered_sampling = now < old;
  return question;
}

}  // namespace

TraceSettings trace_settings(const PathLog& paths) {
  const PathLog::Sampling sampling = paths.sampling();
  TraceSettings settings{{std::string(kLevel), {sampling.on ? kTimestamps : kOff}},
                         {std::string(kRate), {std::to_string(std::lround(1 / sampling.share))}}};
  for (const Fixed& fixed : kFixed) settings.emplace_back(fixed.name, std::vector<std::string>{fixed.value});
  return settings;
}

void change_trace_settings(PathLog& paths, const TraceSettings& settings, std::shared_ptr<govern::Governor> governor,
                           const std::string& user) {
  PathLog::Sampling next = paths.sampling();
  for (const auto& [name, values] : settings) next = with(next, name, values, paths.configured_sampling());
  if (next.on && !paths.keeps_any()) refuse("setting 'trace_level': no paths are kept: set paths.ring");
  PermittedChange change(std::move(governor), sampling_question(paths.sampling(), next, user));
  paths.set_sampling(next);
  change.done();
}

}  // namespace frazil::server
