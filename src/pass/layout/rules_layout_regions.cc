#include <algorithm>

#include "ops/control/control.h"
#include "pass/layout/layout_rules.h"

// Images that regions carry, or that their branches give.
namespace frazil::pass {
namespace {

/// The number of leading results of a body that are not carried, and of the carried results after them.
struct Carried {
  std::size_t skipped = 0, count = 0;
};
Carried carried_by(const Graph& graph, const Node& loop) {
  const std::size_t params = graph.block(loop.blocks[0]).params.size();
  if (loop.op == &ops::Scan) {
    return {0, params - static_cast<std::size_t>(loop.attributes<ops::ScanAttrs>().num_scan_inputs)};
  }
  return {1, params - 2};
}

bool is_loop(const Node& region) { return region.op == &ops::Loop || region.op == &ops::Scan; }

/// Returns the turn of one carried value. It takes the initial value and the body's result. It gives the body's param
/// and the loop's result.
LayoutChange carried_change(const Graph& graph, const Node& loop, std::size_t k) {
  const std::size_t skipped = carried_by(graph, loop).skipped, at = loop.op == &ops::Scan ? k : k + 2;
  const Block& body = graph.block(loop.blocks[0]);
  LayoutChange change{
      .image_inputs = {loop.in[at], body.results[k + skipped]}, .image_outputs = {body.params[at]}, .absorbed = {}};
  if (k < loop.out.size() && loop.out[k]) change.image_outputs.push_back(loop.out[k]);
  return change;
}

bool same_images(const Graph& graph, const LayoutChange& change) {
  const auto fits = [&](Value v) {
    return is_image(graph, v) && graph.type(v).rank() == graph.type(change.image_outputs[0]).rank();
  };
  return std::ranges::all_of(change.image_inputs, fits) && std::ranges::all_of(change.image_outputs, fits);
}

}  // namespace

std::vector<LayoutChange> region_layout_changes(const Graph& graph, const Node& region) {
  std::vector<LayoutChange> changes;
  if (is_loop(region)) {
    for (std::size_t k = 0; k < carried_by(graph, region).count; ++k)
      changes.push_back(carried_change(graph, region, k));
  } else if (region.op == &ops::If) {
    for (std::size_t k = 0; k < region.out.size(); ++k) {
      LayoutChange change{.image_inputs = {}, .image_outputs = {region.out[k]}, .absorbed = {}};
      for (BlockId b : region.blocks) change.image_inputs.push_back(graph.block(b).results[k]);
      if (region.out[k]) changes.push_back(std::move(change));
    }
  }
  std::erase_if(changes, [&](const LayoutChange& change) { return !same_images(graph, change); });
  return changes;
}

Value becomes(const Graph& graph, const Node& region, std::size_t index) {
  if (region.op == &ops::If) return region.out[index];
  if (!is_loop(region)) return {};
  const auto [skipped, count] = carried_by(graph, region);
  if (index < skipped || index - skipped >= count) return {};
  return carried_change(graph, region, index - skipped).image_outputs[0];
}

}  // namespace frazil::pass
