#include "govern/sign/moment.h"

#include <charconv>
#include <chrono>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

using std::chrono::sys_seconds, std::chrono::seconds, std::chrono::sys_days;

/// Returns the number in digits [at, at + count), or nullopt.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

std::string moment_text(Moment moment) {
  constexpr Moment kEnd = 253'402'300'800;  // 10000-01-01
  if (moment < 0 || moment >= kEnd) fail(Code::bad_input, "the time {} is not in the years 1970 to 9999", moment);
  const sys_seconds time{seconds(moment)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::optional<Moment> moment_from(std::string_view text) {
  if (text.size() != 20) return std::nullopt;
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *year < 1970 || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const auto time = sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) + seconds(*second);
  const Moment moment = std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
  return moment_text(moment) == text ? std::optional(moment) : std::nullopt;
}

Moment moment_now() {
  return std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace frazil::govern
