#include <algorithm>
#include <cstring>

#include "base/float.h"
#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/tile.h"
#include "plan/bind.h"

namespace frazil {
namespace {

constexpr int kMaxRank = 8;
constexpr int kMaxOperands = kMaxTileOperands;
constexpr int kMaxIns = kMaxTileInstructions;
constexpr std::int64_t kTile = 1024;
constexpr std::size_t kTileBytes = kTile * 8;

/// Loops over an output of any shape: axes merged where every operand allows it, the innermost cut into tiles.
struct TileState {
  bool dense = false;  ///< prepared before, for operands without gaps; a session's states begin as zeros
  int rank = 0;        ///< outer axes
  int operands = 0;
  std::int64_t inner = 1;  ///< elements of the innermost axis
  std::int64_t outer = 1;  ///< how many innermost rows
  std::int64_t extents[kMaxRank];
  std::int64_t steps[kMaxOperands + 1][kMaxRank];  ///< bytes; the last row is the output
  std::int64_t inner_step[kMaxOperands + 1];       ///< bytes between innermost elements
  std::size_t size[kMaxOperands + 1];
  Elem elem[kMaxOperands + 1];
  kernel::TileFn direct = nullptr;  ///< the whole step is one primitive on contiguous or scalar operands
  std::uint8_t direct_in[3];
  int direct_arity = 0;
  const ScalarTape* tape = nullptr;
  struct Ins {
    kernel::TileFn fn;
    std::uint64_t constant;
    bool scalar;
  } ins[kMaxIns];  ///< left as it is beyond the tape: zeroing it would cost more than preparing
};

/// The usual case: every operand is one element or has the output's extents, without gaps.
bool all_dense(const PrepareCx& cx) {
  const auto& out = cx.out[0];
  return out.contiguous && std::ranges::all_of(cx.in, [&](const OperandShape& in) {
           return in.count() == 1 || (in.contiguous && std::ranges::equal(in.dims, out.dims));
         });
}

constexpr int kMostLoops = 32;
static_assert(kMostLoops > kMaxRank);

/// The axes of the output, right to left, merged greedily.
void merge_axes(PrepareCx& cx, TileState& s) {
  const auto& out = cx.out[0];
  if (all_dense(cx) || out.empty()) {
    s.inner = out.count();
    s.rank = 0;
    s.outer = s.inner == 0 ? 0 : 1;
    for (int k = 0; k <= s.operands; ++k) {
      const bool repeats = k < s.operands && s.inner > 1 && cx.in[static_cast<std::size_t>(k)].count() == 1;
      s.inner_step[k] = repeats ? 0 : static_cast<std::int64_t>(s.size[k]);
    }
    return;
  }
  const std::size_t rank = out.dims.size();
  std::int64_t extents[kMostLoops];
  std::int64_t steps[kMaxOperands + 1][kMostLoops];
  int n = 0;
  auto step_of = [&](int k, std::size_t axis) -> std::int64_t {
    const OperandShape& o = k == s.operands ? out : cx.in[static_cast<std::size_t>(k)];
    const std::size_t skip = rank - o.dims.size();
    if (axis < skip || o.dims[axis - skip] == 1) return 0;
    return o.strides[axis - skip] * static_cast<std::int64_t>(s.size[k]);
  };
  for (std::size_t axis = rank; axis-- > 0;) {
    if (out.dims[axis] == 1) continue;
    bool merged = n > 0;
    for (int k = 0; k <= s.operands && merged; ++k) {
      merged = step_of(k, axis) == steps[k][n - 1] * extents[n - 1];
    }
    if (merged) {
      extents[n - 1] *= out.dims[axis];
      continue;
    }
    if (n == kMostLoops) {
      s.rank = kMostLoops;  // more than prepare takes
      return;
    }
    extents[n] = out.dims[axis];
    for (int k = 0; k <= s.operands; ++k) steps[k][n] = step_of(k, axis);
    ++n;
  }
  s.inner = n > 0 ? extents[0] : 1;
  s.rank = std::max(0, n - 1);
  s.outer = 1;
  for (int k = 0; k <= s.operands; ++k) {
    s.inner_step[k] = n > 0 ? steps[k][0] : static_cast<std::int64_t>(s.size[k]);
    for (int a = 0; a < std::min(s.rank, kMaxRank); ++a) s.steps[k][a] = steps[k][a + 1];
  }
  for (int a = 0; a < s.rank; ++a) {
    s.outer *= extents[a + 1];
    if (a < kMaxRank) s.extents[a] = extents[a + 1];
  }
  if (out.count() == 0) s.outer = 0;
}

Status check_broadcast(const PrepareCx& cx) {
  const auto& out = cx.out[0];
  for (std::size_t i = 0; i < cx.in.size(); ++i) {
    const std::size_t skip = out.dims.size() - cx.in[i].dims.size();
    for (std::size_t a = 0; a < cx.in[i].dims.size(); ++a) {
      const std::int64_t d = cx.in[i].dims[a];
      if (d != 1 && d != out.dims[skip + a]) {
        return fail(Code::bad_input, "extent {} of input {} does not broadcast to {}", d, i, out.dims[skip + a]);
      }
    }
  }
  return {};
}

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

/// Chooses a function for each instruction; which operands are single elements is known now.
bool choose(const ScalarTape& tape, TileState& s) {
  for (std::size_t i = 0; i < tape.code.size(); ++i) {
    const ScalarIns& ins = tape.code[i];
    TileState::Ins& to = s.ins[i];
    to.fn = nullptr;
    if (ins.op == ScalarOp::load) {
      to.scalar = s.inner_step[ins.operand] == 0 || s.inner == 1;
      continue;
    }
    if (ins.op == ScalarOp::constant) {
      to.scalar = true;
      to.constant = constant_bits(ins);
      continue;
    }
    const std::uint32_t args[3] = {ins.a, ins.b, ins.c};
    unsigned mask = 0;
    const int n = arity(ins.op);
    for (int k = 0; k < n; ++k) mask |= s.ins[args[k]].scalar ? 1u << k : 0u;
    to.scalar = mask == (1u << n) - 1;
    if (to.scalar) mask = 0;
    const Elem operand = tape.code[ins.op == ScalarOp::select ? ins.b : ins.a].type;
    to.fn = ins.op == ScalarOp::cast ? kernel::cast_fn(operand, ins.type) : kernel::tile_fn(ins.op, operand, mask);
    if (to.fn == nullptr) return false;
  }
  return true;
}

/// One primitive whose operands are loaded as they lie and whose result is stored as it is.
void find_direct(const ScalarTape& tape, TileState& s) {
  s.direct = nullptr;
  const ScalarIns& last = tape.code.back();
  const int n = arity(last.op);
  if (n == 0 || static_cast<int>(tape.code.size()) != n + 1) return;
  const std::uint32_t args[3] = {last.a, last.b, last.c};
  for (int k = 0; k < n; ++k) {
    const ScalarIns& in = tape.code[args[k]];
    if (in.op != ScalarOp::load || !is_plain(s.elem[in.operand])) return;
    const std::int64_t step = s.inner_step[in.operand];
    if (step != 0 && s.inner != 1 && step != static_cast<std::int64_t>(s.size[in.operand])) return;
    s.direct_in[k] = static_cast<std::uint8_t>(in.operand);
  }
  const int out = s.operands;
  const bool dense = s.inner == 1 || s.inner_step[out] == static_cast<std::int64_t>(s.size[out]);
  if (!dense || !is_plain(s.elem[out])) return;
  s.direct_arity = n;
  s.direct = s.ins[tape.code.size() - 1].scalar && s.inner > 1 ? nullptr : s.ins[tape.code.size() - 1].fn;
}

/// Another size of what was prepared before: functions and loops stay.
bool only_size_changed(const PrepareCx& cx, TileState& s) {
  const std::int64_t count = cx.out[0].count();
  if (!s.dense || count < 2 || !all_dense(cx)) return false;
  for (int k = 0; k < s.operands; ++k) {
    if ((s.inner_step[k] == 0) != (cx.in[static_cast<std::size_t>(k)].count() == 1)) return false;
  }
  s.inner = count;
  return true;
}

Status prepare(PrepareCx& cx, void* state) {
  if (only_size_changed(cx, *static_cast<TileState*>(state))) return {};
  auto& s = *new (state) TileState;
  s.direct = nullptr;
  s.direct_arity = 0;
  FRAZIL_CHECK(check_broadcast(cx));
  s.operands = static_cast<int>(cx.in.size());
  for (int k = 0; k <= s.operands; ++k) {
    s.elem[k] = k == s.operands ? cx.out[0].elem : cx.in[static_cast<std::size_t>(k)].elem;
    s.size[k] = byte_size(s.elem[k]);
  }
  merge_axes(cx, s);
  if (s.rank > kMaxRank) return fail(Code::unsupported, "its operands need more than {} nested loops", kMaxRank + 1);
  s.tape = &cx.plan.tapes[cx.step.tape];
  if (!choose(*s.tape, s)) return fail(Code::internal, "no tile primitive for its body");
  find_direct(*s.tape, s);
  s.dense = s.inner > 1 && all_dense(cx);
  cx.scratch_bytes = s.direct ? 0 : (s.tape->code.size() + 1) * kTileBytes;
  return {};
}

/// Packs n elements with a byte step into `to`, as the compute type.
const void* load(const std::byte* from, std::int64_t step, std::size_t size, Elem elem, std::byte* to, std::int64_t n) {
  const bool dense = n == 1 || step == static_cast<std::int64_t>(size);
  if (is_plain(elem) && dense) return from;
  alignas(8) std::byte packed[kTileBytes];
  const std::byte* source = from;
  if (!dense) {
    std::byte* dst = is_plain(elem) ? to : packed;
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(dst + i * static_cast<std::int64_t>(size), from + i * step, size);
    if (is_plain(elem)) return to;
    source = packed;
  }
  if (is_small_float(elem))
    to_f32(elem, source, reinterpret_cast<float*>(to), static_cast<std::size_t>(n));
  else
    std::memcpy(to, source, static_cast<std::size_t>(n));
  return to;
}

void store(const void* value, std::byte* to, std::int64_t step, std::size_t size, Elem elem, std::int64_t n,
           bool scalar) {
  alignas(8) std::byte rounded[kTileBytes];
  const std::int64_t have = scalar ? 1 : n;
  const auto* from = static_cast<const std::byte*>(value);
  if (is_small_float(elem)) {
    from_f32(elem, static_cast<const float*>(value), rounded, static_cast<std::size_t>(have), false);
    from = rounded;
  }
  if (step == static_cast<std::int64_t>(size) && !scalar) {
    if (from != to) std::memcpy(to, from, static_cast<std::size_t>(n) * size);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * step, from + (scalar ? 0 : i * static_cast<std::int64_t>(size)), size);
  }
}

void run_tile(const TileState& s, const std::byte* const* in, std::byte* out, std::byte* scratch, std::int64_t n) {
  const void* values[kMaxIns];
  const std::size_t count = s.tape->code.size();
  const int k_out = s.operands;
  const bool dense_out =
      is_plain(s.elem[k_out]) && (n == 1 || s.inner_step[k_out] == static_cast<std::int64_t>(s.size[k_out]));
  for (std::size_t i = 0; i < count; ++i) {
    const ScalarIns& ins = s.tape->code[i];
    std::byte* own = scratch + i * kTileBytes;
    if (ins.op == ScalarOp::constant) {
      values[i] = &s.ins[i].constant;
    } else if (ins.op == ScalarOp::load) {
      const auto k = ins.operand;
      values[i] = load(in[k], s.inner_step[k], s.size[k], s.elem[k], own, s.ins[i].scalar ? 1 : n);
    } else {
      const void* args[3] = {values[ins.a], values[ins.b], values[ins.c]};
      void* to = i + 1 == count && dense_out && !(s.ins[i].scalar && n > 1) ? out : own;
      s.ins[i].fn(to, args, static_cast<std::size_t>(s.ins[i].scalar ? 1 : n));
      values[i] = to;
    }
  }
  if (values[count - 1] != out) {
    store(values[count - 1], out, s.inner_step[k_out], s.size[k_out], s.elem[k_out], n,
          s.ins[count - 1].scalar && n > 1);
  }
}

/// Long rows in pieces, between which the run can be stopped.
void run_direct(const TileState& s, const std::byte* const* in, std::byte* out) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 16;
  const void* args[3];
  for (std::int64_t begin = 0;;) {
    for (int k = 0; k < s.direct_arity; ++k) {
      const std::uint8_t operand = s.direct_in[k];
      args[k] = in[operand] + begin * s.inner_step[operand];
    }
    s.direct(out + begin * static_cast<std::int64_t>(s.size[s.operands]), args,
             static_cast<std::size_t>(std::min(kPiece, s.inner - begin)));
    begin += kPiece;
    if (begin >= s.inner || stop_requested()) return;
  }
}

void run_row(const TileState& s, const std::byte* const* in, std::byte* out, std::byte* scratch) {
  if (s.direct) return run_direct(s, in, out);
  const std::byte* tile[kMaxOperands];
  const auto work = static_cast<std::int64_t>(kTile * s.tape->code.size());
  Pace pace;
  for (std::int64_t begin = 0; begin < s.inner && !pace.stop(work); begin += kTile) {
    for (int k = 0; k < s.operands; ++k) tile[k] = in[k] + begin * s.inner_step[k];
    run_tile(s, tile, out + begin * s.inner_step[s.operands], scratch, std::min(kTile, s.inner - begin));
  }
}

void run(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const TileState*>(state);
  if (s.rank == 0) {
    if (s.outer != 0) run_row(s, cx.in, cx.out[0], cx.scratch);
    return;
  }
  const std::byte* in[kMaxOperands];
  for (int k = 0; k < s.operands; ++k) in[k] = cx.in[k];
  std::byte* out = cx.out[0];
  std::int64_t index[kMaxRank] = {};
  Pace pace;
  for (std::int64_t row = 0; row < s.outer && !pace.stop(s.inner); ++row) {
    run_row(s, in, out, cx.scratch);
    for (int a = 0; a < s.rank; ++a) {
      for (int k = 0; k < s.operands; ++k) in[k] += s.steps[k][a];
      out += s.steps[s.operands][a];
      if (++index[a] < s.extents[a]) break;
      for (int k = 0; k < s.operands; ++k) in[k] -= s.steps[k][a] * s.extents[a];
      out -= s.steps[s.operands][a] * s.extents[a];
      index[a] = 0;
    }
  }
}

}  // namespace

const KernelCode kTileCode{sizeof(TileState), &prepare, &run};

}  // namespace frazil
