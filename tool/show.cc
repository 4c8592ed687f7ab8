#include "tool/show.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/os/io.h"
#include "base/value/text.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

/// A slice of one axis.
struct Range {
  std::int64_t begin = 0, end = 0;
  bool keeps_axis = true;
};

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

Result<Tensor> part_of(const Tensor& tensor, std::string_view text) {
  Sizes sizes, strides;
  std::int64_t offset = 0;
  std::size_t axis = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    if (axis == tensor.rank()) return fail(Code::bad_input, "too many axes for {}", tensor.type_str());
    const std::int64_t extent = tensor.sizes()[axis], stride = tensor.strides()[axis];
    const auto range = range_of(one, extent);
    if (!range) return fail(Code::bad_input, "'{}' is not a part of axis {} of {}", one, axis, tensor.type_str());
    offset += range->begin < extent ? range->begin * stride : 0;
    if (range->keeps_axis) sizes.push_back(range->end - range->begin), strides.push_back(stride);
    ++axis;
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  for (; axis < tensor.rank(); ++axis) sizes.push_back(tensor.sizes()[axis]), strides.push_back(tensor.strides()[axis]);
  const std::int64_t width = static_cast<std::int64_t>(byte_size(tensor.elem()));
  const auto start = static_cast<std::size_t>(tensor.data() - tensor.buffer().data() + offset * width);
  return Tensor(tensor.elem(), std::move(sizes), std::move(strides), tensor.buffer(), start).packed();
}

std::string element_text(const Tensor& t, std::int64_t i) {
  if (t.elem() == Elem::string) return "'" + one_line(t.as<std::string>()[static_cast<std::size_t>(i)]) + "'";
  if (is_int(t.elem()) || t.elem() == Elem::boolean) return std::to_string(t.integer_at(i));
  return fmt::format("{:.6g}", t.number_at(i));
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
std::string row_label(const Tensor& t, std::int64_t row) {
  std::vector<std::string> parts;
  for (std::size_t axis = t.rank() - 1; axis-- > 0; row /= t.sizes()[axis]) {
    parts.push_back(std::to_string(row % t.sizes()[axis]));
  }
  std::ranges::reverse(parts);
  return parts.empty() ? "" : fmt::format("[{}]: ", fmt::join(parts, ","));
}

}  // namespace

Result<Datum> find_shown(std::string_view text, const std::function<Result<Datum>(std::string_view)>& value) {
  auto whole = value(text);
  const std::size_t bracket = text.rfind('[');
  if (whole || !text.ends_with(']') || bracket == std::string_view::npos) return whole;
  FRAZIL_TRY(const Datum of, value(text.substr(0, bracket)));
  if (!of.is_tensor()) return fail(Code::bad_input, "'{}' is not a tensor", text.substr(0, bracket));
  FRAZIL_TRY(Tensor part, part_of(of.tensor(), text.substr(bracket + 1, text.size() - bracket - 2)));
  return Datum(std::move(part));
}

std::string elements_text(const Tensor& tensor) {
  if (tensor.count() == 0) return "[]";
  if (tensor.rank() == 0) return element_text(tensor, 0);
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

Result<std::string> histogram_text(const Tensor& tensor) {
  if (tensor.elem() == Elem::string) return fail(Code::bad_input, "strings have no histogram");
  constexpr std::size_t kBins = 16, kWidth = 50;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t nan = 0, infinite = 0;
  const auto finite = [&](auto&& take) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if (const double x = tensor.number_at(i); std::isfinite(x)) take(x);
    }
  };
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    nan += std::isnan(tensor.number_at(i));
    infinite += std::isinf(tensor.number_at(i));
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

Status save_tensor_file(const std::string& path, const Tensor& tensor) {
  if (!path.ends_with(".pb")) return write_npy(path, tensor);
  FRAZIL_TRY(const std::string bytes, tensor_to_proto(tensor));
  return write_file(path, bytes);
}

Result<Tensor> read_tensor_file(const std::string& path) {
  if (!path.ends_with(".pb")) return read_npy(path);
  FRAZIL_TRY(Datum value, read_pb(path, ProtoKind::tensor));
  if (!value.is_tensor()) return fail(Code::bad_input, "'{}' holds no tensor", path);
  return value.tensor();
}

}  // namespace frazil::tool
