#include "tool/extent_ranges.h"

#include <charconv>
#include <optional>

#include "tool/error.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Reads "N=1..512" or "N=8".
std::pair<std::string, api::ExtentRange> range_from(const std::string& text) {
  const std::size_t sign = text.rfind('=');
  if (sign != std::string::npos) {
    const std::string_view range = std::string_view(text).substr(sign + 1);
    const std::size_t dots = range.find("..");
    const auto least = whole_number_of(range.substr(0, dots));
    const auto most = dots == std::string_view::npos ? least : whole_number_of(range.substr(dots + 2));
    if (least && most && *least <= *most) return {text.substr(0, sign), {*least, *most}};
  }
  fail(Code::bad_input, "--extent: expected NAME=LEAST..MOST, got '{}'", one_line(text));
}

}  // namespace

void add_extents(CLI::App& command, std::vector<std::string>& to) {
  command
      .add_option("--extent", to, "The range of an extent, or of an input that is one integer: N=1..512. Repeatable")
      ->type_name("NAME=LEAST..MOST")
      ->take_all()
      ->allow_extra_args(false);
}

std::map<std::string, api::ExtentRange> extent_ranges(const std::vector<std::string>& texts) {
  std::map<std::string, api::ExtentRange> ranges;
  for (const std::string& text : texts) ranges.insert(range_from(text));
  return ranges;
}

}  // namespace frazil::tool
