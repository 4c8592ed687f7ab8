#include "server/replay/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/core/json_text.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using api::Array;

bool equal_bits(const Array& a, const Array& b) {
  if (a.kind() != b.kind()) return false;
  if (!a.is_tensor()) return bytes_of_state({{"", a}}, 0) == bytes_of_state({{"", b}}, 0);
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.dtype() == api::Dtype::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

std::string element_text(const Array& array, std::int64_t i) {
  if (array.dtype() == api::Dtype::string) return array.values<std::string>()[static_cast<std::size_t>(i)];
  return number_text(array.number(i));
}

bool same_element(const Array& a, const Array& b, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (a.dtype() == api::Dtype::string) return a.values<std::string>()[at] == b.values<std::string>()[at];
  const std::size_t size = api::byte_size(a.dtype());
  return std::memcmp(static_cast<const char*>(a.data()) + at * size, static_cast<const char*>(b.data()) + at * size,
                     size) == 0;
}

/// Writes the first difference of two arrays that differ.
void name_difference(const std::string& output, const Array& was, const Array& is, ReplayReport& report) {
  report.place = "output '" + output + "'";
  const bool alike = was.is_tensor() && is.is_tensor() && was.dtype() == is.dtype() && was.sizes() == is.sizes();
  if (!alike) {
    report.recorded = was.str();
    report.replayed = is.str();
    return;
  }
  std::int64_t first = 0;
  while (first + 1 < was.count() && same_element(was, is, first)) ++first;
  report.place += "[" + std::to_string(first) + "]";
  report.recorded = element_text(was, first);
  report.replayed = element_text(is, first);
}

/// Raises the report's largest difference to that of two arrays of numbers.
void measure_difference(const Array& was, const Array& is, ReplayReport& report) {
  if (!was.is_tensor() || !is.is_tensor() || was.dtype() == api::Dtype::string || was.dtype() != is.dtype() ||
      was.sizes() != is.sizes()) {
    return;
  }
  for (std::int64_t i = 0; i < was.count(); ++i) {
    if (same_element(was, is, i)) continue;
    const double difference = std::abs(was.number(i) - is.number(i));
    report.largest = std::max(report.largest.value_or(0), difference);
  }
}

/// Compares one output. Returns how it compares alone.
ReplayResult compare_output(const RecordedOutput& was, const Array& is, bool strict, ReplayReport& report) {
  if (!was.digest.empty()) {
    if (digest_of_array(is) == was.digest) return ReplayResult::equal;
    if (report.place.empty()) {
      report.place = "output '" + was.name + "', of which the record has the digest";
      report.recorded = was.digest;
      report.replayed = digest_of_array(is);
    }
    return ReplayResult::different;
  }
  if (equal_bits(was.value, is)) return ReplayResult::equal;
  if (report.place.empty()) name_difference(was.name, was.value, is, report);
  measure_difference(was.value, is, report);
  return !strict && !api::difference(is, was.value) ? ReplayResult::close : ReplayResult::different;
}

std::string status_text(Http status, const std::string& error) {
  return status == Http::ok ? "ok" : std::to_string(static_cast<unsigned>(status)) + ": " + error;
}

}  // namespace

void compare_outcome(const Payload& recorded, const Outcome& now, const std::string& loose, ReplayReport& report) {
  const Http status = now ? Http::ok : now.error().status();
  const std::string error = now ? "" : now.error().what();
  if (status != recorded.status || error != recorded.error) {
    report.result = ReplayResult::different;
    report.place = "status";
    report.recorded = status_text(recorded.status, recorded.error);
    report.replayed = status_text(status, error);
    return;
  }
  report.result = ReplayResult::equal;
  if (!now) return;
  if (now->outputs.size() != recorded.outputs.size()) {
    report.result = ReplayResult::different;
    report.place = "the number of outputs";
    report.recorded = std::to_string(recorded.outputs.size());
    report.replayed = std::to_string(now->outputs.size());
    return;
  }
  for (std::size_t i = 0; i < recorded.outputs.size(); ++i) {
    const auto one = compare_output(recorded.outputs[i], now->outputs[i].second, loose.empty(), report);
    report.result = std::max(report.result, one);
  }
}

}  // namespace frazil::server
