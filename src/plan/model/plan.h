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

/// The memory that holds a value's bytes.
enum class Place : std::uint8_t {
  constant,  ///< a weight of the graph; `index` is its value
  input,     ///< the request's tensor; `index` is the graph input
  arena,     ///< the session's arena: size known when the request starts
  growing,   ///< a buffer of its own: its size is known only while the request runs, or a loop swaps it
  output,    ///< the result tensor; `index` is the graph output
  object,    ///< a Datum: sequences, optionals, maps, strings, tensors of unknown rank
  tiles,     ///< never as a whole: the prologue of a fused kernel makes some rows at a time in scratch memory
};
std::string_view name_of(Place place);

struct Storage {
  Place place = Place::arena;
  DeviceId device = kHost;  ///< constant, arena: whose memory holds the bytes; other places: always the host
  std::uint32_t index = 0;
  Reg bytes = kNoReg;                 ///< arena, growing, output: the number needed
  std::uint32_t pool = kNone;         ///< arena: the pool that it shares
  std::uint32_t first = 0, last = 0;  ///< the steps between which it is live
  bool swapped = false;               ///< a loop swaps it with another storage
  bool by_rows = false;               ///< each iteration of a loop writes one part
};

/// A value at run time: type, extents and location.
struct Slot {
  Elem elem = Elem::f32;
  std::vector<Reg> dims;
  std::vector<Reg> strides;  ///< in elements; empty: row-major without padding
  Reg offset = kNoReg;       ///< in elements
  std::uint32_t storage = kNone;
  Value value{};  ///< the value that it holds
  bool object = false;

  /// Returns true if the slot covers its storage, in row-major order.
  bool is_whole() const { return strides.empty() && offset == kNoReg; }
};

/// Registers that are computed together, after the last symbol they read is bound.
struct RegGroup {
  DimProgram program;
  std::vector<SymbolId> sources;      ///< symbols whose change makes the group stale
  std::vector<StepIndex> dependents;  ///< steps to prepare again
};

/// A scan output under construction: [count, element dims...].
struct Accumulator {
  std::uint32_t storage = kNone;
  Reg count = kNoReg;
  std::vector<Reg> dims;  ///< extents of an element; set by append
  bool object = false;    ///< strings or unknown rank: elements are kept one by one, not in the storage
  Elem elem = Elem::f32;
  NodeId node{};
};

/// The steps of one region, and its state from one iteration to the next.
struct PlannedRegion {
  NodeId node;
  StepIndex begin = 0, end = 0;  ///< its steps are [begin, end)
  StepIndex head = kNone;        ///< the first step of its loop; kNone: it has no loop
  /// Steps [begin, end) run `block`; [glue, begin) bind its params.
  struct Entry {
    BlockId block;
    StepIndex glue = 0, begin = 0, end = 0;
  };
  std::vector<Entry> blocks;
  std::vector<Reg> counters;
  Reg iteration = kNoReg;  ///< of a loop: the counter that counts iterations from 0
  std::vector<SlotId> variables;
  std::vector<std::uint32_t> accumulators;  ///< indices in Plan::accumulators; kNone if `stacked` has a slot
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
  std::vector<std::vector<Reg>> pools;  ///< per arena pool: registers with sizes, of which it holds the largest
  std::vector<DeviceId> pool_device;    ///< per pool: the device whose memory holds it
  std::uint32_t registers = 0;
  std::vector<SlotId> inputs, outputs;
  /// One axis of an input. It binds `symbol` if its extent is a plain symbol. Otherwise `symbol` is kNone, and the
  /// extent must be `constant` or the value of register `equals`.
  struct InputDim {
    SymbolId symbol = kNone;
    Bounds bounds = {};  ///< of the symbol
    Reg equals = kNoReg;
    std::int64_t constant = -1;  ///< the required extent if >= 0
  };
  std::vector<std::vector<InputDim>> input_dims;
  std::uint32_t loops = 0;
  std::vector<std::string> texts;  ///< descriptions of what step::Check compares
  /// A node that could have shared a step with the one that feeds it, and why it does not.
  struct Rejection {
    NodeId producer, node;
    std::string_view why;
  };
  std::vector<Rejection> rejections;
  /// A value that a Concat extends in place, in a loop or from one request to the next. The longer value replaces the
  /// older one. Only new elements are written, after the existing ones. Both values have a capacity along the axis.
  struct Append {
    NodeId node;
    Value from, to;
    std::uint32_t axis = 0;
    Reg capacity = kNoReg;
    SlotId slot;  ///< of the longer value
    /// Across requests: the graph input and output, and the capacity with which the input arrives.
    std::uint32_t input = kNone, output = kNone;
    Reg input_capacity = kNoReg;
  };
  std::vector<Append> appends;
  /// A value that grows the same way but is copied by each step, and the reason.
  struct Copied {
    NodeId node;
    Value from;
    std::string_view why;
  };
  std::vector<Copied> copied;

  Slot& slot(SlotId s) { return slots[s.id]; }
  const Slot& slot(SlotId s) const { return slots[s.id]; }
  const Storage& storage(SlotId s) const { return storages[slots[s.id].storage]; }
  /// Returns the kernel of a launch step; for a fused kernel with a producer, that of the producer. Returns nullopt for
  /// other steps.
  std::optional<Kernel> kernel_of(const Step& step) const;
  /// Returns a listing with slots, places and registers.
  std::string str() const;
};

}  // namespace frazil
