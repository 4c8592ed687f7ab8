#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "code/entries.h"
#include "kernel/move/copy.h"
#include "kernel/move/edges.h"
#include "kernel/tile/tile.h"
#include "kernel/tuning/tuning.h"

namespace frazil::code {
namespace {

constexpr std::int64_t kUnitBytes = std::int64_t{1} << 16;

/// Returns the least time to read and write `bytes`. Strided bytes (`apart`) take longer.
double moving(double bytes, bool apart) {
  const kernel::Tuning& t = kernel::tuning();
  return bytes * (apart ? t.element : 2 * t.cached_byte);
}

struct CopyState {
  kernel::CopyPlan plan;
  kernel::CopyParts parts;
};

void cut(Prepare& cx, CopyState& s) {
  using Kind = kernel::CopyPlan::Kind;
  s.parts = kernel::copy_parts(s.plan, kUnitBytes);
  cx.units = s.parts.count;
  const bool apart = s.plan.kind == Kind::transpose || s.plan.kind == Kind::strided;
  cx.nanoseconds = moving(static_cast<double>(kernel::copy_bytes(s.plan)), apart);
}

Status prepare_copy(Prepare& cx, const params::Copy&, CopyState& s) {
  const auto &from = cx.in[0], &to = cx.out[0];
  const auto size = static_cast<std::int64_t>(byte_size(to.elem));
  if (from.dims.size() != to.dims.size()) {  // one element: a scalar and a [1]
    const std::int64_t count[] = {to.count()}, step[] = {1};
    kernel::plan_copy(s.plan, count, step, step, size);
    return {};
  }
  if (!kernel::plan_copy(s.plan, to.dims, to.strides, from.strides, size)) {
    return fail(Code::unsupported, "a copy of more than {} axes", kernel::kMaxCopyRank);
  }
  cut(cx, s);
  return {};
}

/// Copies a value, unless it is its own copy, such as a value that is appended to in place.
void run_copy(const Call& call, const Worker&, const CopyState& s, std::int64_t begin, std::int64_t end) {
  if (call.out[0] != call.in[0]) kernel::run_copy_parts(s.plan, s.parts, begin, end, call.out[0], call.in[0]);
}

/// The state of a fill. A unit has kFillPiece elements.
struct FillState {
  std::size_t size = 0, count = 0;
  bool zero = true;
};
constexpr std::size_t kFillPiece = std::size_t{1} << 18;

Status prepare_fill(Prepare& cx, const params::Fill&, FillState& s) {
  const bool zero = cx.in.empty() || !cx.in[0].given;
  s = {byte_size(cx.out[0].elem), static_cast<std::size_t>(cx.out[0].count()), zero};
  cx.units = static_cast<std::int64_t>(std::max<std::size_t>(1, (s.count + kFillPiece - 1) / kFillPiece));
  cx.nanoseconds = moving(static_cast<double>(s.size) * static_cast<double>(s.count), false);
  return {};
}

void run_fill(const Call& cx, const Worker&, const FillState& s, std::int64_t first, std::int64_t past) {
  const std::size_t end = std::min(s.count, static_cast<std::size_t>(past) * kFillPiece);
  for (std::size_t begin = static_cast<std::size_t>(first) * kFillPiece; begin < end; begin += kFillPiece) {
    if (begin > 0 && stop_requested()) return;
    const std::size_t count = std::min(kFillPiece, s.count - begin);
    std::byte* const to = cx.out[0] + begin * s.size;
    if (s.zero) {
      std::memset(to, 0, s.size * count);
    } else {
      kernel::fill(to, cx.in[0], s.size, count);
    }
  }
}

struct EdgesState {
  kernel::EdgePlan plan;
  std::int64_t rows = 1, unit = 1;  ///< product of all axes but the last one, and the part of it in a unit
};

Status prepare_edges(Prepare& cx, const params::Edges& p, EdgesState& s) {
  kernel::EdgePlan& plan = s.plan;
  const auto &from = cx.in[0], &to = cx.out[0];
  const auto size = static_cast<std::int64_t>(byte_size(to.elem));
  plan.rank = static_cast<int>(to.dims.size());
  plan.elem_size = size;
  for (std::size_t d = 0; d < to.dims.size(); ++d) {
    plan.in[d] = from.dims[d];
    plan.out[d] = to.dims[d];
    plan.stride[d] = from.strides[d] * size;
    plan.offset[d] = p.offset[d];
    plan.outside[d] = p.outside[d];
  }
  if (!to.empty() && !kernel::edges_fit(plan)) return fail(Code::internal, "a view reads outside of its operand");
  if (to.empty()) return {};
  cx.scratch_bytes = static_cast<std::size_t>(kernel::edge_scratch_bytes(plan));
  if (plan.rank > 0) s.rows = to.count() / to.dims.back();
  const std::int64_t row = static_cast<std::int64_t>(to.bytes()) / s.rows;
  s.unit = items_per_unit(row, kUnitBytes);
  cx.units = ceil_div(s.rows, s.unit);
  cx.nanoseconds = moving(static_cast<double>(to.bytes()), row < 64);
  return {};
}

void run_edges(const Call& call, const Worker& worker, const EdgesState& s, std::int64_t begin, std::int64_t end) {
  const std::int64_t past = std::min(s.rows, end * s.unit);
  kernel::run_edges(s.plan, begin * s.unit, past, call.out[0], call.in[0], worker.scratch);
}

}  // namespace

KernelEntry entry_of(const params::Copy&) { return make_entry<params::Copy, CopyState, prepare_copy, run_copy>({}); }
KernelEntry entry_of(const params::Fill&) { return make_entry<params::Fill, FillState, prepare_fill, run_fill>({}); }
KernelEntry entry_of(const params::Edges& p) {
  return make_entry<params::Edges, EdgesState, prepare_edges, run_edges>(p);
}

}  // namespace frazil::code
