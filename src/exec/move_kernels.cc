#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/copy.h"
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

void run_copy(const RunCx& cx, const void* state) {
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

}  // namespace

const KernelCode kCopyCode{sizeof(CopyState), &prepare_copy, &run_copy};
const KernelCode kFillCode{sizeof(FillState), &prepare_fill, &run_fill};

}  // namespace frazil
