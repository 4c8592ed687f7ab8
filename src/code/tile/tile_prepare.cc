#include <algorithm>

#include "code/tile/tile_draft.h"
#include "kernel/tuning/tuning.h"
#include "tensor/buffer.h"

namespace frazil::code {

void TileDraft::pack() const {
  const TileArrays to(state);
  std::copy_n(operands, state.count(), to.operands);
  std::copy_n(constants, state.constants, to.constants);
  std::copy_n(ops, state.ops, to.ops);
  std::copy_n(extents, state.rank, to.extents);
  for (int a = 0; a < state.rank; ++a) std::copy_n(steps[a], state.count(), to.steps + a * state.count());
  std::copy_n(pointers, state.pointers, to.pointers);
}

namespace {

/// Returns true, after setting the size, if only that has changed. Functions and loops stay.
bool only_size_changed(const TileShapes& shapes, TileState& s) {
  const auto& [cx, code] = shapes;
  if (!s.prepared || !s.dense || s.inner < 2 || !shapes.all_dense()) return false;
  if (code.native != nullptr && s.native == nullptr && s.asked != code.native->generation()) return false;
  const bool empty = std::ranges::find(cx.domain, 0) != cx.domain.end();
  const std::int64_t elements = empty ? 0 : element_count(cx.domain);
  if (elements < 2) return false;
  const TileOperand* operands = TileArrays(s).operands;
  for (int k = 0; k < s.operands; ++k) {
    if ((operands[k].inner_step == 0) != (shapes.of(k).count() == 1)) return false;
  }
  s.inner = elements;
  return true;
}

void start_draft(const TileShapes& shapes, TileDraft& draft) {
  TileState& s = draft.state;
  s = TileState{};
  s.prepared = true;
  s.rows = shapes.code.rows;
  s.operands = static_cast<std::uint8_t>(shapes.cx.in.size());
  s.results = static_cast<std::uint8_t>(shapes.cx.out.size());
  for (int k = 0; k < s.count(); ++k) {
    const Elem elem = shapes.of(k).elem;
    draft.operands[k] = {.inner_step = 0, .size = static_cast<std::uint32_t>(byte_size(elem)), .elem = elem};
  }
}

Status check_broadcast(const Prepare& cx, const TileCode& code) {
  for (std::size_t i = 0; i < cx.in.size(); ++i) {
    const auto dims = cx.in[i].dims;
    const auto& axes = code.operands[i].access.axes;
    for (std::size_t a = 0; a < dims.size(); ++a) {
      const std::int64_t extent = axes[a] == Access::kFixed ? 1 : cx.domain[axes[a]];
      if (dims[a] == 1 || dims[a] == extent) continue;
      return fail(Code::bad_input, "extent {} of input {} does not broadcast to {}", dims[a], i, extent);
    }
  }
  return {};
}

/// Returns true, after adding the parameters, if there is machine code for the program.
bool find_native(const TileCode& code, TileDraft& draft, TileOps& ops) {
  TileState& s = draft.state;
  if (code.native == nullptr || s.outer == 0) return false;
  LoopForm form;
  for (int k = 0; k < s.count(); ++k) {
    const TileOperand& o = draft.operands[k];
    form.steps.push_back(o.inner_step == 0        ? InnerStep::one
                         : o.inner_step == o.size ? InnerStep::dense
                                                  : InnerStep::strided);
  }
  s.asked = code.native->generation();
  s.native = code.native->find(code, form);
  if (s.native == nullptr) return false;
  const std::vector<bool> read = parameters(code);
  for (std::uint32_t i = 0; i < code.body.size(); ++i) {
    if (read[i]) ops.add_constant(i);
  }
  return true;
}

// ---- tiles and units ----

/// Chooses units that are long enough to pay for their set-up, and no longer than a core's cache holds.
void choose_units(Prepare& cx, TileState& s, bool alone) {
  constexpr std::int64_t kUnitElements = std::int64_t{1} << 14;
  const std::int64_t elements = alone ? kLongTile : kUnitElements;
  const bool loops = s.rank != 0 || s.rows;
  s.unit = loops ? items_per_unit(s.inner, elements) : elements;
  cx.units = s.direct != nullptr ? 1 : std::max<std::int64_t>(1, ceil_div(loops ? s.outer : s.inner, s.unit));
  cx.nanoseconds = kernel::tuning().element * s.ops * static_cast<double>(s.outer) * static_cast<double>(s.inner);
}

/// Serves a program of one operation by a single call of its function.
void find_direct(TileState& s, const TileArrays& at) {
  const std::uint16_t values[] = {at.ops[0].a, at.ops[0].b, at.ops[0].c};
  for (int k = 0; k < 3; ++k) {
    const auto* p = std::find_if(at.pointers, at.pointers + s.pointers,
                                 [&](const TilePointer& pointer) { return pointer.value == values[k]; });
    s.direct_args[k] = p == at.pointers + s.pointers ? std::int8_t{-1} : static_cast<std::int8_t>(p->operand);
  }
  if (s.constants == 1) s.direct_constant = at.constants[0].bits;
  s.direct = at.ops[0].fn;
  s.direct_count = at.ops[0].once ? 1 : s.inner;
}

void choose_native(Prepare& cx, const TileCode& code, TileState& s) {
  s.tile = kLongTile;
  s.stride = aligned(static_cast<std::size_t>(std::max<std::int64_t>(s.inner, 1)) * code.width);
  cx.scratch_bytes = s.rows ? s.stride * (code.buffers + 1U) : 0;
  choose_units(cx, s, false);
  cx.nanoseconds = kernel::tuning().element * static_cast<double>(code.body.size()) * static_cast<double>(s.outer) *
                   static_cast<double>(s.inner);
}

/// Chooses the tile. A single operation that needs no buffer runs on long pieces.
void choose_tile(Prepare& cx, const TileCode& code, TileState& s, bool by_parts) {
  if (s.native != nullptr) return choose_native(cx, code, s);
  const TileArrays at(s);
  const bool alone = s.ops == 1 && at.ops[0].kind == TileOp::Kind::scalar && at.ops[0].to >= 0;
  s.tile = s.rows ? std::max<std::int64_t>(s.inner, 1) : alone ? kLongTile : kTile;
  const std::int64_t row = std::max<std::int64_t>(s.inner, 1);
  const std::int64_t held = s.rows ? row : std::min(kTile, row * std::max<std::int64_t>(s.outer, 1));
  s.stride = aligned(static_cast<std::size_t>(held) * code.width);
  s.spare = code.buffers;
  s.copies = static_cast<std::uint16_t>(code.buffers + 1);
  const bool in_place = alone && s.rank == 0 && !by_parts;  // it needs neither buffers nor copies
  const unsigned copies = s.rows ? 0 : static_cast<unsigned>(s.count());
  cx.scratch_bytes = in_place ? 0 : s.stride * (s.copies + copies);
  s.direct = nullptr;
  const bool one_piece = s.rank == 0 && s.outer == 1 && s.inner <= kLongTile;
  if (alone && one_piece && s.constants <= 1) find_direct(s, at);
  choose_units(cx, s, alone);
}

}  // namespace

Status prepare_tiles(Prepare& cx, const TileCode& code, TileState& state, bool by_parts) {
  const TileShapes shapes{cx, code};
  if (!only_size_changed(shapes, state)) {
    TileDraft draft(state);
    start_draft(shapes, draft);
    FRAZIL_CHECK(check_broadcast(cx, code));
    FRAZIL_CHECK(TileLoops(shapes, draft).merge());
    TileOps ops(code, draft);
    if (!find_native(code, draft, ops)) {
      for (std::uint32_t i = 0; i < code.body.size(); ++i) FRAZIL_CHECK(ops.add(i));
    }
    draft.pack();
  }
  choose_tile(cx, code, state, by_parts);
  cx.awaits_code |= code.native != nullptr && state.native == nullptr && state.outer != 0;
  return {};
}

}  // namespace frazil::code
