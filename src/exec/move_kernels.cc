#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/copy.h"
#include "kernel/edges.h"
#include "kernel/tile.h"

namespace frazil {
namespace {

struct CopyState {
  kernel::CopyPlan plan;
};

Status prepare_copy(PrepareCx& cx, void* state) {
  auto& s = *new (state) CopyState{};
  const auto &from = cx.in[0], &to = cx.out[0];
  const auto size = static_cast<std::int64_t>(byte_size(to.elem));
  if (from.dims.size() != to.dims.size()) {  // one element, as a scalar here and [1] there
    const std::int64_t count[] = {to.count()}, step[] = {1};
    kernel::plan_copy(s.plan, count, step, step, size);
    return {};
  }
  if (!kernel::plan_copy(s.plan, to.dims, to.strides, from.strides, size)) {
    return fail(Code::unsupported, "a copy of more than {} axes", kernel::kMaxCopyRank);
  }
  return {};
}

/// A value that stays where it is, as one that is appended to, is its own copy.
void run_copy(const RunCx& cx, const void* state) {
  if (cx.out[0] == cx.in[0]) return;
  kernel::run_copy(static_cast<const CopyState*>(state)->plan, cx.out[0], cx.in[0]);
}

struct FillState {
  std::size_t size = 0, count = 0;
  bool zero = true;
};

Status prepare_fill(PrepareCx& cx, void* state) {
  const bool zero = cx.in.empty() || !cx.in[0].given;
  new (state) FillState{byte_size(cx.out[0].elem), static_cast<std::size_t>(cx.out[0].count()), zero};
  return {};
}

void run_fill(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const FillState*>(state);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t begin = 0; begin < s.count; begin += kPiece) {
    if (begin > 0 && stop_requested()) return;
    const std::size_t count = std::min(kPiece, s.count - begin);
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
};

Status prepare_edges(PrepareCx& cx, void* state) {
  auto& plan = (new (state) EdgesState{})->plan;
  const auto &from = cx.in[0], &to = cx.out[0];
  const auto size = static_cast<std::int64_t>(byte_size(to.elem));
  plan.rank = static_cast<int>(to.dims.size());
  plan.elem_size = size;
  for (std::size_t d = 0; d < to.dims.size(); ++d) {
    plan.in[d] = from.dims[d];
    plan.out[d] = to.dims[d];
    plan.stride[d] = from.strides[d] * size;
    plan.offset[d] = cx.step.ints[2 * d];
    plan.outside[d] = static_cast<kernel::Outside>(cx.step.ints[2 * d + 1]);
  }
  if (!to.empty() && !kernel::edges_fit(plan)) return fail(Code::internal, "a view reads outside of its operand");
  if (!to.empty()) cx.scratch_bytes = static_cast<std::size_t>(kernel::edge_scratch_bytes(plan));
  return {};
}

void run_edges(const RunCx& cx, const void* state) {
  kernel::run_edges(static_cast<const EdgesState*>(state)->plan, cx.out[0], cx.in[0], cx.scratch);
}

}  // namespace

const KernelCode kEdgesCode{sizeof(EdgesState), &prepare_edges, &run_edges};
const KernelCode kCopyCode{sizeof(CopyState), &prepare_copy, &run_copy};
const KernelCode kFillCode{sizeof(FillState), &prepare_fill, &run_fill};

}  // namespace frazil
