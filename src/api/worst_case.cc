#include "plan/analyse/worst_case.h"

#include <frazil/worst_case.h>

#include "api/access.h"
#include "api/open.h"

namespace frazil::api {
namespace {

ExtentRanges ranges_of(const Graph& graph, const std::map<std::string, ExtentRange>& extents) {
  ExtentRanges ranges;
  for (const auto& [name, range] : extents) {
    if (!has_extent(graph, name)) {
      refuse(frazil::Code::bad_input, "no input has an extent '{}' or is an integer of this name", name);
    }
    if (range.least < 0 || range.least > range.most) {
      refuse(frazil::Code::bad_input, "extent '{}': expected a range from at least 0, got {} to {}", name, range.least,
             range.most);
    }
    ranges[name] = {range.least, range.most};
  }
  return ranges;
}

std::vector<api::Unbounded> listed(std::vector<frazil::Unbounded> parts) {
  std::vector<api::Unbounded> list;
  for (frazil::Unbounded& part : parts) list.push_back({std::move(part.where), std::move(part.why)});
  return list;
}

}  // namespace

WorstCase worst_case(const Model& model, const std::map<std::string, ExtentRange>& extents) {
  Access::ModelImpl& impl = Access::impl(model);
  const ExtentRanges ranges = ranges_of(*impl.graph, extents);
  WorstWork work = worst_work(*impl.graph, ranges);
  WorstMemory memory = worst_memory(impl.executable(mode_of({}))->plan(), ranges);
  return {.operations = work.operations,
          .nanoseconds = work.nanoseconds,
          .unbounded_work = listed(std::move(work.unbounded)),
          .memory_bytes = memory.arena,
          .output_bytes = memory.outputs,
          .unbounded_memory = listed(std::move(memory.unbounded))};
}

}  // namespace frazil::api
