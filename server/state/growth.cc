#include "server/state/growth.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "server/core/port.h"

namespace frazil::server {
namespace {

/// Returns true if the extent is a sum with the symbol as a term, such as "P + 2*S" for "P".
bool adds_to(const std::string& symbol, const std::string& extent) {
  if (!is_symbol(symbol) || extent == symbol || extent.contains('-')) return false;
  return std::ranges::any_of(extent | std::views::split(std::string_view(" + ")),
                             [&](auto term) { return std::string_view(term) == symbol; });
}

std::optional<std::size_t> growing_axis(const api::Port& input, const api::Port& output) {
  std::optional<std::size_t> found;
  if (input.dims.size() != output.dims.size()) return {};
  for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
    if (!adds_to(input.dims[axis], output.dims[axis])) continue;
    if (found) return {};
    found = axis;
  }
  return found;
}

}  // namespace

Growing growing_states(const std::vector<StateLink>& links, const std::vector<api::Port>& inputs,
                       const std::vector<api::Port>& outputs) {
  Growing growing;
  std::vector<std::string> extents;  // of the groups
  for (std::size_t i = 0; i < links.size(); ++i) {
    const api::Port& input = inputs[*position_of(inputs, links[i].input)];
    const auto axis =
        links[i].axis ? links[i].axis : growing_axis(input, outputs[*position_of(outputs, links[i].output)]);
    if (!axis) continue;
    const std::string& extent = input.dims[*axis];
    const auto group = std::ranges::find(extents, extent) - extents.begin();
    if (group == std::ssize(extents)) extents.push_back(extent);
    growing.push_back({.value = i, .axis = *axis, .group = static_cast<std::size_t>(group)});
  }
  return growing;
}

}  // namespace frazil::server
