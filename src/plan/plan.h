#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/space.h"
#include "plan/program.h"
#include "sym/dim.h"

namespace frazil {

/// Which code serves a step. The executor maps names to code; the plan knows none.
enum class Kernel : std::uint8_t {
  reference,  ///< the reference executor runs the node: always right, never fast
  opaque,     ///< the operator's own run function
  tile,       ///< a program over tiles or rows
  copy,       ///< strided copy of operand 0 into a (view of a) result
  fill,       ///< operand 0 (a scalar) into every element; without operands: zero
  edges,      ///< a view with places outside of its operand: per axis the offset and a kernel::Outside
  pack,       ///< operand 0 without gaps: a copy, or nothing where the run has none
  plain,      ///< a matrix product, batches as in NumPy; f64 and wide integers
  // f32 from here on; ints and reals as listed.
  matmul,        ///< batches as in NumPy; a row to add, where given; 1 where max(., 0) follows
  nbits,         ///< a product with weights of few bits: K, N, bits, block size
  gemm,          ///< transpose a, transpose b, and 1 where max(., 0) follows; alpha, beta
  conv,          ///< 1-D and 2-D: groups, then Window
  max_pool,      ///< column-major indices, then Window
  average_pool,  ///< count the padding, then Window
  global_pool,   ///< 0: average, 1: maximum
  reduce,        ///< kernel::Reduce, first reduced axis, how many; any element type that the kernel has
  arg_reduce,    ///< kernel::Arg, last wins, axis; any element type that the kernel has
  softmax,       ///< over the last axis; 1: its logarithm
  layer_norm,    ///< first normalised axis; epsilon
  batch_norm,    ///< epsilon
  lstm,          ///< direction (0 forward, 1 reverse, 2 both), batch first; clip
  gru,           ///< the same, then linear before reset; clip
  attention,  ///< causal, kernel::Attention::Undefined, has a scale, bias last; scale, soft limit, score of hidden keys
  rotary,     ///< of the last axis: x * cos + (-second half, first half) * sin
};

/// How windows slide, as it stands in Step::ints: kernel (0, 0: the weights'), strides, dilations, begin pads, end pads
/// (each h, w), then the padding mode. 1-D operators have h = 1.
struct Window {
  enum Mode : std::int64_t { explicit_pads, same_upper, same_lower, valid };
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, begin[2] = {0, 0}, end[2] = {0, 0};
  std::int64_t mode = explicit_pads;
  void write(std::vector<std::int64_t>& ints) const;
  static Window read(std::span<const std::int64_t> ints);
  /// Begin pad of axis k for concrete extents.
  std::int64_t pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const;
  std::int64_t end_pad(int k, std::int64_t in, std::int64_t out, std::int64_t kernel_extent) const;
};
std::string_view name_of(Kernel kernel);

/// An integer register: symbols first, then derived values.
using Reg = std::uint32_t;
inline constexpr Reg kNoReg = ~0u;
inline constexpr std::uint32_t kNone = ~0u;

/// Where bytes live.
enum class Place : std::uint8_t {
  constant,  ///< a weight of the graph; `index` is its value
  input,     ///< the request's tensor; `index` is the graph input
  arena,     ///< the session's arena: size known when the request starts
  growing,   ///< a buffer of its own that grows: size known only while the request runs, or swapped by a loop
  output,    ///< the result tensor; `index` is the graph output
  object,    ///< sequences, optionals, maps, strings, tensors of unknown rank: a Datum
  parts,     ///< nowhere as a whole: a step makes a part at a time for itself
};

struct Storage {
  Place place = Place::arena;
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
  std::vector<Reg> strides;  ///< in elements; empty: row-major without gaps
  Reg offset = kNoReg;       ///< in elements
  std::uint32_t storage = kNone;
  Value value{};  ///< what it holds; for messages and dumps
  bool object = false;
};

/// Instructions of the tape. Operands are slots: inputs, then outputs.
struct Step {
  enum class Kind : std::uint8_t {
    eval,    ///< recompute register group `index` where a source changed
    kernel,  ///< run `kernel` on the operands
    bind,    ///< symbols := elements of operand 0; pairs are (symbol, element)
    assign,  ///< registers := registers, at once; pairs are (to, from)
    set,     ///< register `index` := `number`
    add,     ///< register `index` += `number`
    load,    ///< register `index` := the integer scalar in operand 0
    pick,    ///< the same for an index into `limit` (a register) positions: from the end where negative, else an error
    store,   ///< operand 0 (integers) := registers of pairs' second, at elements pairs' first
    jump,    ///< to `target`
    branch,  ///< to `target` unless operand 0 is true
    leave_at,  ///< to `target` when register `index` >= register `limit`
    again,     ///< back edge to `target`: one iteration done
    move,      ///< operand 1 := operand 0, by copy
    slice,     ///< object 1 := the part of object 0 at register `index` of axis `number`, that axis removed
    swap,      ///< storages of operands 0 and 1 change places
    grow,      ///< register `index` := a capacity along axis `number` of the result that holds register `limit`; what
               ///< the result has stays if in_place
    reserve,   ///< accumulator `index` gets room for one more element, of as many bytes as register `limit` says
    append,    ///< accumulator `index` gets operand 0, which lies there already if in_place
    reset,     ///< accumulator `index` is emptied
    stack,     ///< operand := the objects in accumulator `index`, along axis `number`
    check,     ///< registers of checks[`index`] must agree, or a user error
    guard,     ///< register `index` must be `number`, or another version runs; `limit` is the node's stable id
    halt,
  };
  Kind kind = Kind::halt;
  Kernel kernel = Kernel::reference;
  bool reversed = false;
  bool in_place = false;
  NodeId node{};                ///< of a group: the last member
  std::vector<NodeId> members;  ///< of a group of several nodes: all, in order
  std::uint32_t index = kNone, limit = kNone, target = kNone;
  std::int64_t number = 0;
  std::uint32_t program = kNone;  ///< Kernel::tile: which program. Of a product: the one that runs on its result
  std::vector<Reg> space;         ///< the extents that the program runs over
  /// Of a product with programs: how many of `in` are the product's own (the program's operand 0 is its result, the
  /// others of `in` follow), and which of `out` it writes, where the program may put something in its place.
  std::uint32_t heads = 0, base = 0;
  /// Of a product: the program that makes its operand 0, some rows at a time, and how many of `in`, the last ones, are
  /// that program's operands. Its space is operand 0.
  std::uint32_t before = kNone, tails = 0;
  std::vector<std::int64_t> ints;  ///< the kernel's parameters; see Kernel
  std::vector<float> reals;
  std::vector<std::uint32_t> in, out;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
};

/// Registers that are computed together, after the last symbol they read is bound.
struct RegGroup {
  DimProgram program;
  std::vector<SymbolId> sources;          ///< symbols whose change makes the group stale
  std::vector<std::uint32_t> dependents;  ///< steps to prepare again
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

/// The executable form of a graph: plain data that prints and diffs.
struct Plan {
  std::shared_ptr<const Graph> graph;  ///< after expansion; steps name its nodes
  std::vector<Step> steps;
  std::vector<Slot> slots;
  std::vector<Storage> storages;
  std::vector<RegGroup> groups;  ///< group 0 holds what the inputs determine
  std::vector<Accumulator> accumulators;
  std::vector<Program> programs;
  std::vector<std::vector<Reg>> pools;  ///< arena pools: the sizes of which each must hold the largest
  std::uint32_t registers = 0;
  std::vector<std::uint32_t> inputs, outputs;  ///< slots
  /// Per input and axis: the symbol that it binds or, where it is not a plain symbol, kNone and the register to equal.
  struct InputDim {
    SymbolId symbol = kNone;
    Reg equals = kNoReg;
    std::int64_t constant = -1;  ///< >= 0: must be this
  };
  std::vector<std::vector<InputDim>> input_dims;
  std::uint32_t loops = 0;
  /// Two registers that must agree, or a user error.
  struct Check {
    Reg a, b;
    NodeId node;
    std::string what;
  };
  std::vector<Check> checks;
  /// Nodes that could have run in one step with the one that feeds them, and why they do not.
  struct Apart {
    NodeId producer, node;
    std::string_view why;
  };
  std::vector<Apart> apart;
  /// A value that a Concat makes longer and that then stands for the older one, in a loop or from one request to the
  /// next: only what is new is written, behind what was there. Both are laid out with room for `capacity` along the
  /// axis.
  struct Append {
    NodeId node;
    Value from, to;
    std::uint32_t axis = 0;
    Reg capacity = kNoReg;
    std::uint32_t slot = kNone;  ///< of the longer one
    /// From request to request: which input and output, and the room that the input comes with.
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
  /// A listing with slots, places and registers.
  std::string str() const;
};

}  // namespace frazil
