#include "tool/show.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/ranges.h>

#include "tool/fill.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

/// A slice of one axis.
struct Range {
  std::int64_t begin = 0, end = 0;
  bool keeps_axis = true;
};

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Parses "3", "1:4", ":-1" or ":" for an axis of this extent.
std::optional<Range> range_of(std::string_view text, std::int64_t extent) {
  const auto from_end = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + extent : i, 0, extent); };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto at = parse_integer(text);
    if (!at || *at >= extent || *at < -extent) return std::nullopt;
    const std::int64_t i = *at < 0 ? *at + extent : *at;
    return Range{i, i + 1, false};
  }
  const std::string_view front = text.substr(0, colon), back = text.substr(colon + 1);
  const auto begin = front.empty() ? 0 : parse_integer(front), end = back.empty() ? extent : parse_integer(back);
  if (!begin || !end) return std::nullopt;
  const std::int64_t first = from_end(*begin);
  return Range{first, std::max(first, from_end(*end)), true};
}

/// Returns the elements of these ranges, one for each axis.
Array elements_in(const Array& tensor, const std::vector<Range>& ranges) {
  Sizes sizes;
  for (const Range& range : ranges) {
    if (range.keeps_axis) sizes.push_back(range.end - range.begin);
  }
  Array part(tensor.dtype(), sizes);
  std::vector<std::int64_t> at;
  for (const Range& range : ranges) at.push_back(range.begin);
  const auto next = [&] {
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < ranges[axis].end) return;
      at[axis] = ranges[axis].begin;
    }
  };
  const auto position = [&] {
    std::int64_t i = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) i = i * tensor.sizes()[axis] + at[axis];
    return static_cast<std::size_t>(i);
  };
  const auto count = static_cast<std::size_t>(part.count());
  if (tensor.dtype() == Dtype::string) {
    const auto from = tensor.values<std::string>();
    const auto to = part.mutable_values<std::string>();
    for (std::size_t i = 0; i < count; ++i, next()) to[i] = from[position()];
    return part;
  }
  const std::size_t width = byte_size(tensor.dtype());
  const auto* const from = static_cast<const std::byte*>(tensor.data());
  auto* const to = static_cast<std::byte*>(part.mutable_data());
  for (std::size_t i = 0; i < count; ++i, next()) std::memcpy(to + i * width, from + position() * width, width);
  return part;
}

Array part_of(const Array& tensor, std::string_view text) {
  std::vector<Range> ranges;
  while (!text.empty()) {
    const std::size_t comma = text.find(','), axis = ranges.size();
    const std::string_view one = text.substr(0, comma);
    if (axis == tensor.sizes().size()) fail(Code::bad_input, "too many axes for {}", type_of(tensor));
    const auto range = range_of(one, tensor.sizes()[axis]);
    if (!range) fail(Code::bad_input, "'{}' is not a part of axis {} of {}", one, axis, type_of(tensor));
    ranges.push_back(*range);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  for (std::size_t axis = ranges.size(); axis < tensor.sizes().size(); ++axis) {
    ranges.push_back({0, tensor.sizes()[axis], true});
  }
  return elements_in(tensor, ranges);
}

/// Returns the text of a number, which has 6 digits if its type has fractions.
std::string element_text(const Array& t, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  switch (t.dtype()) {
    case Dtype::string: return "'" + one_line(t.values<std::string>()[at]) + "'";
    case Dtype::i64: return std::to_string(t.values<std::int64_t>()[at]);
    case Dtype::u64: return std::to_string(static_cast<std::int64_t>(t.values<std::uint64_t>()[at]));
    default: break;
  }
  const double number = t.number(i);
  if (is_float(t.dtype()) || is_complex(t.dtype())) return fmt::format("{:.6g}", number);
  return std::to_string(static_cast<std::int64_t>(number));
}

/// Returns the positions [0, count), with -1 in place of an omitted middle.
std::vector<std::int64_t> shown_of(std::int64_t count) {
  constexpr std::int64_t kEnds = 4;
  std::vector<std::int64_t> shown;
  for (std::int64_t i = 0; i < count; ++i) {
    if (count > 2 * kEnds + 1 && i == kEnds) {
      shown.push_back(-1);
      i = count - kEnds;
    }
    shown.push_back(i);
  }
  return shown;
}

/// Returns "[1,2]: ", the index of row `row` along all axes but the last.
std::string row_label(const Array& t, std::int64_t row) {
  std::vector<std::string> parts;
  for (std::size_t axis = t.sizes().size() - 1; axis-- > 0; row /= t.sizes()[axis]) {
    parts.push_back(std::to_string(row % t.sizes()[axis]));
  }
  std::ranges::reverse(parts);
  return parts.empty() ? "" : fmt::format("[{}]: ", fmt::join(parts, ","));
}

}  // namespace

Array find_shown(std::string_view text, const std::function<Array(std::string_view)>& value) {
  const std::size_t bracket = text.rfind('[');
  if (!text.ends_with(']') || bracket == std::string_view::npos) return value(text);
  try {
    return value(text);
  } catch (const Error&) {
    const Array of = value(text.substr(0, bracket));
    if (!of.is_tensor()) fail(Code::bad_input, "'{}' is not a tensor", text.substr(0, bracket));
    return part_of(of, text.substr(bracket + 1, text.size() - bracket - 2));
  }
}

std::string elements_text(const Array& tensor) {
  if (tensor.count() == 0) return "[]";
  if (tensor.sizes().empty()) return element_text(tensor, 0);
  const std::int64_t cols = tensor.sizes().back();
  std::string text;
  for (const std::int64_t row : shown_of(tensor.count() / cols)) {
    if (!text.empty()) text += '\n';
    if (row < 0) {
      text += "...";
      continue;
    }
    std::vector<std::string> line;
    for (const std::int64_t col : shown_of(cols)) {
      line.push_back(col < 0 ? "..." : element_text(tensor, row * cols + col));
    }
    text += fmt::format("{}{}", row_label(tensor, row), fmt::join(line, " "));
  }
  return text;
}

std::string histogram_text(const Array& tensor) {
  if (tensor.dtype() == Dtype::string) fail(Code::bad_input, "strings have no histogram");
  constexpr std::size_t kBins = 16, kWidth = 50;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t nan = 0, infinite = 0;
  const auto finite = [&](auto&& take) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if (const double x = tensor.number(i); std::isfinite(x)) take(x);
    }
  };
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    nan += std::isnan(tensor.number(i));
    infinite += std::isinf(tensor.number(i));
  }
  finite([&](double x) { low = std::min(low, x), high = std::max(high, x); });
  std::string text = fmt::format("{} elements, {} NaN, {} infinite", tensor.count(), nan, infinite);
  if (low > high) return text;
  const double width = high / kBins - low / kBins;
  std::vector<std::int64_t> bins(kBins);
  finite([&](double x) {
    const double at = width > 0 ? (x - low) / width : 0;
    ++bins[std::min(kBins - 1, static_cast<std::size_t>(at))];
  });
  const std::int64_t most = *std::ranges::max_element(bins);
  for (std::size_t b = 0; b < kBins; ++b) {
    const auto bar = static_cast<std::size_t>(static_cast<double>(bins[b]) / static_cast<double>(most) * kWidth);
    text += fmt::format("\n{:>12.5g}  {:>9}  {}", low + width * static_cast<double>(b), bins[b], std::string(bar, '#'));
    if (width == 0) break;
  }
  return text;
}

void save_tensor_file(const std::string& path, const Array& tensor) {
  if (path.ends_with(".pb")) return api::write_pb(tensor, path);
  tensor.write_npy(path);
}

Array read_tensor_file(const std::string& path) {
  return path.ends_with(".pb") ? Array::read_pb(path) : Array::read_npy(path);
}

}  // namespace frazil::tool
