#include <cmath>

#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/reduce.h"
#include "kernel/rows.h"

namespace frazil {
namespace {

float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  return n;
}

struct ReduceState {
  int op = 0;
  bool last = false;
  Elem elem = Elem::f32;
  std::int64_t outer = 1, extent = 1, inner = 1;
};

Status prepare_reduce(PrepareCx& cx, void* state) {
  const auto dims = cx.in[0].dims;
  const auto axis = static_cast<std::size_t>(cx.step.ints[1]), count = static_cast<std::size_t>(cx.step.ints[2]);
  new (state) ReduceState{.op = static_cast<int>(cx.step.ints[0]),
                          .last = false,
                          .elem = cx.in[0].elem,
                          .outer = product(dims.first(axis)),
                          .extent = product(dims.subspan(axis, count)),
                          .inner = product(dims.subspan(axis + count))};
  return {};
}

void run_reduce(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const ReduceState*>(state);
  kernel::reduce(static_cast<kernel::Reduce>(s.op), s.elem, cx.in[0], cx.out[0], s.outer, s.extent, s.inner);
}

Status prepare_arg_reduce(PrepareCx& cx, void* state) {
  const auto dims = cx.in[0].dims;
  const auto axis = static_cast<std::size_t>(cx.step.ints[2]);
  new (state) ReduceState{.op = static_cast<int>(cx.step.ints[0]),
                          .last = cx.step.ints[1] != 0,
                          .elem = cx.in[0].elem,
                          .outer = product(dims.first(axis)),
                          .extent = dims[axis],
                          .inner = product(dims.subspan(axis + 1))};
  return {};
}

void run_arg_reduce(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const ReduceState*>(state);
  kernel::arg_reduce(static_cast<kernel::Arg>(s.op), s.last, s.elem, cx.in[0],
                     reinterpret_cast<std::int64_t*>(cx.out[0]), s.outer, s.extent, s.inner);
}

struct RowState {
  std::int64_t rows = 0, cols = 0;
  bool log = false, biased = false, mean = false, inv_std = false;
  float epsilon = 0;
  kernel::Rows over(const RunCx& cx) const { return {rows, cols, f32(cx.in[0]), cols, f32(cx.out[0]), cols}; }
};

Status prepare_softmax(PrepareCx& cx, void* state) {
  auto& s = *new (state) RowState{};
  const auto dims = cx.in[0].dims;
  s.cols = dims.back();
  s.rows = product(dims.first(dims.size() - 1));
  s.log = cx.step.ints[0] != 0;
  return {};
}

void run_softmax(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const RowState*>(state);
  if (s.log)
    kernel::log_softmax(s.over(cx));
  else
    kernel::softmax(s.over(cx));
}

Status prepare_layer_norm(PrepareCx& cx, void* state) {
  auto& s = *new (state) RowState{};
  const auto dims = cx.in[0].dims;
  const auto axis = static_cast<std::size_t>(cx.step.ints[0]);
  s.rows = product(dims.first(axis));
  s.cols = product(dims.subspan(axis));
  s.epsilon = cx.step.reals[0];
  s.biased = cx.in.size() > 2 && cx.in[2].given;
  s.mean = cx.out.size() > 1 && cx.out[1].given;
  s.inv_std = cx.out.size() > 2 && cx.out[2].given;
  if (cx.in[1].count() != s.cols || (s.biased && cx.in[2].count() != s.cols)) {
    return fail(Code::bad_input, "Scale and B must have {} elements", s.cols);
  }
  return {};
}

void run_layer_norm(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const RowState*>(state);
  kernel::layer_norm(s.over(cx), f32(cx.in[1]), s.biased ? f32(cx.in[2]) : nullptr, s.epsilon,
                     s.mean ? f32(cx.out[1]) : nullptr, s.inv_std ? f32(cx.out[2]) : nullptr);
}

/// x[batch, channels, inner]; scale, bias, mean, variance per channel.
struct BatchNormState {
  std::int64_t batch = 0, channels = 0, inner = 1;
  float epsilon = 0;
};

Status prepare_batch_norm(PrepareCx& cx, void* state) {
  const auto dims = cx.in[0].dims;
  const bool flat = dims.size() < 2;
  const std::int64_t channels = flat ? 1 : dims[1];
  for (std::size_t k = 1; k < 5; ++k) {
    if (cx.in[k].count() != channels) return fail(Code::bad_input, "its parameters must have {} elements", channels);
  }
  new (state)
      BatchNormState{dims.empty() ? 1 : dims[0], channels, flat ? 1 : product(dims.subspan(2)), cx.step.reals[0]};
  return {};
}

void run_batch_norm(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const BatchNormState*>(state);
  const float *x = f32(cx.in[0]), *scale = f32(cx.in[1]), *bias = f32(cx.in[2]), *mean = f32(cx.in[3]),
              *var = f32(cx.in[4]);
  float* y = f32(cx.out[0]);
  Pace pace;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t c = 0; c < s.channels && !pace.stop(s.inner); ++c) {
      const float factor = scale[c] / std::sqrt(var[c] + s.epsilon), middle = mean[c], shift = bias[c];
      // The mean goes first: behind the factor its digits would be those that the result needs.
      for (std::int64_t i = 0; i < s.inner; ++i) y[i] = (x[i] - middle) * factor + shift;
      x += s.inner;
      y += s.inner;
    }
  }
}

}  // namespace

const KernelCode kReduceCode{sizeof(ReduceState), &prepare_reduce, &run_reduce};
const KernelCode kArgReduceCode{sizeof(ReduceState), &prepare_arg_reduce, &run_arg_reduce};
const KernelCode kSoftmaxCode{sizeof(RowState), &prepare_softmax, &run_softmax};
const KernelCode kLayerNormCode{sizeof(RowState), &prepare_layer_norm, &run_layer_norm};
const KernelCode kBatchNormCode{sizeof(BatchNormState), &prepare_batch_norm, &run_batch_norm};

}  // namespace frazil
