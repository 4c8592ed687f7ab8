#include <cstring>
#include <limits>
#include <utility>

#include "base/thread/poll_throttle.h"
#include "code/product/contraction_space.h"
#include "code/tile/elements.h"
#include "kernel/tile/tile.h"

// A space as loops. Each run of results visits all points of the reduced axes. At each point, the body runs on the part
// of the run that lies inside all operands.
namespace frazil::code {
namespace {

constexpr std::size_t kElementBytes = 8;  ///< of the widest element
constexpr std::size_t kBuffer = static_cast<std::size_t>(SpaceLoops::kRun) * kElementBytes;
constexpr std::size_t kBuffersOfFold = 4;

/// Returns true if each point combines its value with the held one.
bool accumulates(Fold f) { return f != Fold::only && !is_place(f); }

ScalarOp op_of(Fold f) {
  switch (f) {
    case Fold::prod: return ScalarOp::mul;
    case Fold::max: return ScalarOp::max;
    case Fold::min: return ScalarOp::min;
    case Fold::any: return ScalarOp::lor;
    case Fold::all: return ScalarOp::land;
    default: return ScalarOp::add;
  }
}

/// Returns the type in which values of type `value` are folded to a result of type `result`.
Elem folded_elem(Fold f, Elem value, Elem result) {
  if (f == Fold::sum || f == Fold::prod) return compute_elem(result);
  return f == Fold::any || f == Fold::all ? Elem::boolean : value;
}

/// Writes `value` as an element of type `to`.
template <class T>
void convert(T value, Elem from, Elem to, void* memory) {
  if (from == to) {
    std::memcpy(memory, &value, sizeof value);
    return;
  }
  const void* args[] = {&value};
  kernel::cast_fn(from, to)(memory, args, 1);
}

/// Writes the first held value of a fold.
void identity(const FoldCode& f, void* to) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();  // a cast to integers saturates
  switch (f.fold) {
    case Fold::prod:
    case Fold::all: return convert(std::int64_t{1}, Elem::i64, f.folded, to);
    case Fold::max: return convert(-kInfinite, Elem::f64, f.folded, to);
    case Fold::min: return convert(kInfinite, Elem::f64, f.folded, to);
    default: std::memset(to, 0, kElementBytes);
  }
}

/// Returns the axis of the longest runs: the last one of the result, if it is long enough.
int run_axis(const params::Contraction& p, const ConcreteSpace& space) {
  constexpr std::int64_t kLong = 16;
  int best = -1;
  for (std::size_t d = p.write.size(); d-- > 0;) {
    const int axis = p.write[d];
    if (axis < 0) continue;
    if (best < 0 || (space.extent[best] < kLong && space.extent[axis] > space.extent[best])) best = axis;
  }
  return best;
}

/// Prepares the body for runs of `n` results.
Status prepare_body(Prepare& cx, const LoopsCode& code, const ConcreteSpace& space, const SpaceLoops& s,
                    const std::int64_t& n, TileState& tiles) {
  static constexpr std::int64_t kOne = 1;
  const std::span<const std::int64_t> run(&n, 1), one(&kOne, 1);
  OperandShape in[kMaxSpaceOperands + kMaxSpaceFolds], out[kMaxSpaceFolds];
  std::size_t operands = 0, results = 0;
  for (int k = 0; k < space.operands; ++k) {
    const std::int64_t& step = s.along < 0 ? kOne : space.reads[k].place.factor[s.along];
    const bool varies = s.along >= 0 && step != 0;
    in[operands++] = {true, space.reads[k].elem, varies ? run : one, {&step, 1}, step == 1};
  }
  for (const FoldCode& f : code.folds) {
    const OperandShape held{true, f.folded, run, one, true};
    out[results++] = held;
    if (accumulates(f.fold)) in[operands++] = held;
  }
  Prepare own = cx;
  own.in = std::span(in).first(operands), own.out = std::span(out).first(results), own.domain = run;
  FRAZIL_CHECK(prepare_tiles(own, code.body, tiles, true));
  cx.scratch_bytes = own.scratch_bytes;
  cx.awaits_code = own.awaits_code;
  return {};
}

/// The run of one worker.
class LoopRun {
 public:
  LoopRun(const Call& call, const ConcreteSpace& space, const LoopsCode& code, const SpaceLoops& s,
          const TileState& tiles, std::byte* scratch)
      : call_(call), space_(space), code_(code), s_(s), tiles_(tiles), scratch_(scratch) {
    std::byte* free = scratch + s.buffers;
    const auto take = [&] { return std::exchange(free, free + kBuffer); };
    finished_ = take();
    for (std::size_t k = 0; k < code.folds.size(); ++k) {
      folds_[k] = {.held = take(), .values = take(), .places = reinterpret_cast<std::int64_t*>(take()), .any = take()};
      by_points_ |= is_place(code.folds[k].fold);
    }
  }

  void outer(std::int64_t number) {
    std::memset(index_, 0, sizeof index_);
    AxisCounter(space_, s_.outer.all()).start(number, index_);
    const std::int64_t length = s_.along < 0 ? 1 : space_.extent[s_.along];
    for (std::int64_t at = 0; at < length && !stop_requested(); at += SpaceLoops::kRun) {
      if (s_.along >= 0) index_[s_.along] = at;
      run(std::min(SpaceLoops::kRun, length - at));
    }
  }

 private:
  /// The buffers of a fold in a run.
  struct FoldRun {
    std::byte* held;    ///< argmax, argmin: the best values so far
    std::byte* values;  ///< argmax, argmin: values of the point
    std::int64_t* places;
    std::byte* any;  ///< 1 where there was a value
  };

  void run(std::int64_t n) {
    for (std::size_t k = 0; k < code_.folds.size(); ++k) begin_fold(k, n);
    if (!s_.nothing) {
      const AxisCounter lines(space_, s_.lines.all());
      do {
        line(n);
      } while (lines.next(index_) && !stop_requested());
      for (const std::int8_t a : s_.lines.all()) index_[a] = 0;
    }
    for (std::size_t k = 0; k < code_.folds.size(); ++k) store(k, n);
  }

  /// Visits all points of the last reduced axis, or those before the run is stopped.
  void line(std::int64_t n) {
    if (s_.last < 0) return points(inside(n), 1);
    const std::int64_t most = !by_points_ && is_inside(n) ? std::max<std::int64_t>(1, kLongTile / n) : 1;
    for (std::int64_t& at = index_[s_.last]; at < s_.points; at += most) {
      const std::int64_t count = std::min(most, s_.points - at);
      points(inside(n), count);
      if (throttle_.stop(n * count * s_.instructions)) break;
    }
    index_[s_.last] = 0;
  }

  /// Returns true if the run lies inside all operands at each point of the last reduced axis. Indices are affine, so
  /// that its two ends decide.
  bool is_inside(std::int64_t n) {
    const auto whole = [&](std::int64_t at) {
      index_[s_.last] = at;
      const SpaceRun run = inside(n);
      return run.low == 0 && run.high == n;
    };
    const bool all = whole(s_.points - 1) && whole(0);
    index_[s_.last] = 0;
    return all;
  }

  /// Returns the part of a run that lies inside all operands.
  SpaceRun inside(std::int64_t n) const {
    SpaceRun run{0, n};
    for (int k = 0; k < space_.operands && !run.empty(); ++k) {
      if (space_.reads[k].given) run.clip(space_.reads[k], space_.axes, index_, s_.along);
    }
    return run;
  }

  /// Runs the body at `count` points one after the other.
  void points(const SpaceRun& run, std::int64_t count) {
    if (run.empty()) return;
    constexpr int kMax = kMaxSpaceOperands + 2 * kMaxSpaceFolds;
    std::byte* at[kMax];
    std::int64_t steps[kMax] = {};
    int k = 0;
    for (; k < space_.operands; ++k) {
      const SpaceRead& read = space_.reads[k];
      const auto size = static_cast<std::int64_t>(byte_size(read.elem));
      const std::int64_t along = s_.along < 0 ? 0 : read.place.factor[s_.along] * run.low;
      at[k] = call_.in[k] + (value_at(read.place, space_.axes, index_) + along) * size;
      if (s_.last >= 0) steps[k] = read.place.factor[s_.last] * size;
    }
    const auto place = [&](const FoldCode& f, std::byte* of_run) {
      return of_run + run.low * static_cast<std::int64_t>(byte_size(f.folded));
    };
    for (std::size_t f = 0; f < code_.folds.size(); ++f) {
      if (accumulates(code_.folds[f].fold)) at[k++] = place(code_.folds[f], folds_[f].held);
    }
    for (std::size_t f = 0; f < code_.folds.size(); ++f) {
      const bool extreme = is_place(code_.folds[f].fold);
      at[k++] = place(code_.folds[f], extreme ? folds_[f].values : folds_[f].held);
    }
    const std::int64_t n = run.high - run.low;
    run_rows({at, scratch_}, tiles_, steps, count, n);
    for (std::size_t f = 0; f < code_.folds.size(); ++f) {
      if (is_place(code_.folds[f].fold)) track(f, run.low, n);
    }
  }

  void begin_fold(std::size_t k, std::int64_t n) {
    const FoldCode& f = code_.folds[k];
    if (is_place(f.fold)) {
      std::memset(folds_[k].any, 0, static_cast<std::size_t>(n));
      std::fill_n(folds_[k].places, n, s_.nothing ? 0 : -1);
      return;
    }
    alignas(8) std::byte first[kElementBytes];
    identity(f, first);
    kernel::fill(folds_[k].held, first, byte_size(f.folded), static_cast<std::size_t>(n));
  }

  void track(std::size_t k, std::int64_t low, std::int64_t count) {
    const std::int64_t step = s_.along < 0 ? 0 : space_.report.factor[s_.along];
    const std::int64_t place = value_at(space_.report, space_.axes, index_) + low * step;
    const FoldRun& fold = folds_[k];
    with_elem(code_.folds[k].folded, [&]<class T>() {
      const T* const x = reinterpret_cast<const T*>(fold.values) + low;
      T* const best = reinterpret_cast<T*>(fold.held) + low;
      for (std::int64_t i = 0; i < count; ++i) {
        std::byte& any = fold.any[low + i];
        if (any != std::byte{} && !beats(k, x[i], best[i])) continue;
        any = std::byte{1}, best[i] = x[i], fold.places[low + i] = place + step * i;
      }
    });
  }

  /// Returns whether x replaces the best value. NaN is the extreme.
  template <class T>
  bool beats(std::size_t k, T x, T best) const {
    if (best != best) return x != x && code_.last_wins;
    if (x != x || (code_.folds[k].fold == Fold::argmax ? x > best : x < best)) return true;
    return code_.last_wins && x == best;
  }

  template <class F>
  static void with_elem(Elem elem, F f) {
    switch (elem) {
      case Elem::boolean: return f.template operator()<bool>();
      case Elem::i8: return f.template operator()<std::int8_t>();
      case Elem::u8: return f.template operator()<std::uint8_t>();
      case Elem::i16: return f.template operator()<std::int16_t>();
      case Elem::u16: return f.template operator()<std::uint16_t>();
      case Elem::i32: return f.template operator()<std::int32_t>();
      case Elem::u32: return f.template operator()<std::uint32_t>();
      case Elem::i64: return f.template operator()<std::int64_t>();
      case Elem::u64: return f.template operator()<std::uint64_t>();
      case Elem::f64: return f.template operator()<double>();
      default: return f.template operator()<float>();
    }
  }

  void store(std::size_t k, std::int64_t n) {
    if (call_.out[k] == nullptr) return;
    const FoldCode& f = code_.folds[k];
    const void* value = is_place(f.fold) ? reinterpret_cast<std::byte*>(folds_[k].places) : folds_[k].held;
    if (f.finish != nullptr) {
      f.finish(finished_, &value, static_cast<std::size_t>(n));
      value = finished_;
    }
    const auto size = static_cast<std::int64_t>(byte_size(f.elem));
    const std::int64_t step = s_.along < 0 ? 1 : space_.result.factor[s_.along];
    std::byte* const to = call_.out[k] + value_at(space_.result, space_.axes, index_) * size;
    store_run(f.elem, value, to, step * size, n, false);
  }

  const Call& call_;
  const ConcreteSpace& space_;
  const LoopsCode& code_;
  const SpaceLoops& s_;
  const TileState& tiles_;
  std::byte* scratch_;
  std::byte* finished_;
  FoldRun folds_[kMaxSpaceFolds];
  bool by_points_ = false;
  PollThrottle throttle_;
  std::int64_t index_[kMaxSpaceAxes];
};

}  // namespace

LoopsCode compile_loops(const params::Contraction& p, const std::shared_ptr<NativeSource>& native) {
  const Access along{{0}};
  FusedKernel kernel{.domain = {DomainAxis{}}};
  LoopsCode code{.last_wins = p.last_wins};
  BodyBuilder body;
  std::vector<std::uint32_t> loads;
  const auto load = [&](Elem elem) {
    kernel.operands.push_back({elem, along});
    return body.load(static_cast<std::uint32_t>(kernel.operands.size() - 1), elem);
  };
  for (const Elem elem : p.from) loads.push_back(load(elem));
  const std::uint32_t value = body.inline_tape(p.body, loads, {});
  const Elem type = p.body.code.back().type;
  for (std::size_t k = 0; k < p.to.size(); ++k) {
    FoldCode f{.fold = p.folds[k], .folded = folded_elem(p.folds[k], type, p.to[k]), .elem = p.to[k]};
    const Elem done = is_place(f.fold) ? Elem::i64 : f.folded;
    if (done != compute_elem(f.elem)) f.finish = kernel::cast_fn(done, compute_elem(f.elem));
    std::uint32_t made = f.folded == type ? value : body.cast(value, f.folded);
    if (accumulates(f.fold)) made = body.scalar(op_of(f.fold), load(f.folded), made, {});
    kernel.stores.push_back({made, f.folded, along});
    code.folds.push_back(f);
  }
  kernel.body = std::move(body).finish();
  code.body = compile_tiles(kernel, body_operands(kernel));
  code.body.native = native;
  return code;
}

Status prepare_space_loops(Prepare& cx, const params::Contraction& p, const LoopsCode& code, const ConcreteSpace& space,
                           SpaceLoops& s, TileState& tiles) {
  s.along = run_axis(p, space);
  std::int64_t points = 1;
  for (int a = 0; a < space.axes; ++a) {
    points *= std::max<std::int64_t>(1, space.extent[a]);
    if (space.reduced[a]) {
      if (s.last >= 0) s.lines.add(s.last);
      s.last = a, s.points = space.extent[a];
      s.nothing |= space.extent[a] == 0;
    } else if (a != s.along) {
      s.outer.add(a);
    }
  }
  s.instructions = static_cast<std::int64_t>(code.body.body.size());
  const std::int64_t run = s.along < 0 ? 1 : std::min(SpaceLoops::kRun, space.extent[s.along]);
  FRAZIL_CHECK(prepare_body(cx, code, space, s, run, tiles));
  cx.units = AxisCounter(space, s.outer.all()).count();
  s.buffers = aligned(cx.scratch_bytes);
  cx.scratch_bytes = s.buffers + kBuffer * (1 + kBuffersOfFold * code.folds.size());
  cx.nanoseconds = 0.3 * static_cast<double>(points) * static_cast<double>(p.body.code.size());
  return {};
}

void run_space_loops(const Call& call, const Worker& worker, const ConcreteSpace& space, const LoopsCode& code,
                     const SpaceLoops& s, const TileState& tiles, std::int64_t begin, std::int64_t end) {
  LoopRun run(call, space, code, s, tiles, worker.scratch);
  for (std::int64_t unit = begin; unit < end && !stop_requested(); ++unit) run.outer(unit);
}

}  // namespace frazil::code
