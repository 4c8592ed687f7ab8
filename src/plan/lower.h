#pragma once

#include <chrono>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/pass_set.h"
#include "ir/flow.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "plan/bind.h"
#include "plan/fuse.h"
#include "plan/needs.h"
#include "plan/plan.h"
#include "plan/registers.h"

namespace frazil {

/// One loop's steps, for lifetimes.
struct LoopSpan {
  std::uint32_t head, end;
};

/// What lowering knows of a slot beyond the Plan: its layout as Dims.
struct Layout {
  Shape shape;
  std::vector<Dim> strides;  ///< in elements
  Dim offset = 0;
  bool contiguous = true;  ///< row-major without gaps, at any offset
};

/// Writes the steps of a Plan. Memory (pools, in-place) is decided afterwards, in plan/memory.
class Lowering {
 public:
  Lowering(Graph& graph, const Needs& needs, const Fusion& fusion, PassSet passes, Plan& plan);
  Status run();
  const std::vector<LoopSpan>& loops() const { return loops_; }
  /// Results of loops that need no copy of each part, or no copy of the whole at the end.
  std::size_t stacked_in_place() const { return stacked_in_place_; }
  std::chrono::nanoseconds append_time() const { return append_time_; }
  std::chrono::nanoseconds stack_time() const { return stack_time_; }
  /// Writes the group of each symbol's register into `of`.
  void symbol_groups(std::vector<std::uint32_t>& of) const;

 private:
  /// A block whose nodes are being lowered, or (flow >= 0) a region node whose control flow is.
  struct Frame {
    BlockId block{};
    std::size_t next = 0;
    int flow = -1;
  };
  /// A branch or loop that is still open.
  struct Open {
    bool is_loop = false;
    std::uint32_t step = 0;             ///< branch: the step to patch; loop: its head
    std::vector<std::uint32_t> leaves;  ///< steps to point behind the loop
  };
  struct FlowState {
    NodeId node;
    Flow flow;
    std::size_t pc = 0;
    std::vector<std::uint32_t> variables;  ///< slots
    std::vector<Value> variable_params;    ///< the block param that each variable feeds
    std::vector<SymbolId> counters;
    std::vector<std::uint32_t> slices;  ///< slots
    std::vector<Dim> slice_extents;
    std::vector<std::uint32_t> accumulators;  ///< kNone where `stacked` has a slot
    std::vector<std::uint32_t> stacked;       ///< per accumulator: the result of known extents that iterations fill
    SymbolId row = kNone;                     ///< the counter of iterations
    std::vector<std::pair<std::int64_t, bool>> gathers;  ///< axis, reversed
    std::vector<std::uint32_t> gives;                    ///< how often each output is given
    std::vector<Open> open;
  };

  /// A value that a Concat makes longer and that then stands for the older one.
  struct Append {
    NodeId node;
    Value from, to;
    std::size_t axis = 0;
    std::uint32_t input = kNone, output = kNone;  ///< from request to request
    SymbolId capacity = kNone, input_capacity = kNone;
    bool open = false;  ///< lowering follows it
  };

  // lower.cc: values and nodes
  void define_inputs();
  Status define_outputs();
  bool fills_storage(std::uint32_t slot);
  std::uint32_t copied(std::uint32_t slot);
  Status node(NodeId id);
  Status view(NodeId id);
  Status view_output(NodeId id, const ViewMap& map, Value out);
  Status affine(NodeId id, const ViewMap& map, Value out);
  void pick(NodeId id, std::size_t axis);
  bool edges(NodeId id, const ViewMap& map, Value out);
  std::optional<std::pair<Layout, Shape>> repeated(const ViewMap& map, const Layout& from);
  void pad(NodeId id, const ViewMap& map, Value out);
  void concat(NodeId id, const ViewMap& map, Value out);
  void bind_operands(Step& s, NodeId id, const Binding& binding);
  void compute(NodeId id, const Binding& binding);
  void compute(const FusionGroup& group);
  std::uint32_t add_program(const FusionGroup& group);
  void make_result(Step& step, Value v);
  void known_content(Value v, NodeId id);
  /// Bind steps for symbols read from v, and a new group for them.
  void after_definition(Value v);
  void checks(NodeId id);
  void check(const Constraint& c, NodeId node);
  void check_one(std::uint32_t slot, NodeId node);

  // lower_slots.cc: slots, storages, registers
  std::uint32_t new_storage(Place place, std::uint32_t index = 0);
  std::uint32_t new_slot(Value v, const Type& type, std::uint32_t storage, Layout layout);
  Layout row_major(const Shape& shape);
  bool is_object(const Type& type) const;
  /// A slot with a storage of its own, sized by the type.
  std::uint32_t own_slot(Value v, const Type& type);
  std::uint32_t temp_like(std::uint32_t slot);
  std::uint32_t slot(Value v);
  std::uint32_t contiguous(std::uint32_t slot, NodeId for_node);
  std::uint32_t view_slot(std::uint32_t base, Value v, Layout layout);
  void set_layout(std::uint32_t slot, Layout layout);
  bool is_whole(std::uint32_t slot) const;
  std::uint32_t emit(Step step);
  std::uint32_t here() const { return static_cast<std::uint32_t>(plan_.steps.size()); }
  void eval(std::uint32_t group);
  void eval_symbol(SymbolId symbol);
  void copy(std::uint32_t from, std::uint32_t to, NodeId node);
  void move(std::uint32_t from, std::uint32_t to, NodeId node);  ///< where one of them is an object

  // lower_append.cc: values that a Concat makes longer
  void find_appends();
  void find_carried(const Flow& flow);
  void find_requested();
  void find_append(Value from, Value to, std::uint32_t output);
  bool all_bound(const Shape& shape, std::size_t but) const;
  void open_append(Value from);
  const Append* append_of(Value from) const;
  Layout spaced(const Shape& shape, const Append& append, SymbolId capacity);
  void grow(std::uint32_t slot, Dim least, const Append& append, bool keep);
  std::uint32_t growing_variable(Value param, const Append& append);
  bool append(NodeId id, const ViewMap& map, Value out);
  std::optional<Layout> regrouped(std::uint32_t slot, const Shape& shape) const;

  // lower_rows.cc: results of loops that iterations write part by part
  void find_row(FlowState& state);
  void open_stacked(FlowState& state);
  void reserve_rows(FlowState& state);
  void put_row(FlowState& state, const FlowOp& op);
  void place_row(FlowState& state, const FlowOp& op);
  std::optional<Layout> next_part(const FlowState& state, const Type& type);
  bool put_in_place(const FlowState& state, const Cell& cell, std::uint32_t part, std::uint32_t storage,
                    const Layout& row);
  bool written_by_kernels(const FlowState& state, std::uint32_t storage) const;
  Value output_of(const FlowState& state, std::uint32_t accumulator) const;

  // lower_flow.cc: regions
  void prepare_flows();
  void prepare_picks();
  void begin_flow(NodeId id);
  bool is_variable(const FlowState& state, std::uint32_t slot) const;
  std::uint32_t set_aside(std::uint32_t slot, NodeId node);
  std::uint32_t next_source(const FlowState& state, const Cell& cell, std::uint32_t from, std::uint32_t variable,
                            std::span<const std::uint32_t> taken);
  Status flow_step(FlowState& state);
  std::uint32_t cell_slot(FlowState& state, const Cell& cell);
  const Type& cell_type(const FlowState& state, const Cell& cell) const;
  void set_variables(FlowState& state, const FlowOp& op);
  std::vector<std::uint32_t> variable_sources(FlowState& state, const FlowOp& op, bool first);
  void assign_variables(const FlowState& state, const FlowOp& op, std::span<const std::uint32_t> sources);
  std::uint32_t first_variable(const FlowState& state, Value param, std::uint32_t source);
  bool is_own_result(const Cell& cell) const;
  void update(std::uint32_t variable, std::uint32_t source, NodeId node);
  Status enter(FlowState& state, const FlowOp& op);
  void slice(FlowState& state, const FlowOp& op);
  std::uint32_t slice_object(const FlowState& state, const FlowOp& op, std::uint32_t whole, const Shape& shape);
  void give(FlowState& state, const FlowOp& op);
  void give_gathered(FlowState& state, Value out, std::uint32_t accumulator);
  void stack(FlowState& state, Value out, std::uint32_t accumulator);
  void end_loop(FlowState& state);
  /// The check that the run takes the side which the types follow.
  void guard(const FlowState& state);
  void end_flow(const FlowState& state);
  /// Symbols of v's type that v itself binds, with the registers that give them.
  std::vector<std::pair<SymbolId, Reg>> own_extents(Value v, const std::vector<Reg>& dims) const;
  /// The step that gives them these registers' numbers.
  void assign_extents(Value v, const std::vector<Reg>& dims);

  Graph& graph_;
  Scope& scope_;
  const Needs& needs_;
  const Fusion& fusion_;
  const PassSet passes_;
  std::size_t stacked_in_place_ = 0;
  std::chrono::nanoseconds append_time_{}, stack_time_{};
  Plan& plan_;
  std::optional<Registers> regs_;
  std::vector<std::uint32_t> slot_of_;  // per value
  std::vector<Layout> layouts_;         // per slot
  std::vector<bool> renamable_;         // per storage: written by one step of an open block, seen by nobody else
  std::vector<Frame> frames_;
  std::vector<FlowState> flows_;                                                        // open ones, innermost last
  std::unordered_map<std::uint32_t, std::pair<Flow, std::vector<SymbolId>>> prepared_;  // per region node
  std::unordered_map<std::uint32_t, SymbolId> picks_;  // per node that picks: its index, from the front
  std::unordered_map<std::uint32_t, Append> appends_;  // per older value
  std::vector<bool> spaced_;                           // per storage: holds such a value, with room between its parts
  std::vector<LoopSpan> loops_;
};

/// Places, pools, lifetimes and in-place reuse of a lowered plan.
void plan_memory(Plan& plan, const std::vector<LoopSpan>& loops);

}  // namespace frazil
