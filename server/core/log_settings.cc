#include "server/core/log_settings.h"

#include <algorithm>

#include "server/core/message.h"

namespace frazil::server {

struct LogSettings::Switch {
  std::string_view name;
  std::atomic<bool> LogSettings::* on;
};

namespace {

constexpr std::string_view kVerbose = "log_verbose_level", kLogFile = "log_file", kFormat = "log_format";
constexpr std::string_view kIso = "ISO8601";

}  // namespace

const std::vector<LogSettings::Switch>& LogSettings::switches() {
  static const std::vector<Switch> all{
      {"log_info", &LogSettings::info_}, {"log_warning", &LogSettings::warning_}, {"log_error", &LogSettings::error_}};
  return all;
}

bool LogSettings::takes(Notice::Level level) const {
  switch (level) {
    case Notice::Level::info: return info_.load(std::memory_order_relaxed);
    case Notice::Level::warning: return warning_.load(std::memory_order_relaxed);
    default: return error_.load(std::memory_order_relaxed);
  }
}

bool LogSettings::set_level(std::string_view name) {
  constexpr std::string_view kNames[] = {"error", "warning", "info", "verbose"};
  const auto* const at = std::ranges::find(kNames, name);
  if (at == std::end(kNames)) return false;
  const auto rank = at - std::begin(kNames);
  warning_ = rank >= 1;
  info_ = rank >= 2;
  verbose_ = rank >= 3 ? 1 : 0;
  return true;
}

LogSettings::List LogSettings::list() const {
  List list{{std::string(kLogFile), std::string()}};
  for (const Switch& one : switches()) list.emplace_back(one.name, (this->*one.on).load());
  list.emplace_back(kVerbose, verbose_.load());
  list.emplace_back(kFormat, std::string(kIso));
  return list;
}

void LogSettings::check(const std::string& name, const Value& value) const {
  const std::string what = "setting '" + name + "': ";
  if (std::ranges::find(switches(), name, &Switch::name) != switches().end()) {
    if (!std::holds_alternative<bool>(value)) refuse(what + "expected true or false");
  } else if (name == kVerbose) {
    if (!std::holds_alternative<std::uint64_t>(value)) refuse(what + "expected a number that is not negative");
  } else if (name == kFormat) {
    if (value != Value(std::string(kIso))) refuse(what + "expected ISO8601, the only format of the log");
  } else if (name == kLogFile) {
    refuse(what + "the log goes to stderr; it can only be redirected where the server is started");
  } else {
    refuse(what + "expected one of log_info, log_warning, log_error, log_verbose_level, log_format");
  }
}

void LogSettings::change(const List& settings) {
  for (const auto& [name, value] : settings) check(name, value);
  for (const auto& [name, value] : settings) {
    const auto at = std::ranges::find(switches(), name, &Switch::name);
    if (at != switches().end()) this->*at->on = std::get<bool>(value);
    if (name == kVerbose) verbose_ = std::get<std::uint64_t>(value);
  }
}

}  // namespace frazil::server
