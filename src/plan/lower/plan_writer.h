#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/analyse/needs.h"
#include "plan/lower/registers.h"
#include "plan/model/layout.h"
#include "plan/model/plan.h"

namespace frazil {

/// Returns true for values that are kept as a Datum: sequences, optionals, maps, strings, and tensors of unknown rank.
bool is_object(const Type& type);

/// Writes the tables of a Plan: steps, slots, storages and registers. The lowering of nodes and of control flow writes
/// through it and finds the slots of values in it.
class PlanWriter {
 public:
  /// `plan` and `graph` must outlive it. The constructor numbers registers, so the symbols must exist.
  PlanWriter(const Graph& graph, Scope& scope, const Needs& needs, Plan& plan);

  // ---- steps ----
  template <class T>
  StepIndex emit(T body, NodeId node = {}) {
    plan.steps.push_back({.body = std::move(body), .node = node, .members = {}});
    return here() - 1;
  }
  StepIndex here() const { return static_cast<StepIndex>(plan.steps.size()); }
  void eval(std::uint32_t group) { emit(step::Evaluate{group}); }
  /// Evaluates the group that depends on the symbol, unless the last step does so.
  void eval_symbol(SymbolId symbol);
  void copy(SlotId from, SlotId to, NodeId node);
  /// Emits a check at the node's position: a branch that is not taken may contradict its constraints.
  void check(const Constraint& c, NodeId node);
  /// Emits guards for what types assume from this node on.
  void guard(NodeId node);
  /// Binds the symbols that are read from v's elements, in a group of their own.
  void after_definition(Value v);
  /// Assigns these registers to the symbols of v's type that v itself binds.
  void assign_extents(Value v, const std::vector<Reg>& dims);
  /// Returns these symbols, each with the register that holds its number.
  std::vector<step::Assign::Copy> own_extents(Value v, const std::vector<Reg>& dims) const;

  // ---- storages and slots ----
  std::uint32_t new_storage(Place place, std::uint32_t index = 0);
  SlotId new_slot(Value v, const Type& type, std::uint32_t storage, Layout layout);
  /// Returns a new slot with a storage of its own, sized by the type.
  SlotId own_slot(Value v, const Type& type);
  /// Returns a new slot with a storage of its own, for another value of the same type and extents.
  SlotId temp_like(SlotId slot);
  /// Returns a new slot that is another view of the storage of `base`.
  SlotId view_slot(SlotId base, Value v, Layout layout);
  void set_layout(SlotId slot, Layout layout);
  /// Returns the value's slot. Constants get one on their first use.
  SlotId slot(Value v);
  void set_slot(Value v, SlotId slot) { slot_of_[v.id] = slot; }
  bool has_slot(Value v) const { return static_cast<bool>(slot_of_[v.id]); }
  /// Returns the slot itself if it is row-major, else a packed copy.
  SlotId contiguous(SlotId slot, NodeId for_node);

  const Layout& layout(SlotId s) const { return layouts_[s.id]; }
  Storage& storage(SlotId s) { return plan.storages[plan.slot(s).storage]; }
  /// Returns true if the Dim depends on the inputs' extents only.
  bool at_start(Dim d) const { return regs.group(d) == 0; }
  Reg bytes_of(Elem elem, const Shape& shape);

  const Graph& graph;
  Scope& scope;
  const Needs& needs;
  Plan& plan;
  Registers regs;
  std::vector<bool> has_capacity;  ///< per storage: holds a value with a capacity along an axis

 private:
  std::vector<SlotId> slot_of_;  // per value
  std::vector<Layout> layouts_;  // per slot
};

}  // namespace frazil
