#include <algorithm>
#include <cstring>
#include <optional>

#include "code/tile/tile_state.h"
#include "kernel/tuning/tuning.h"
#include "tensor/buffer.h"

namespace frazil::code {
namespace {

bool is_plain(Elem e) { return compute_elem(e) == e; }

std::uint64_t constant_bits(const ScalarIns& ins) {
  std::uint64_t bits = 0;
  const auto put = [&](auto v) { std::memcpy(&bits, &v, sizeof v); };
  switch (ins.type) {
    case Elem::f32: put(static_cast<float>(ins.real)); break;
    case Elem::f64: put(ins.real); break;
    case Elem::boolean: put(static_cast<std::uint8_t>(ins.integer != 0)); break;
    default: put(ins.integer); break;  // little-endian: the low bytes are the narrower integer
  }
  return bits;
}

/// Returns true if a loop has no iterations. Empty rows alone still have results: those of folds.
bool has_no_loops(std::span<const std::int64_t> domain, bool rows) {
  const auto loops = rows ? domain.first(domain.size() - 1) : domain;
  return std::ranges::find(loops, 0) != loops.end();
}

/// Fills a TileState for new extents.
class TilePreparer {
 public:
  TilePreparer(Prepare& cx, const TileCode& code, TileState& state, bool by_parts)
      : cx_(cx), code_(code), s_(state), by_parts_(by_parts) {}

  Status run() {
    if (!only_size_changed()) {
      start();
      FRAZIL_CHECK(check_broadcast());
      FRAZIL_CHECK(merge_axes());
      if (!find_native()) {
        for (std::uint32_t i = 0; i < code_.body.size(); ++i) FRAZIL_CHECK(instruction(i));
      }
      pack();
    }
    choose_tile();
    cx_.awaits_code |= code_.native != nullptr && s_.native == nullptr && s_.outer != 0;
    return {};
  }

 private:
  const OperandShape& shape(int k) const {
    return k < s_.operands ? cx_.in[static_cast<std::size_t>(k)] : cx_.out[static_cast<std::size_t>(k - s_.operands)];
  }

  /// Returns true if every operand is one element or has the extents of the domain, without padding.
  bool all_dense() const {
    const auto whole = [&](const OperandShape& o) { return o.contiguous && std::ranges::equal(o.dims, cx_.domain); };
    return code_.in_order && std::ranges::all_of(cx_.out, whole) &&
           std::ranges::all_of(cx_.in, [&](const OperandShape& o) { return o.count() == 1 || whole(o); });
  }

  /// Returns true, after setting the size, if only that has changed. Functions and loops stay.
  bool only_size_changed() {
    if (!s_.prepared || !s_.dense || s_.inner < 2 || !all_dense()) return false;
    if (code_.native != nullptr && s_.native == nullptr && s_.asked != code_.native->generation()) return false;
    const bool empty = std::ranges::find(cx_.domain, 0) != cx_.domain.end();
    const std::int64_t elements = empty ? 0 : element_count(cx_.domain);
    if (elements < 2) return false;
    const TileOperand* operands = TileArrays(s_).operands;
    for (int k = 0; k < s_.operands; ++k) {
      if ((operands[k].inner_step == 0) != (shape(k).count() == 1)) return false;
    }
    s_.inner = elements;
    return true;
  }

  void start() {
    s_ = TileState{};
    s_.prepared = true;
    s_.rows = code_.rows;
    s_.operands = static_cast<std::uint8_t>(cx_.in.size());
    s_.results = static_cast<std::uint8_t>(cx_.out.size());
    for (int k = 0; k < s_.count(); ++k) {
      const Elem elem = shape(k).elem;
      operands_[k] = {.inner_step = 0, .size = static_cast<std::uint32_t>(byte_size(elem)), .elem = elem};
    }
  }

  bool find_native() {
    if (code_.native == nullptr || s_.outer == 0) return false;
    LoopForm form;
    for (int k = 0; k < s_.count(); ++k) {
      const TileOperand& o = operands_[k];
      form.steps.push_back(o.inner_step == 0        ? InnerStep::one
                           : o.inner_step == o.size ? InnerStep::dense
                                                    : InnerStep::strided);
    }
    s_.asked = code_.native->generation();
    s_.native = code_.native->find(code_, form);
    if (s_.native == nullptr) return false;
    const std::vector<bool> read = parameters(code_);
    for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
      if (read[i]) add_constant(i);
    }
    return true;
  }

  /// Copies the arrays from where they were built to where they are read.
  void pack() {
    const TileArrays to(s_);
    std::copy_n(operands_, s_.count(), to.operands);
    std::copy_n(constants_, s_.constants, to.constants);
    std::copy_n(ops_, s_.ops, to.ops);
    std::copy_n(extents_, s_.rank, to.extents);
    for (int a = 0; a < s_.rank; ++a) std::copy_n(steps_[a], s_.count(), to.steps + a * s_.count());
    std::copy_n(pointers_, s_.pointers, to.pointers);
  }

  Status check_broadcast() const {
    for (std::size_t i = 0; i < cx_.in.size(); ++i) {
      const auto dims = cx_.in[i].dims;
      const auto& axes = code_.operands[i].access.axes;
      for (std::size_t a = 0; a < dims.size(); ++a) {
        const std::int64_t extent = axes[a] == Access::kFixed ? 1 : cx_.domain[axes[a]];
        if (dims[a] == 1 || dims[a] == extent) continue;
        return fail(Code::bad_input, "extent {} of input {} does not broadcast to {}", dims[a], i, extent);
      }
    }
    return {};
  }

  /// Returns the bytes between neighbours of operand k along an axis of the domain.
  std::int64_t step_of(int k, std::size_t axis) const {
    const OperandShape& o = shape(k);
    const int own = code_.axis_of(static_cast<std::size_t>(k), axis);
    if (own < 0 || o.dims[static_cast<std::size_t>(own)] == 1) return 0;
    return o.strides[static_cast<std::size_t>(own)] * static_cast<std::int64_t>(byte_size(o.elem));
  }

  /// Merges the axes of the domain greedily into loops, from right to left. A row is never merged.
  Status merge_axes() {
    if (!s_.rows && all_dense()) return one_loop();
    if (has_no_loops(cx_.domain, s_.rows)) {
      s_.outer = 0;
      return {};
    }
    std::size_t axis = cx_.domain.size();
    if (axis > 0) {
      s_.inner = cx_.domain[--axis];
      for (int k = 0; k < s_.count(); ++k) operands_[k].inner_step = step_of(k, axis);
    }
    bool open = !s_.rows;  // the innermost loop can take more axes
    while (axis-- > 0) {
      const std::int64_t extent = cx_.domain[axis];
      if (extent == 1) continue;
      if (open && merges_inner(axis)) {
        widen_inner(axis);
        continue;
      }
      open = false;
      if (merges_outer(axis)) {
        extents_[s_.rank - 1] *= extent;
        continue;
      }
      if (s_.rank == kMaxTileLoops) {
        return fail(Code::limit, "its operands need more than {} nested loops", kMaxTileLoops + 1);
      }
      extents_[s_.rank] = extent;
      for (int k = 0; k < s_.count(); ++k) steps_[s_.rank][k] = step_of(k, axis);
      ++s_.rank;
    }
    for (int a = 0; a < s_.rank; ++a) s_.outer *= extents_[a];
    return {};
  }

  Status one_loop() {
    s_.dense = true;
    const bool empty = std::ranges::find(cx_.domain, 0) != cx_.domain.end();
    s_.inner = empty ? 0 : element_count(cx_.domain);
    for (int k = 0; k < s_.count(); ++k) {
      TileOperand& o = operands_[k];
      o.inner_step = k < s_.operands && s_.inner > 1 && shape(k).count() == 1 ? 0 : o.size;
    }
    return {};
  }

  bool merges_inner(std::size_t axis) const {
    if (s_.inner == 1) return true;
    for (int k = 0; k < s_.count(); ++k) {
      if (step_of(k, axis) != operands_[k].inner_step * s_.inner) return false;
    }
    return true;
  }

  void widen_inner(std::size_t axis) {
    for (int k = 0; k < s_.count() && s_.inner == 1; ++k) operands_[k].inner_step = step_of(k, axis);
    s_.inner *= cx_.domain[axis];
  }

  bool merges_outer(std::size_t axis) const {
    if (s_.rank == 0) return false;
    const int last = s_.rank - 1;
    for (int k = 0; k < s_.count(); ++k) {
      if (step_of(k, axis) != steps_[last][k] * extents_[last]) return false;
    }
    return true;
  }

  bool is_single(const TileOperand& o) const { return o.inner_step == 0 || s_.inner == 1; }
  /// Returns whether elements can be read or written in place: of the compute type, one or adjacent.
  bool lies_ready(const TileOperand& o) const { return is_plain(o.elem) && (is_single(o) || o.inner_step == o.size); }

  Status instruction(std::uint32_t i) {
    const FusedIns& ins = code_.body[i].ins;
    single_[i] = false;
    if (ins.row == RowOp::none && ins.scalar.op == ScalarOp::constant) {
      single_[i] = true;
      add_constant(i);
      stores(i, false);
      return {};
    }
    if (ins.row == RowOp::none && ins.scalar.op == ScalarOp::load) {
      load(i);
      stores(i, false);
      return {};
    }
    TileOp& op = add_op(i);
    if (ins.row == RowOp::none)
      scalar(op, code_.body[i], i);
    else
      row(op, ins, i);
    if (op.kind == TileOp::Kind::scalar && op.fn == nullptr) {
      return fail(Code::internal, "no tile primitive for its body");
    }
    stores(i, true);
    return {};
  }

  void add_constant(std::uint32_t i) {
    constants_[s_.constants++] = {constant_bits(code_.body[i].ins.scalar), static_cast<std::uint16_t>(i)};
  }

  TileOp& add_op(std::uint32_t i) {
    TileOp& op = ops_[s_.ops++] = TileOp{};
    op.to = -1;
    op.value = static_cast<std::uint16_t>(i);
    op.buffer = code_.body[i].buffer;
    op.type = code_.body[i].ins.scalar.type;
    op.a = static_cast<std::uint16_t>(code_.body[i].ins.scalar.a);
    op.b = static_cast<std::uint16_t>(code_.body[i].ins.scalar.b);
    op.c = static_cast<std::uint16_t>(code_.body[i].ins.scalar.c);
    return op;
  }

  void load(std::uint32_t i) {
    const auto k = static_cast<std::uint16_t>(code_.body[i].ins.scalar.operand);
    const TileOperand& o = operands_[k];
    single_[i] = is_single(o);
    if (lies_ready(o)) {
      pointers_[s_.pointers++] = {static_cast<std::uint16_t>(i), k};
      return;
    }
    TileOp& op = add_op(i);
    op.kind = TileOp::Kind::convert;
    op.a = k;
    op.once = single_[i];
  }

  void scalar(TileOp& op, const TileCode::Ins& code, std::uint32_t i) {
    const ScalarIns& ins = code.ins.scalar;
    const std::uint32_t args[3] = {ins.a, ins.b, ins.c};
    const int n = code.quantises ? 3 : arity(ins.op);
    unsigned mask = 0;
    for (int k = 0; k < n; ++k) mask |= single_[args[k]] ? 1U << k : 0U;
    op.once = single_[i] = mask == (1U << n) - 1;
    for (int k = 0; k < n; ++k) {
      const bool single = (mask >> k & 1U) != 0;
      op.steps[k] = single ? 0 : static_cast<std::uint8_t>(byte_size(code_.body[args[k]].ins.scalar.type));
    }
    if (n < 2) op.b = op.a;
    if (n < 3) op.c = op.a;
    if (op.once) mask = 0;
    const Elem operand = code_.body[ins.op == ScalarOp::select ? ins.b : ins.a].ins.scalar.type;
    if (code.quantises) {
      op.fn = kernel::quantise_fn(ins.type);
      return;
    }
    op.fn = ins.op == ScalarOp::cast ? kernel::cast_fn(operand, ins.type) : kernel::tile_fn(ins.op, operand, mask);
  }

  void row(TileOp& op, const FusedIns& ins, std::uint32_t i) {
    op.kind = is_fold(ins.row) ? TileOp::Kind::fold : TileOp::Kind::row;
    op.row = ins.row;
    op.once = single_[i] = is_fold(ins.row);
    op.expands = single_[ins.scalar.a] && s_.inner != 1;
    op.epsilon = static_cast<float>(ins.scalar.real);
  }

  /// Adds the stores of the results that instruction i holds. If it `computes`, the last op may write one of them
  /// directly.
  void stores(std::uint32_t i, bool computes) {
    bool direct = computes;
    const std::uint32_t computing = s_.ops - 1;
    for (std::uint32_t k = 0; k < s_.results; ++k) {
      if (code_.stores[k].value != i) continue;
      const TileOperand& o = operands_[s_.operands + k];
      if (direct && lies_ready(o) && single_[i] == is_single(o)) {
        ops_[computing].to = static_cast<std::int8_t>(k);
        direct = false;
        continue;
      }
      TileOp& op = add_op(i);
      op.kind = TileOp::Kind::store;
      op.to = static_cast<std::int8_t>(k);
      op.once = single_[i] && s_.inner > 1;
    }
  }

  /// Chooses the tile. A single operation that needs no buffer runs on long pieces.
  void choose_tile() {
    if (s_.native != nullptr) return choose_native();
    const TileArrays at(s_);
    const bool alone = s_.ops == 1 && at.ops[0].kind == TileOp::Kind::scalar && at.ops[0].to >= 0;
    s_.tile = s_.rows ? std::max<std::int64_t>(s_.inner, 1) : alone ? kLongTile : kTile;
    const std::int64_t row = std::max<std::int64_t>(s_.inner, 1);
    const std::int64_t held = s_.rows ? row : std::min(kTile, row * std::max<std::int64_t>(s_.outer, 1));
    s_.stride = aligned(static_cast<std::size_t>(held) * code_.width);
    s_.spare = code_.buffers;
    s_.copies = static_cast<std::uint16_t>(code_.buffers + 1);
    const bool in_place = alone && s_.rank == 0 && !by_parts_;  // it needs neither buffers nor copies
    const unsigned copies = s_.rows ? 0 : static_cast<unsigned>(s_.count());
    cx_.scratch_bytes = in_place ? 0 : s_.stride * (s_.copies + copies);
    s_.direct = nullptr;
    const bool one_piece = s_.rank == 0 && s_.outer == 1 && s_.inner <= kLongTile;
    if (alone && one_piece && s_.constants <= 1) find_direct(at);
    choose_units(alone);
  }

  void choose_native() {
    s_.tile = kLongTile;
    s_.stride = aligned(static_cast<std::size_t>(std::max<std::int64_t>(s_.inner, 1)) * code_.width);
    cx_.scratch_bytes = s_.rows ? s_.stride * (code_.buffers + 1U) : 0;
    choose_units(false);
    cx_.nanoseconds = kernel::tuning().element * static_cast<double>(code_.body.size()) *
                      static_cast<double>(s_.outer) * static_cast<double>(s_.inner);
  }

  /// Chooses units that are long enough to pay for their set-up, and no longer than a core's cache holds.
  void choose_units(bool alone) {
    constexpr std::int64_t kUnitElements = std::int64_t{1} << 14;
    const std::int64_t elements = alone ? kLongTile : kUnitElements;
    const bool loops = s_.rank != 0 || s_.rows;
    s_.unit = loops ? items_per_unit(s_.inner, elements) : elements;
    cx_.units = s_.direct != nullptr ? 1 : std::max<std::int64_t>(1, ceil_div(loops ? s_.outer : s_.inner, s_.unit));
    cx_.nanoseconds = kernel::tuning().element * s_.ops * static_cast<double>(s_.outer) * static_cast<double>(s_.inner);
  }

  void find_direct(const TileArrays& at) {
    const std::uint16_t values[] = {at.ops[0].a, at.ops[0].b, at.ops[0].c};
    for (int k = 0; k < 3; ++k) {
      const auto* p = std::find_if(at.pointers, at.pointers + s_.pointers,
                                   [&](const TilePointer& pointer) { return pointer.value == values[k]; });
      s_.direct_args[k] = p == at.pointers + s_.pointers ? std::int8_t{-1} : static_cast<std::int8_t>(p->operand);
    }
    if (s_.constants == 1) s_.direct_constant = at.constants[0].bits;
    s_.direct = at.ops[0].fn;
    s_.direct_count = at.ops[0].once ? 1 : s_.inner;
  }

  Prepare& cx_;
  const TileCode& code_;
  TileState& s_;
  const bool by_parts_;
  TileOperand operands_[kMaxFusedOperands + kMaxFusedStores];
  TileConstant constants_[kMaxFusedInstructions];
  TilePointer pointers_[kMaxFusedInstructions];
  TileOp ops_[kMaxTileOps];
  std::int64_t extents_[kMaxTileLoops];
  std::int64_t steps_[kMaxTileLoops][kMaxFusedOperands + kMaxFusedStores];
  bool single_[kMaxFusedInstructions];  // per instruction: one element instead of one for each of the tile
};

}  // namespace

Status prepare_tiles(Prepare& cx, const TileCode& code, TileState& state, bool by_parts) {
  return TilePreparer(cx, code, state, by_parts).run();
}

}  // namespace frazil::code
