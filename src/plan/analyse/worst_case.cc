#include "plan/analyse/worst_case.h"

#include <algorithm>
#include <cmath>

#include "ir/edit/builder.h"
#include "kernel/tuning/tuning.h"
#include "plan/analyse/operations.h"
#include "tensor/buffer.h"

namespace frazil {
namespace {

/// Returns the symbol of an extent of this name, or of the only element of an integer input of this name.
std::optional<SymbolId> symbol_of(const Graph& graph, std::string_view name) {
  if (const auto symbol = graph.scope().find_symbol(name)) return symbol;
  const auto& inputs = graph.input_names();
  const auto input = std::ranges::find(inputs, name);
  if (input == inputs.end()) return std::nullopt;
  const auto* known = graph.known_value(graph.main().params[static_cast<std::size_t>(input - inputs.begin())]);
  return known == nullptr || known->size() != 1 ? std::nullopt : graph.scope().as_symbol(known->front());
}

/// Returns the graph's scope with the ranges.
Scope narrowed(const Graph& graph, const ExtentRanges& ranges) {
  Scope scope = graph.scope();
  for (const auto& [name, bounds] : ranges) {
    if (const auto symbol = symbol_of(graph, name)) (void)scope.symbol(scope.symbol_name(*symbol), bounds);
  }
  return scope;
}

void note(std::vector<Unbounded>& list, std::string where, std::string why) {
  Unbounded one{std::move(where), std::move(why)};
  if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
}

/// Returns the name of the input whose only element is the value of a symbol.
std::optional<std::string> input_of(const Graph& graph, SymbolId symbol) {
  for (const std::string& name : graph.input_names()) {
    if (symbol_of(graph, name) == symbol && !graph.scope().find_symbol(name)) return name;
  }
  return std::nullopt;
}

/// Returns the reason why a Dim has no upper bound, by its symbols. `what` is the Dim: "an extent".
std::string unbounded_text(const Graph& graph, const Scope& scope, Dim d, std::string_view what) {
  std::string text;
  for (const SymbolId s : scope.symbols_of(d)) {
    if (symbol_bounds(scope, s).max < Dim::kMax) continue;
    if (!text.empty()) text += ", and ";
    if (const auto input = input_of(graph, s)) {
      text += fmt::format("the value of input '{}' has no upper bound", *input);
    } else if (is_unbacked(scope, s)) {
      text += fmt::format("{} depends on data", what);
    } else {
      text += fmt::format("extent '{}' has no upper bound", scope.symbol_name(s));
    }
  }
  return text.empty() ? fmt::format("{} has no upper bound", what) : text;
}

/// The table has the times of large work. Small products reach a third of their speed, and each step costs its start.
/// Decision 0223 has the measurements.
constexpr double kProductMargin = 3, kStepNanoseconds = 300;

/// The prices of operations, in nanoseconds on one core.
double price_of(Operations::Kind kind, Elem elem, const kernel::Tuning& t) {
  if (kind != Operations::Kind::product) return t.element;
  const std::size_t bytes = byte_size(elem);
  const double price = bytes == 1 ? t.byte_product : bytes == 8 ? t.wide_product : std::max(t.product, t.conv);
  return kProductMargin * price;
}

class WorkBound {
 public:
  WorkBound(const Graph& graph, const ExtentRanges& ranges) : reader_(graph) {
    Builder(reader_.graph()).scope() = narrowed(graph, ranges);
  }

  WorstWork run() {
    const Sum all = of_block(Graph::kMain);
    return {all.operations, all.nanoseconds, std::move(unbounded_)};
  }

 private:
  static constexpr std::string_view kIterations = "the number of iterations";
  struct Sum {
    double operations = 0, nanoseconds = 0;
    void add(const Sum& other, double times = 1) {
      operations += other.operations * times;
      nanoseconds += other.nanoseconds * times;
    }
  };

  Sum of_block(BlockId block) {
    Sum sum;
    const auto nodes = reader_.graph().block(block).nodes;  // a copy: expansions add nodes
    for (const NodeId id : nodes) sum.add(of_node(id, id));
    return sum;
  }

  /// `shown` is the node of the given graph from which `id` was expanded.
  Sum of_node(NodeId id, NodeId shown) {
    const NodeWork work = reader_.work_of(id);
    Sum sum;
    for (const Operations& one : work.terms) sum.add(of_term(one, id, shown));
    for (const NodeId inner : work.inner) sum.add(of_node(inner, shown));
    if (!reader_.graph().node(id).blocks.empty()) {
      sum.add(of_region(id, work, shown));
    } else if (!work.known && work.terms.empty()) {
      note(unbounded_, reader_.graph().describe(shown), "its work depends on more than extents");
    }
    return sum;
  }

  Sum of_region(NodeId id, const NodeWork& work, NodeId shown) {
    const bool repeats = !work.trips || !work.trips->is_const() || work.trips->value() != 1;
    Sum largest;
    const auto blocks = reader_.graph().node(id).blocks;
    for (const BlockId block : blocks) {
      const Sum sum = of_block(block);
      largest.operations = std::max(largest.operations, sum.operations);
      largest.nanoseconds = std::max(largest.nanoseconds, sum.nanoseconds);
    }
    if (!repeats) return largest;
    Sum all;
    const std::optional<double> trips = work.trips ? most(*work.trips, shown, kIterations) : std::nullopt;
    if (!work.trips) {
      note(unbounded_, reader_.graph().describe(shown), fmt::format("{} depends on data", kIterations));
    }
    all.add(largest, trips.value_or(1));
    return all;
  }

  Sum of_term(const Operations& one, NodeId id, NodeId shown) {
    using enum Operations::Kind;
    const auto points = most(one.points, shown, "an extent");
    if (!points) return {};
    const double n = *points;
    const auto count = [&] {
      switch (one.kind) {
        case element:
        case product: return n * one.each;
        case linear: return n;
        case sorting: return n * std::max(1.0, std::log2(std::max(n, 1.0)));
        case quadratic: return n * n;
        case cubic: return n * std::sqrt(n);
      }
      return n;
    };
    const Graph& graph = reader_.graph();
    const auto& node = graph.node(id);
    const Value typed = node.in.empty() || !node.in[0] ? node.out[0] : node.in[0];
    const Elem elem = graph.type(typed).elem;
    const double priced = one.kind == product ? n : count();
    return {count(), kStepNanoseconds + priced * price_of(one.kind, elem, kernel::tuning())};
  }

  /// Returns the upper bound of a number, or nullopt, with a note, if there is none.
  std::optional<double> most(Dim d, NodeId shown, std::string_view what) {
    const Scope& scope = reader_.graph().scope();
    const std::int64_t bound = d.is_const() ? d.value() : scope.bounds(d).max;
    if (bound < Dim::kMax) return static_cast<double>(std::max<std::int64_t>(bound, 0));
    note(unbounded_, reader_.graph().describe(shown), unbounded_text(reader_.graph(), scope, d, what));
    return std::nullopt;
  }

  OperationReader reader_;
  std::vector<Unbounded> unbounded_;
};

class MemoryBound {
 public:
  MemoryBound(const Plan& plan, const ExtentRanges& ranges) : plan_(plan), scope_(narrowed(*plan.graph, ranges)) {
    registers_.resize(plan.registers, Bounds{});
    for (SymbolId s = 0; s < std::min<std::size_t>(scope_.symbol_count(), plan.registers); ++s) {
      registers_[s] = symbol_bounds(scope_, s);
    }
    for (const RegGroup& group : plan.groups) group.program.run_bounds(registers_, 0, group.program.code.size());
  }

  WorstMemory run() {
    WorstMemory memory;
    for (const auto& pool : plan_.pools) {
      std::uint64_t largest = 0;
      for (const Reg size : pool) largest = std::max(largest, most(size));
      memory.arena += aligned(largest);
    }
    for (const Storage& storage : plan_.storages) {
      if (storage.bytes == kNoReg) continue;
      // A buffer that grows doubles its capacity, and exists with the smaller one meanwhile.
      if (storage.place == Place::growing) memory.arena += 3 * most(storage.bytes);
      if (storage.place == Place::output) memory.outputs += most(storage.bytes);
    }
    for (const Slot& slot : plan_.slots) {
      if (slot.object) note(unbounded_, describe(slot), "its items have sizes that only a run determines");
    }
    explain();
    memory.unbounded = std::move(unbounded_);
    return memory;
  }

 private:
  std::uint64_t most(Reg size) {
    const std::int64_t bound = registers_[size].max;
    if (bound < Dim::kMax) return static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 0));
    without_bound_.push_back(size);
    return 0;
  }

  /// Names the values of the sizes without a bound.
  void explain() {
    for (const Slot& slot : plan_.slots) {
      if (slot.storage == kNone || slot.object) continue;
      const Reg bytes = plan_.storages[slot.storage].bytes;
      if (bytes == kNoReg || std::ranges::find(without_bound_, bytes) == without_bound_.end()) continue;
      std::string why = "an extent depends on data";
      if (slot.value && plan_.graph->type(slot.value).is_tensor()) {
        for (const Dim d : plan_.graph->type(slot.value).shape) {
          if (!d.is_const() && scope_.bounds(d).max >= Dim::kMax)
            why = unbounded_text(*plan_.graph, scope_, d, "an extent");
        }
      }
      note(unbounded_, describe(slot), std::move(why));
    }
  }

  std::string describe(const Slot& slot) const {
    const Graph& graph = *plan_.graph;
    if (!slot.value) return "an inner value";
    if (const std::string& name = graph.value_name(slot.value); !name.empty()) return fmt::format("value '{}'", name);
    const auto producer = graph.producer(slot.value);
    return producer ? "a result of " + graph.describe(*producer) : std::string("an inner value");
  }

  const Plan& plan_;
  Scope scope_;
  std::vector<Bounds> registers_;
  std::vector<Reg> without_bound_;
  std::vector<Unbounded> unbounded_;
};

}  // namespace

bool has_extent(const Graph& graph, std::string_view name) { return symbol_of(graph, name).has_value(); }

WorstWork worst_work(const Graph& graph, const ExtentRanges& ranges) { return WorkBound(graph, ranges).run(); }

WorstMemory worst_memory(const Plan& plan, const ExtentRanges& ranges) { return MemoryBound(plan, ranges).run(); }

}  // namespace frazil
