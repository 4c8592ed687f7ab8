#include <cmath>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "code/entries.h"
#include "kernel/row/reduce.h"
#include "kernel/row/rows.h"
#include "kernel/tuning/tuning.h"

namespace frazil::code {
namespace {

constexpr std::int64_t kRowUnitElements = std::int64_t{1} << 14;

/// Cuts items into units and returns the items per unit. `nanoseconds` is the time of one element.
std::int64_t cut(Prepare& cx, std::int64_t items, std::int64_t elements, double nanoseconds) {
  const std::int64_t per_unit = items_per_unit(elements, kRowUnitElements);
  cx.units = std::max<std::int64_t>(1, ceil_div(items, per_unit));
  cx.nanoseconds = nanoseconds * static_cast<double>(items) * static_cast<double>(elements);
  return per_unit;
}

// ---- reductions ----

struct ReduceState {
  int op = 0;
  bool last = false;
  Elem elem = Elem::f32;
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::int64_t unit = 1;  ///< positions of `outer` per unit
};

void read_axes(Prepare& cx, std::size_t axis, std::size_t count, ReduceState& s) {
  const auto dims = cx.in[0].dims;
  s.elem = cx.in[0].elem;
  s.outer = product(dims.first(axis));
  s.extent = product(dims.subspan(axis, count));
  s.inner = product(dims.subspan(axis + count));
  s.unit = cut(cx, s.outer, s.extent * s.inner, 2 * kernel::tuning().element);
}

Status prepare_reduce(Prepare& cx, const params::Reduce& p, ReduceState& s) {
  s.op = static_cast<int>(p.fold);
  read_axes(cx, static_cast<std::size_t>(p.axis), static_cast<std::size_t>(p.count), s);
  return {};
}

void run_reduce(const Call& call, const Worker&, const ReduceState& s, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin * s.unit, count = std::min(s.outer, end * s.unit) - first;
  const auto size = static_cast<std::int64_t>(byte_size(s.elem));
  kernel::reduce(static_cast<kernel::Reduce>(s.op), s.elem, call.in[0] + first * s.extent * s.inner * size,
                 call.out[0] + first * s.inner * size, count, s.extent, s.inner);
}

Status prepare_arg_reduce(Prepare& cx, const params::ArgReduce& p, ReduceState& s) {
  s.op = static_cast<int>(p.extreme);
  s.last = p.last;
  read_axes(cx, static_cast<std::size_t>(p.axis), 1, s);
  return {};
}

void run_arg_reduce(const Call& call, const Worker&, const ReduceState& s, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin * s.unit, count = std::min(s.outer, end * s.unit) - first;
  const auto size = static_cast<std::int64_t>(byte_size(s.elem));
  kernel::arg_reduce(static_cast<kernel::Arg>(s.op), s.last, s.elem, call.in[0] + first * s.extent * s.inner * size,
                     as<std::int64_t>(call.out[0]) + first * s.inner, count, s.extent, s.inner);
}

// ---- rows ----

struct RowState {
  std::int64_t rows = 0, cols = 0, unit = 1;
  bool log = false, biased = false, mean = false, inv_std = false;
  float epsilon = 0;

  kernel::Rows over(const Call& call, std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = begin * unit, count = std::min(rows, end * unit) - first;
    return {count, cols, as(call.in[0]) + first * cols, cols, as(call.out[0]) + first * cols, cols};
  }
};

Status prepare_softmax(Prepare& cx, const params::Softmax& p, RowState& s) {
  const auto dims = cx.in[0].dims;
  s.cols = dims.back();
  s.rows = product(dims.first(dims.size() - 1));
  s.log = p.log;
  s.unit = cut(cx, s.rows, s.cols, kernel::tuning().softmax);
  return {};
}

void run_softmax(const Call& call, const Worker&, const RowState& s, std::int64_t begin, std::int64_t end) {
  if (s.log)
    kernel::log_softmax(s.over(call, begin, end));
  else
    kernel::softmax(s.over(call, begin, end));
}

Status prepare_layer_norm(Prepare& cx, const params::LayerNorm& p, RowState& s) {
  const auto dims = cx.in[0].dims;
  const auto axis = static_cast<std::size_t>(p.axis);
  s.rows = product(dims.first(axis));
  s.cols = product(dims.subspan(axis));
  s.epsilon = p.epsilon;
  s.biased = cx.in.size() > 2 && cx.in[2].given;
  s.mean = cx.out.size() > 1 && cx.out[1].given;
  s.inv_std = cx.out.size() > 2 && cx.out[2].given;
  if (cx.in[1].count() != s.cols || (s.biased && cx.in[2].count() != s.cols)) {
    return fail(Code::bad_input, "Scale and B must have {} elements", s.cols);
  }
  s.unit = cut(cx, s.rows, s.cols, 2 * kernel::tuning().element);
  return {};
}

void run_layer_norm(const Call& call, const Worker&, const RowState& s, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin * s.unit;
  kernel::layer_norm(s.over(call, begin, end), as(call.in[1]), s.biased ? as(call.in[2]) : nullptr, s.epsilon,
                     s.mean ? as(call.out[1]) + first : nullptr, s.inv_std ? as(call.out[2]) + first : nullptr);
}

// ---- batch normalisation ----

/// The state for x[batch, channels, inner], with scale, bias, mean and variance per channel. A unit is a channel of an
/// item.
struct BatchNormState {
  std::int64_t channels = 1, inner = 1;
  float epsilon = 0;
};

Status prepare_batch_norm(Prepare& cx, const params::BatchNorm& p, BatchNormState& s) {
  const auto dims = cx.in[0].dims;
  const bool flat = dims.size() < 2;
  s.channels = flat ? 1 : dims[1];
  for (std::size_t k = 1; k < 5; ++k) {
    if (cx.in[k].count() != s.channels) {
      return fail(Code::bad_input, "its parameters must have {} elements", s.channels);
    }
  }
  s.inner = flat ? 1 : product(dims.subspan(2));
  s.epsilon = p.epsilon;
  cx.units = (dims.empty() ? 1 : dims[0]) * s.channels;
  cx.nanoseconds = 0.15 * static_cast<double>(cx.units) * static_cast<double>(s.inner);
  return {};
}

void run_batch_norm(const Call& call, const Worker&, const BatchNormState& s, std::int64_t begin, std::int64_t end) {
  const float *scale = as(call.in[1]), *bias = as(call.in[2]), *mean = as(call.in[3]), *var = as(call.in[4]);
  const float* x = as(call.in[0]) + begin * s.inner;
  float* y = as(call.out[0]) + begin * s.inner;
  PollThrottle throttle;
  for (std::int64_t u = begin; u < end && !throttle.stop(s.inner); ++u) {
    const std::int64_t c = u % s.channels;
    const float factor = scale[c] / std::sqrt(var[c] + s.epsilon), middle = mean[c], shift = bias[c];
    // Subtracts the mean before scaling: afterwards, the subtraction would cancel digits that the result needs.
    for (std::int64_t i = 0; i < s.inner; ++i) y[i] = (x[i] - middle) * factor + shift;
    x += s.inner;
    y += s.inner;
  }
}

}  // namespace

KernelEntry entry_of(const params::Reduce& p) {
  return make_entry<params::Reduce, ReduceState, prepare_reduce, run_reduce>(p);
}
KernelEntry entry_of(const params::ArgReduce& p) {
  return make_entry<params::ArgReduce, ReduceState, prepare_arg_reduce, run_arg_reduce>(p);
}
KernelEntry entry_of(const params::Softmax& p) {
  return make_entry<params::Softmax, RowState, prepare_softmax, run_softmax>(p);
}
KernelEntry entry_of(const params::LayerNorm& p) {
  return make_entry<params::LayerNorm, RowState, prepare_layer_norm, run_layer_norm>(p);
}
KernelEntry entry_of(const params::BatchNorm& p) {
  return make_entry<params::BatchNorm, BatchNormState, prepare_batch_norm, run_batch_norm>(p);
}

}  // namespace frazil::code
