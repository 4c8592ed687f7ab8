#include "server/request/classify.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "server/core/json_text.h"
#include "server/core/message.h"

namespace frazil::server {
namespace {

std::string text_of_class(double value, std::size_t index, std::span<const std::string> labels) {
  std::string text;
  append_number(text, value);
  text += ':';
  append_number(text, index);
  if (index < labels.size()) (text += ':') += labels[index];
  return text;
}

}  // namespace

api::Array classes_of(const api::Array& value, std::uint64_t count, std::span<const std::string> labels,
                      const std::string& output) {
  if (!value.is_tensor() || value.dtype() == api::Dtype::string || value.sizes().empty()) {
    throw Refusal(Http::bad_request, "output '" + output + "': classification needs a tensor of numbers with an axis");
  }
  api::Sizes sizes = value.sizes();
  const auto width = static_cast<std::size_t>(sizes.back());
  const std::size_t kept = std::min<std::size_t>(count, width);
  sizes.back() = static_cast<std::int64_t>(kept);
  api::Array classes(api::Dtype::string, sizes);
  const auto texts = classes.mutable_values<std::string>();
  std::vector<std::size_t> order(width);
  for (std::size_t row = 0; kept > 0 && row < texts.size() / kept; ++row) {
    const auto at = [&](std::size_t i) { return value.number(static_cast<std::int64_t>(row * width + i)); };
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), at);
    for (std::size_t i = 0; i < kept; ++i) texts[row * kept + i] = text_of_class(at(order[i]), order[i], labels);
  }
  return classes;
}

}  // namespace frazil::server
