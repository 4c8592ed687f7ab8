#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/fused.h"
#include "plan/model/step.h"
#include "sym/dim.h"

namespace frazil {

/// Where bytes live.
enum class Place : std::uint8_t {
  constant,  ///< a weight of the graph; `index` is its value
  input,     ///< the request's tensor; `index` is the graph input
  arena,     ///< the session's arena: size known when the request starts
  growing,   ///< a buffer of its own that grows: size known only while the request runs, or swapped by a loop
  output,    ///< the result tensor; `index` is the graph output
  object,    ///< sequences, optionals, maps, strings, tensors of unknown rank: a Datum
  tiles,     ///< nowhere as a whole: the prologue of a fused kernel makes some rows at a time in scratch memory
};
std::string_view name_of(Place place);

struct Storage {
  Place place = Place::arena;
  DeviceId device = kHost;  ///< constant, arena: which memory has the bytes; of other places always the host's
  std::uint32_t index = 0;
  Reg bytes = kNoReg;                 ///< arena, growing, output: how many are needed
  std::uint32_t pool = kNone;         ///< arena: the pool that it shares
  std::uint32_t first = 0, last = 0;  ///< steps between which it is live
  bool swapped = false;               ///< takes part in a loop's ping-pong
  bool by_rows = false;               ///< each iteration of a loop writes a part
};

/// A value at run time: type, extents, and where it lies.
struct Slot {
  Elem elem = Elem::f32;
  std::vector<Reg> dims;
  std::vector<Reg> strides;  ///< in elements; empty: row-major without padding
  Reg offset = kNoReg;       ///< in elements
  std::uint32_t storage = kNone;
  Value value{};  ///< what it holds; for messages and dumps
  bool object = false;

  /// The slot is all of its storage, in row-major order.
  bool is_whole() const { return strides.empty() && offset == kNoReg; }
};

/// Registers that are computed together, after the last symbol they read is bound.
struct RegGroup {
  DimProgram program;
  std::vector<SymbolId> sources;      ///< symbols whose change makes the group stale
  std::vector<StepIndex> dependents;  ///< steps to prepare again
};

/// A scan output while it grows: [count, element dims...].
struct Accumulator {
  std::uint32_t storage = kNone;
  Reg count = kNoReg;
  std::vector<Reg> dims;  ///< of an element; set by append
  bool object = false;    ///< strings or an unknown rank: elements are kept one by one, not in the storage
  Elem elem = Elem::f32;
  NodeId node{};
};

/// The steps of one region, and what they keep from one iteration to the next.
struct PlannedRegion {
  NodeId node;
  StepIndex begin = 0, end = 0;  ///< its steps are [begin, end)
  StepIndex head = kNone;        ///< of its loop; kNone: it has none
  /// Steps [begin, end) run `block`; [glue, begin) bind its params.
  struct Entry {
    BlockId block;
    StepIndex glue = 0, begin = 0, end = 0;
  };
  std::vector<Entry> blocks;
  std::vector<Reg> counters;
  Reg iteration = kNoReg;  ///< of a loop: the one of them that counts iterations from 0
  std::vector<SlotId> variables;
  std::vector<std::uint32_t> accumulators;  ///< of the plan; kNone where `stacked` has a slot
  std::vector<SlotId> stacked;              ///< per accumulator: the result that iterations fill
};

/// The executable form of a graph: plain data that prints and diffs.
struct Plan {
  std::shared_ptr<const Graph> graph;  ///< after expansion; steps name its nodes
  std::vector<Step> steps;
  std::vector<Slot> slots;
  std::vector<Storage> storages;
  std::vector<RegGroup> groups;  ///< group 0 holds what the inputs determine
  std::vector<Accumulator> accumulators;
  std::vector<PlannedRegion> regions;  ///< in the order in which they begin
  std::vector<std::shared_ptr<const FusedKernel>> fused;
  std::vector<std::vector<Reg>> pools;  ///< arena pools: the sizes of which each must hold the largest
  std::vector<DeviceId> pool_device;    ///< per pool: in whose memory it lies
  std::uint32_t registers = 0;
  std::vector<SlotId> inputs, outputs;
  /// Per input and axis: the symbol that it binds or, where it is not a plain symbol, kNone and the register to equal.
  struct InputDim {
    SymbolId symbol = kNone;
    Bounds bounds = {};  ///< of the symbol
    Reg equals = kNoReg;
    std::int64_t constant = -1;  ///< >= 0: must be this
  };
  std::vector<std::vector<InputDim>> input_dims;
  std::uint32_t loops = 0;
  std::vector<std::string> texts;  ///< what step::Check compares
  /// A node that could have shared a step with the one that feeds it, and why it does not.
  struct Rejection {
    NodeId producer, node;
    std::string_view why;
  };
  std::vector<Rejection> rejections;
  /// A value that a Concat makes longer and that then stands for the older one, in a loop or from one request to the
  /// next: only what is new is written, behind what was there. Both have a capacity along the axis.
  struct Append {
    NodeId node;
    Value from, to;
    std::uint32_t axis = 0;
    Reg capacity = kNoReg;
    SlotId slot;  ///< of the longer one
    /// From request to request: which input and output, and the capacity that the input comes with.
    std::uint32_t input = kNone, output = kNone;
    Reg input_capacity = kNoReg;
  };
  std::vector<Append> appends;
  /// Values that grow so as well, and why each step copies them.
  struct Copied {
    NodeId node;
    Value from;
    std::string_view why;
  };
  std::vector<Copied> copied;

  Slot& slot(SlotId s) { return slots[s.id]; }
  const Slot& slot(SlotId s) const { return slots[s.id]; }
  const Storage& storage(SlotId s) const { return storages[slots[s.id].storage]; }
  /// The kernel of a launch step; of a fused kernel with a producer, that of the producer. Nothing for other steps.
  std::optional<Kernel> kernel_of(const Step& step) const;
  /// A listing with slots, places and registers.
  std::string str() const;
};

}  // namespace frazil
