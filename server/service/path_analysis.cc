#include "server/service/path_analysis.h"

#include <algorithm>
#include <map>

#include <frazil/error.h>

#include "server/core/port.h"
#include "server/model/served_model.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

using Cost = std::optional<double>;
using Range = std::optional<api::ExtentRange>;

Cost sum(Cost a, Cost b) { return a && b ? Cost(*a + *b) : std::nullopt; }
Cost most(Cost a, Cost b) { return a && b ? Cost(std::max(*a, *b)) : std::nullopt; }

/// The bounds of a part of a request.
struct PathPart {
  Cost cost = 0, memory = 0;
  double width = 1;
};

PathPart sequence(const PathPart& a, const PathPart& b) {
  return {sum(a.cost, b.cost), most(a.memory, b.memory), std::max(a.width, b.width)};
}
PathPart choice(const PathPart& a, const PathPart& b) {
  return {most(a.cost, b.cost), most(a.memory, b.memory), std::max(a.width, b.width)};
}
PathPart parallel(const PathPart& a, const PathPart& b) {
  return {sum(a.cost, b.cost), sum(a.memory, b.memory), a.width + b.width};
}

Range merged(const Range& a, const Range& b) {
  if (!a || !b) return std::nullopt;
  return api::ExtentRange{.least = std::min(a->least, b->least), .most = std::max(a->most, b->most)};
}

KnownValue merged(const KnownValue& a, const KnownValue& b) {
  if (!a.ranked || !b.ranked || a.extents.size() != b.extents.size()) return {};
  KnownValue both{.ranked = true, .extents = {}, .integer = merged(a.integer, b.integer)};
  for (std::size_t i = 0; i < a.extents.size(); ++i) both.extents.push_back(merged(a.extents[i], b.extents[i]));
  return both;
}

bool is_one_integer(const api::Port& port) {
  return port.kind == api::Array::Kind::tensor && port.ranked && port.dims.empty() &&
         (port.dtype == api::Dtype::i64 || port.dtype == api::Dtype::i32);
}

/// Returns the ranges of the names in the extents of inputs.
std::map<std::string, api::ExtentRange> ranges_of(const std::vector<api::Port>& ports,
                                                  const std::vector<KnownValue>& inputs) {
  std::map<std::string, api::ExtentRange> ranges;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (is_one_integer(ports[i]) && inputs[i].integer && inputs[i].integer->least >= 0) {
      ranges[ports[i].name] = *inputs[i].integer;
    }
    if (!inputs[i].ranked || inputs[i].extents.size() != ports[i].dims.size()) continue;
    for (std::size_t k = 0; k < ports[i].dims.size(); ++k) {
      if (is_symbol(ports[i].dims[k]) && inputs[i].extents[k])
        ranges.try_emplace(ports[i].dims[k], *inputs[i].extents[k]);
    }
  }
  return ranges;
}

KnownValue known_output(const api::Port& port, const std::map<std::string, api::ExtentRange>& ranges) {
  if (port.kind != api::Array::Kind::tensor || !port.ranked) return {};
  KnownValue known{.ranked = true, .extents = {}};
  for (const std::string& dim : port.dims) {
    const auto fixed = fixed_extent(dim);
    const auto range = ranges.find(dim);
    known.extents.push_back(fixed                   ? Range({*fixed, *fixed})
                            : range != ranges.end() ? Range(range->second)
                                                    : std::nullopt);
  }
  return known;
}

class Analysis {
 public:
  PathBounds bounds;

  /// Returns the part of a call, and sets what is known of its outputs, by position.
  PathPart call(const Served& target, const std::vector<KnownValue>& inputs, std::vector<KnownValue>& outputs) {
    if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&target)) return of(*pipeline, inputs, outputs);
    const auto* const model = dynamic_cast<const ServedModel*>(&target);
    if (model == nullptr) return unbounded("model '" + target.name() + "' is not one that can be analysed");
    const auto ranges = ranges_of(target.inputs(), inputs);
    for (const api::Port& port : target.outputs()) outputs.push_back(known_output(port, ranges));
    return of(*model, ranges);
  }

 private:
  PathPart unbounded(const std::string& why) {
    if (bounds.why.empty()) bounds.why = why;
    return {.cost = std::nullopt, .memory = std::nullopt};
  }

  PathPart of(const ServedModel& model, const std::map<std::string, api::ExtentRange>& ranges) try {
    const api::WorstCase worst = api::worst_case(model.model(), ranges);
    PathPart part{.cost = worst.nanoseconds, .memory = static_cast<double>(worst.memory_bytes + worst.output_bytes)};
    const auto note = [&](const std::vector<api::Unbounded>& parts, Cost& bound) {
      if (parts.empty()) return;
      bound = std::nullopt;
      if (bounds.why.empty()) bounds.why = "model '" + model.name() + "': " + parts[0].where + ": " + parts[0].why;
    };
    note(worst.unbounded_work, part.cost);
    note(worst.unbounded_memory, part.memory);
    if (!part.memory) part.memory = model.memory_limit();
    return part;
  } catch (const api::Error& error) {
    return unbounded("model '" + model.name() + "': " + error.what());
  }

  PathPart of(const Pipeline& pipeline, const std::vector<KnownValue>& inputs, std::vector<KnownValue>& outputs) {
    auto outer = std::exchange(values_, {});  // slots are unique in one pipeline only
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[pipeline.input_slots()[i].id] = inputs[i];
    const PathPart part = of(pipeline.block());
    for (const Slot& slot : pipeline.block().results) outputs.push_back(value(slot));
    values_ = std::move(outer);
    return part;
  }

  PathPart of(const Block& block) {
    PathPart all;
    for (const NodePtr& node : block.nodes) all = sequence(all, of(*node));
    return all;
  }

  PathPart of(const Node& node) {
    const NodeView view = node.view();
    if (view.target != nullptr) return of_call(view);
    if (view.branches.empty()) return {};
    if (view.kind == "loop") return of_loop(view);
    if (view.kind == "shadow") return {.cost = 0, .memory = of(*view.branches[0].block).memory};
    std::vector<PathPart> parts;
    for (const NodeView::Branch& branch : view.branches) parts.push_back(of(*branch.block));
    define_results(node, view);
    if (view.kind == "switch" || view.kind == "split") return of_choice(view, parts);
    PathPart all = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      all = view.kind == "fallback" ? sequence(all, parts[i]) : parallel(all, parts[i]);
    }
    return all;
  }

  PathPart of_call(const NodeView& view) {
    std::vector<KnownValue> inputs(view.target->inputs().size()), outputs;
    for (const auto& [name, slot] : view.inputs) {
      if (const auto at = position_of(view.target->inputs(), name)) inputs[*at] = value(slot);
    }
    const PathPart part = call(*view.target, inputs, outputs);
    for (const auto& [name, slot] : view.outputs) {
      const auto at = position_of(view.target->outputs(), name);
      if (at && *at < outputs.size()) values_[slot.id] = outputs[*at];
    }
    return part;
  }

  /// Values that iterations hand on are unknown.
  PathPart of_loop(const NodeView& view) {
    PathPart body = of(*view.branches[0].block);
    if (body.cost) *body.cost *= static_cast<double>(view.most);
    return body;
  }

  /// Takes the larger branch, where a branch with a cheaper one counts as that one.
  PathPart of_choice(const NodeView& view, const std::vector<PathPart>& parts) {
    const auto last_of = [&](std::size_t i) {
      while (view.branches[i].cheaper) i = *view.branches[i].cheaper;
      return i;
    };
    PathPart all = parts[last_of(0)];
    for (std::size_t i = 1; i < parts.size(); ++i) all = choice(all, parts[last_of(i)]);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!view.branches[i].cheaper) continue;
      all.memory = most(all.memory, parts[i].memory);
      const Cost extra = parts[i].cost && all.cost ? Cost(std::max(*parts[i].cost - *all.cost, 0.0)) : std::nullopt;
      const auto [at, is_new] = bounds.extra_ns.emplace(view.branches[i].block, extra);
      if (!is_new) at->second = most(at->second, extra);
    }
    return all;
  }

  void define_results(const Node& node, const NodeView& view) {
    const std::vector<Slot> results = node.writes();
    for (std::size_t k = 0; k < results.size(); ++k) {
      KnownValue known = value(view.branches[0].block->results[k]);
      for (const NodeView::Branch& branch : view.branches) known = merged(known, value(branch.block->results[k]));
      values_[results[k].id] = std::move(known);
    }
  }

  KnownValue value(const Slot& slot) const {
    const auto at = values_.find(slot.id);
    return at == values_.end() ? KnownValue() : at->second;
  }

  std::map<std::size_t, KnownValue> values_;
};

}  // namespace

PathBounds path_bounds(const Served& target, const std::vector<KnownValue>& inputs) {
  Analysis analysis;
  std::vector<KnownValue> outputs;
  const PathPart all = analysis.call(target, inputs, outputs);
  PathBounds bounds = std::move(analysis.bounds);
  bounds.cost_ns = all.cost;
  if (all.memory) bounds.memory_bytes = static_cast<std::uint64_t>(*all.memory);
  bounds.width = all.width;
  return bounds;
}

}  // namespace frazil::server
