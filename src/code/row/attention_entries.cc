#include <algorithm>
#include <cmath>

#include "code/entries.h"
#include "kernel/attention/attention.h"
#include "kernel/tuning/tuning.h"

namespace frazil::code {
namespace {

/// Sets the strides of an operand that broadcasts to `extents`, 0 where it repeats. Returns false if it does not.
bool steps_over(const OperandShape& o, std::span<const std::int64_t> extents, std::span<std::int64_t> steps) {
  if (o.dims.size() > extents.size()) return false;
  const std::size_t missing = extents.size() - o.dims.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t own = i < missing ? 1 : o.dims[i - missing];
    if (own != 1 && own != extents[i]) return false;
    steps[i] = own == 1 ? 0 : o.strides[i - missing];
  }
  return true;
}

/// Returns the approximate nanoseconds of two products and the softmax of the scores.
double work(const kernel::Attention& s) {
  const double scores = static_cast<double>(s.batch * s.heads) * static_cast<double>(s.queries * s.keys);
  const kernel::Tuning& t = kernel::tuning();
  return scores * (t.product * static_cast<double>(s.size + s.value_size) + t.softmax);
}

Status prepare_attention(Prepare& cx, const params::Attention& p, kernel::Attention& s) {
  const auto &q = cx.in[0], &k = cx.in[1], &v = cx.in[2];
  s.batch = q.dims[0], s.heads = q.dims[1], s.queries = q.dims[2], s.size = q.dims[3];
  s.groups = k.dims[1], s.keys = k.dims[2], s.value_size = v.dims[3];
  const std::int64_t like_k[] = {s.batch, s.groups, s.keys, s.size}, like_v[] = {s.batch, s.groups, s.keys, v.dims[3]};
  if (!std::ranges::equal(k.dims, like_k)) return fail(Code::bad_input, "input K does not fit Q");
  if (!std::ranges::equal(v.dims, like_v)) return fail(Code::bad_input, "input V does not fit K");
  if (s.groups == 0 ? s.heads != 0 : s.heads % s.groups != 0) {
    return fail(Code::bad_input, "{} heads of Q are not a multiple of {} heads of K", s.heads, s.groups);
  }
  std::ranges::copy(q.strides, s.q_step);
  std::ranges::copy(k.strides, s.k_step);
  std::ranges::copy(v.strides, s.v_step);
  const std::int64_t scores[] = {s.batch, s.heads, s.queries, s.keys}, items[] = {s.batch};
  const auto fits = [&](std::size_t i, std::span<const std::int64_t> to, std::span<std::int64_t> steps) {
    return i >= cx.in.size() || !cx.in[i].given || steps_over(cx.in[i], to, steps);
  };
  if (!fits(3, scores, s.bias_step) || !fits(4, scores, s.keep_step)) {
    return fail(Code::bad_input, "a mask does not broadcast to the scores");
  }
  s.causal = p.causal;
  if ((s.causal && !fits(5, items, {&s.first_step, 1})) || !fits(6, items, {&s.lengths_step, 1})) {
    return fail(Code::bad_input, "first or lengths has another number of elements than the batch");
  }
  s.undefined = p.undefined;
  s.scale = p.scale.value_or(1 / std::sqrt(static_cast<float>(s.size)));
  s.bias_last = p.bias_last;
  s.softcap = p.softcap, s.hidden = p.hidden;
  // The scratch memory depends on which masks there are.
  const auto given = [&](std::size_t i) { return i < cx.in.size() && cx.in[i].given; };
  static constexpr float kPresent = 0;
  if (given(3)) s.bias = &kPresent;
  if (given(4)) s.keep = reinterpret_cast<const std::uint8_t*>(&kPresent);
  if (given(5) && s.causal) s.first = &kPresent;
  if (given(6)) s.lengths = &kPresent;
  const std::int64_t bytes = kernel::attention_scratch_bytes(s);
  if (bytes < 0) return fail(Code::limit, "{} keys of {} features are too many", s.keys, s.size);
  cx.scratch_bytes = static_cast<std::size_t>(bytes);
  cx.units = s.batch * s.groups;
  cx.nanoseconds = work(s);
  return {};
}

void run_attention(const Call& cx, const Worker& worker, const kernel::Attention& prepared, std::int64_t begin,
                   std::int64_t end) {
  kernel::Attention s = prepared;
  s.q = as(cx.in[0]), s.k = as(cx.in[1]), s.v = as(cx.in[2]);
  if (s.bias != nullptr) s.bias = as(cx.in[3]);
  if (s.keep != nullptr) s.keep = as<const std::uint8_t>(cx.in[4]);
  if (s.first != nullptr) s.first = cx.in[5];
  if (s.lengths != nullptr) s.lengths = cx.in[6];
  s.y = as(cx.out[0]);
  kernel::attention(s, begin, end, worker.scratch);
}

struct RotaryState {
  kernel::Rotary rotary;
  std::int64_t rows = 0, unit = 1;  ///< in total, and of a unit
};

Status prepare_rotary(Prepare& cx, const params::Rotary& p, RotaryState& state) {
  constexpr std::int64_t kUnitElements = std::int64_t{1} << 14;
  constexpr double kOperations = 4;
  kernel::Rotary& s = state.rotary;
  const auto dims = cx.in[0].dims;
  if (dims.back() % 2 != 0) return fail(Code::bad_input, "the last extent {} is not even", dims.back());
  s.half = dims.back() / 2;
  s.half_tables = p.half_tables;
  s.axes = static_cast<int>(dims.size()) - 1;
  std::vector<std::int64_t> extents(dims.begin(), dims.end()), steps(dims.size());
  for (std::size_t k = 0; k < 3; ++k) {
    if (k == 1 && s.half_tables) extents.back() = s.half;
    if (!steps_over(cx.in[k], extents, steps)) return fail(Code::bad_input, "input {} does not fit the first one", k);
    s.last[k] = steps.back();
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) s.steps[k][i] = steps[dims.size() - 2 - i];
  }
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) s.extents[i] = dims[dims.size() - 2 - i];
  state.rows = s.rows();
  state.unit = items_per_unit(dims.back(), kUnitElements);
  cx.units = std::max<std::int64_t>(1, ceil_div(state.rows, state.unit));
  cx.nanoseconds = kOperations * kernel::tuning().element * static_cast<double>(cx.in[0].count());
  return {};
}

void run_rotary(const Call& cx, const Worker&, const RotaryState& state, std::int64_t begin, std::int64_t end) {
  kernel::Rotary s = state.rotary;
  s.x = as(cx.in[0]), s.cosine = as(cx.in[1]), s.sine = as(cx.in[2]);
  s.y = as(cx.out[0]);
  kernel::rotary(s, begin * state.unit, std::min(state.rows, end * state.unit));
}

}  // namespace

KernelEntry entry_of(const params::Attention& p) {
  return make_entry<params::Attention, kernel::Attention, prepare_attention, run_attention>(p);
}
KernelEntry entry_of(const params::Rotary& p) {
  return make_entry<params::Rotary, RotaryState, prepare_rotary, run_rotary>(p);
}

}  // namespace frazil::code
