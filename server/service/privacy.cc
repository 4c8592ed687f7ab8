#include "server/service/privacy.h"

#include <algorithm>

#include <openssl/rand.h>

#include "server/core/digest.h"

namespace frazil::server {
namespace {

constexpr std::size_t kTraceBytes = 55, kTraceAt = 3, kTraceDigits = 32, kSpanAt = 36, kSpanDigits = 16;

bool is_traceparent(std::string_view text) {
  if (text.size() != kTraceBytes) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == kTraceAt - 1 || i == kSpanAt - 1 || i == kSpanAt + kSpanDigits;
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !digit) return false;
  }
  return true;
}

bool is_word_of_protocol(std::string_view part) {
  constexpr std::string_view kWords[] = {"",
                                         "v2",
                                         "health",
                                         "live",
                                         "ready",
                                         "models",
                                         "versions",
                                         "infer",
                                         "generate",
                                         "generate_stream",
                                         "stats",
                                         "config",
                                         "splits",
                                         "graph",
                                         "reset",
                                         "repository",
                                         "index",
                                         "load",
                                         "unload",
                                         "paths",
                                         "replay",
                                         "events",
                                         "systemsharedmemory",
                                         "region",
                                         "status",
                                         "register",
                                         "unregister",
                                         "trace",
                                         "setting",
                                         "logging",
                                         "metrics",
                                         "forecast",
                                         "configuration",
                                         "governance",
                                         "erase"};
  return std::ranges::find(kWords, part) != std::end(kWords);
}

bool is_served(std::string_view part, const Repository& models) {
  if (models.has_model(part)) return true;
  return std::ranges::any_of(models.all(), [&](const auto& served) { return served->version() == part; });
}

/// Returns the refusal with the plain part of its text. A text of a model's run begins with the node, which is plain.
Refusal without_values(const Refusal& refusal, const Labels& labels) {
  const std::string_view text = refusal.what();
  const auto node = std::ranges::find_if(labels.node_texts, [&](const std::string& one) {
    return text.starts_with(one) && text.substr(one.size(), 1) == ":";
  });
  if (refusal.is_plain() || node == labels.node_texts.end()) return refusal.without_values();
  return refusal.with_plain(node->size() + 2).without_values();
}

}  // namespace

Privacy::Privacy(const GovernanceConfig& config) : key_() {
  names_.personal.insert(config.personal.begin(), config.personal.end());
  names_.shown.insert(config.shown.begin(), config.shown.end());
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key_.data()), static_cast<int>(key_.size())) != 1) {
    throw api::Error(api::Code::internal, "there are no random numbers for the key of commitments");
  }
}

std::string Privacy::commitment(std::string_view what, std::string_view text) const {
  if (text.empty()) return {};
  return "hmac-sha256:" + hmac_sha256({key_.data(), key_.size()}, std::string(what).append("\n").append(text));
}

std::string Privacy::id(const std::string& given) const {
  return names_.shown.contains("id") ? given : commitment("id", given);
}

std::string Privacy::trace(const std::string& given) const {
  if (names_.shown.contains("trace")) return given;
  if (!is_traceparent(given)) return {};
  const auto digits = [&](const char* what, std::size_t at, std::size_t count) {
    return hmac_sha256({key_.data(), key_.size()}, std::string(what) + given.substr(at, count)).substr(0, count);
  };
  return "00-" + digits("trace\n", kTraceAt, kTraceDigits) + "-" + digits("span\n", kSpanAt, kSpanDigits) + "-01";
}

void Privacy::hide_errors(Call& call, const Served& target) const {
  auto labels = target.governance().labels;
  if (labels == nullptr || !labels->any) return;
  call.done = [labels = std::move(labels), done = std::move(call.done)](Outcome outcome) {
    if (!outcome) outcome = std::unexpected(without_values(outcome.error(), *labels));
    done(std::move(outcome));
  };
}

std::string Privacy::path(std::string_view given, const Repository& models) {
  std::string shown;
  for (std::size_t at = 0; at <= given.size();) {
    const std::size_t end = std::min(given.find('/', at), given.size());
    const std::string_view part = given.substr(at, end - at);
    shown += is_word_of_protocol(part) || is_served(part, models) ? part : std::string_view("*");
    if (end < given.size()) shown += '/';
    at = end + 1;
  }
  return shown;
}

void hide_values(std::vector<PathRecord::Step>& steps, const Labels& labels) {
  for (PathRecord::Step& step : steps) {
    if (labels.shows_reason(step.node)) continue;
    if (!step.why.empty()) step.why = kRedacted;
    if (step.kind == "loop") step.taken = kRedacted;
    step.key.reset();
  }
}

}  // namespace frazil::server
