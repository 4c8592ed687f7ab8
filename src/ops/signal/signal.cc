#include "ops/signal/signal.h"

#include <cmath>
#include <numbers>

#include "ops/core/bound.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

constexpr Elem kWide = Elem::f64;

Expr number(CompositeCx& cx, double value) { return cx.number(kWide, value); }
Expr as_wide(Expr x) { return as_elem(x, kWide); }

bool is_numeric_output(CompositeCx& cx, Elem output_datatype) {
  if (contains(elems::kNumeric, output_datatype)) return true;
  cx.error("output_datatype {} is not a numeric type", name_of(output_datatype));
  return false;
}

/// Computes the window a0 - a1 cos(t) + a2 cos(2 t) over one turn.
void cosine_window(CompositeCx& cx, double a0, double a1, double a2) {
  const auto& a = cx.attrs<SignalWindowAttrs>();
  if (!is_numeric_output(cx, a.output_datatype)) return;
  const Expr size = count_input(cx, 0, "input 'size'", 0);
  const Expr turn = a.periodic != 0 ? as_wide(size) : Sub(as_wide(size), number(cx, 1));
  const Expr angle = Mul(as_wide(iota(cx, size)), Div(number(cx, 2 * std::numbers::pi), turn));
  Expr window = Sub(number(cx, a0), Mul(number(cx, a1), Cos(angle)));
  if (a2 != 0) window = Add(window, Mul(number(cx, a2), Cos(Mul(angle, number(cx, 2)))));
  cx.out(0, as_elem(window, a.output_datatype));
}

}  // namespace

Elem window_elem(const void* attrs, std::span<const Elem> /*inputs*/) {
  return static_cast<const SignalWindowAttrs*>(attrs)->output_datatype;
}

Elem mel_elem(const void* attrs, std::span<const Elem> /*inputs*/) {
  return static_cast<const MelAttrs*>(attrs)->output_datatype;
}

void hann_window_body(CompositeCx& cx) { cosine_window(cx, 0.5, 0.5, 0); }
void hamming_window_body(CompositeCx& cx) { cosine_window(cx, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window_body(CompositeCx& cx) { cosine_window(cx, 0.42, 0.5, 0.08); }

// ---- MelWeightMatrix ----

namespace {

constexpr double kMelScale = 2595, kMelCorner = 700;

Expr mel_of(CompositeCx& cx, Expr hertz) {
  const Expr log = Log(Add(number(cx, 1), Div(hertz, number(cx, kMelCorner))));
  return Mul(log, number(cx, kMelScale / std::numbers::ln10));
}

Expr hertz_of(CompositeCx& cx, Expr mel) {
  const Expr power = Pow(number(cx, 10), Div(mel, number(cx, kMelScale)));
  return Mul(number(cx, kMelCorner), Sub(power, number(cx, 1)));
}

/// The spectrum bins at the corners of the triangles.
struct MelCorners {
  Expr count, low, step, bins_per_hertz;  ///< scalars

  /// Returns corner `place` (0, 1 or 2) of each triangle.
  Expr at(CompositeCx& cx, std::int64_t place) const {
    const Expr position = as_wide(Add(iota(cx, count), cx.number(Elem::i64, static_cast<double>(place))));
    return Floor(Mul(hertz_of(cx, Add(Mul(position, step), low)), bins_per_hertz));
  }
};

}  // namespace

void mel_weight_body(CompositeCx& cx) {
  const Elem elem = cx.attrs<MelAttrs>().output_datatype;
  if (!is_numeric_output(cx, elem)) return;
  const Expr count = count_input(cx, 0, "input 'num_mel_bins'", 0),
             length = count_input(cx, 1, "input 'dft_length'", 0), rate = count_input(cx, 2, "input 'sample_rate'", 1);
  const auto edge = [&](std::size_t i) { return mel_of(cx, as_wide(Reshape({cx.in(i), cx.ints({})}))); };
  const Expr low = edge(3), step = Div(Sub(edge(4), low), as_wide(Add(count, cx.number(Elem::i64, 2))));
  const MelCorners corners{count, low, step, Div(Add(as_wide(length), number(cx, 1)), as_wide(rate))};
  const Expr lower = corners.at(cx, 0), center = corners.at(cx, 1), higher = corners.at(cx, 2);
  const Expr spectrum = Add(Div(length, cx.number(Elem::i64, 2)), cx.number(Elem::i64, 1));
  const Expr bin = append_unit_axes(cx, as_wide(iota(cx, spectrum)), 1);
  const Expr rise = Where(Equal(lower, center), number(cx, 1), Div(Sub(bin, lower), Sub(center, lower)));
  const Expr fall = Div(Sub(higher, bin), Sub(higher, center));
  const Expr rises = And(GreaterOrEqual(bin, lower), LessOrEqual(bin, center));
  const Expr falls = And(GreaterOrEqual(bin, center), Less(bin, higher));
  cx.out(0, as_elem(Where(falls, fall, Where(rises, rise, number(cx, 0))), elem));
}

// ---- STFT ----

namespace {

Expr frame_length(CompositeCx& cx) {
  if (cx.has(3)) return count_input(cx, 3, "input 'frame_length'", 1);
  return cx.has(2) ? extent_scalar(cx.in(2), 0) : extent_scalar(cx.in(0), 1);
}

/// Returns the frames of the signal: [batch, frames, length, parts].
Expr framed(CompositeCx& cx, Expr signal, Expr length) {
  const Expr step = count_input(cx, 1, "input 'frame_step'", 1), zero = cx.number(Elem::i64, 0);
  const Expr rest =
      AtLeast({Sub(extent_scalar(signal, 1), length)}, {.low = 0, .name = "signal length less frame_length"});
  const Expr frames = Add(Div(Max2(rest, zero), step), cx.number(Elem::i64, 1));
  const Expr start = append_unit_axes(cx, Mul(iota(cx, frames), step), 1);
  return Gather({signal, Add(start, iota(cx, length))}, {.axis = 1});
}

}  // namespace

void stft_body(CompositeCx& cx) {
  if (cx.rank(0) != 3) return cx.error("input 'signal' must have 3 axes, got {}", cx.rank(0));
  if (cx.has(2) && cx.rank(2) != 1) return cx.error("input 'window' must have 1 axis, got {}", cx.rank(2));
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  const Expr length = frame_length(cx);
  Expr frames = as_elem(framed(cx, cx.in(0), length), wide);
  if (cx.has(2)) {
    const Expr window = fit(cx.in(2), "window", {append_unit_axes(cx, length, 1)});
    frames = Mul(frames, append_unit_axes(cx, as_elem(window, wide), 1));
  }
  const Expr spectra = DFT({frames, length, cx.number(Elem::i64, 2)}, {.onesided = cx.attrs<StftAttrs>().onesided});
  cx.out(0, as_elem(spectra, elem));
}

}  // namespace frazil::ops
