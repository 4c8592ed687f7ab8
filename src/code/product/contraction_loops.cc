#include <cstring>
#include <limits>

#include "base/poll_throttle.h"
#include "code/product/contraction_space.h"
#include "code/tile/elements.h"
#include "kernel/tile/tile.h"

// A space as loops: for each run of results, all points of the reduced axes, and at each of these the body as tile
// functions on the part of the run that lies inside of all operands.
namespace frazil::code {
namespace {

constexpr std::size_t kElementBytes = 8;  ///< of the widest element
constexpr std::size_t kBuffer = static_cast<std::size_t>(SpaceLoops::kRun) * kElementBytes;

bool is_extreme_place(Fold f) { return f == Fold::argmax || f == Fold::argmin; }

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

/// The type in which values of type `value` are folded to a result of type `result`.
Elem folded_elem(Fold f, Elem value, Elem result) {
  if (f == Fold::sum || f == Fold::prod) return compute_elem(result);
  return f == Fold::any || f == Fold::all ? Elem::boolean : value;
}

void prepare_body(const params::Contraction& p, const ConcreteSpace& space, SpaceLoops& s) {
  s.instructions = static_cast<int>(p.body.code.size());
  for (int i = 0; i < s.instructions; ++i) {
    SpaceLoops::Ins& ins = s.body[i];
    ins.code = p.body.code[static_cast<std::size_t>(i)];
    const ScalarIns& c = ins.code;
    const auto single = [&](std::uint32_t k) { return s.body[k].single; };
    if (c.op == ScalarOp::constant) ins.single = true;
    if (c.op == ScalarOp::load) ins.single = s.along < 0 || space.reads[c.operand].place.factor[s.along] == 0;
    if (arity(c.op) == 0) continue;
    const std::uint32_t args[] = {c.a, c.b, c.c};
    unsigned mask = 0, singles = 0;
    for (int k = 0; k < arity(c.op); ++k) {
      singles += single(args[k]) ? 1u : 0u;
      mask |= single(args[k]) ? 1u << k : 0u;
    }
    ins.single = singles == static_cast<unsigned>(arity(c.op));
    const Elem operand = s.body[c.op == ScalarOp::select ? c.b : c.a].code.type;
    ins.fn = c.op == ScalarOp::cast ? kernel::cast_fn(operand, c.type)
                                    : kernel::tile_fn(c.op, operand, ins.single ? 0 : mask);
  }
}

Status prepare_fold(const Prepare& cx, const params::Contraction& p, std::size_t k, SpaceLoops& s) {
  SpaceLoops::FoldStep& f = s.fold[k];
  f.given = k < cx.out.size() && cx.out[k].given;
  if (!f.given) return {};
  const SpaceLoops::Ins& last = s.body[s.instructions - 1];
  f.fold = p.folds[k];
  f.elem = cx.out[k].elem;
  f.folded = folded_elem(f.fold, last.code.type, f.elem);
  if (f.folded != last.code.type) f.convert = kernel::cast_fn(last.code.type, f.folded);
  const Elem done = is_extreme_place(f.fold) ? Elem::i64 : f.folded, wanted = compute_elem(f.elem);
  if (done != wanted) f.finish = kernel::cast_fn(done, wanted);
  if (f.fold != Fold::only && !is_extreme_place(f.fold))
    f.fn = kernel::tile_fn(op_of(f.fold), f.folded, last.single ? 2 : 0);
  const bool served = (f.folded == last.code.type || f.convert != nullptr) && (done == wanted || f.finish != nullptr) &&
                      (f.fn != nullptr || f.fold == Fold::only || is_extreme_place(f.fold));
  return served ? Status{} : fail(Code::internal, "no tile function folds {}", name_of(last.code.type));
}

/// The axis of the longest runs: the last one of the result where that has some length.
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

/// What one worker runs.
class LoopRun {
 public:
  LoopRun(const Call& call, const ConcreteSpace& space, const SpaceLoops& s, std::byte* scratch)
      : call_(call), space_(space), s_(s), free_(scratch) {
    for (int i = 0; i < s.instructions; ++i) {
      buffers_[i] = take();
      const ScalarIns& c = s.body[i].code;
      if (c.op == ScalarOp::constant) write_constant(c, buffers_[i]);
    }
    converted_ = take();
    for (int k = 0; k < s.folds; ++k) {
      held_[k] = take();
      if (is_extreme_place(s.fold[k].fold)) places_[k] = take(), any_[k] = take();
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
  static void write_constant(const ScalarIns& c, std::byte* to) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    const double real = c.real;
    const void* from = is_float(c.type) ? static_cast<const void*>(&real) : &c.integer;
    const Elem wide = is_float(c.type) ? Elem::f64 : Elem::i64;
    if (c.type == wide) return is_float(c.type) ? put(real) : put(c.integer);
    kernel::cast_fn(wide, c.type)(to, &from, 1);
  }

  std::byte* take() {
    std::byte* const at = free_;
    free_ += kBuffer;
    return at;
  }

  void run(std::int64_t n) {
    for (int k = 0; k < s_.folds; ++k) begin_fold(k, n);
    if (!s_.nothing) {
      const AxisCounter reduced(space_, s_.reduced.all());
      PollThrottle throttle;
      do {
        point(n);
      } while (reduced.next(index_) && !throttle.stop(n * s_.instructions));
      for (const std::int8_t a : s_.reduced.all()) index_[a] = 0;
    }
    for (int k = 0; k < s_.folds; ++k) store(k, n);
  }

  void point(std::int64_t n) {
    SpaceRun inside{0, n};
    for (int k = 0; k < space_.operands && !inside.empty(); ++k) {
      if (space_.reads[k].given) inside.clip(space_.reads[k], space_.axes, index_, s_.along);
    }
    if (inside.empty()) return;
    const std::int64_t count = inside.high - inside.low;
    for (int i = 0; i < s_.instructions; ++i) evaluate(i, inside.low, count);
    for (int k = 0; k < s_.folds; ++k) fold(k, inside.low, count);
  }

  void evaluate(int i, std::int64_t low, std::int64_t count) {
    const SpaceLoops::Ins& ins = s_.body[i];
    const ScalarIns& c = ins.code;
    if (c.op == ScalarOp::constant) {
      values_[i] = buffers_[i];
    } else if (c.op == ScalarOp::load) {
      values_[i] = load(i, low, ins.single ? 1 : count);
    } else {
      const void* args[] = {values_[c.a], values_[c.b], values_[c.c]};
      ins.fn(buffers_[i], args, static_cast<std::size_t>(ins.single ? 1 : count));
      values_[i] = buffers_[i];
    }
  }

  const void* load(int i, std::int64_t low, std::int64_t count) {
    const SpaceRead& read = space_.reads[s_.body[i].code.operand];
    const auto size = static_cast<std::int64_t>(byte_size(read.elem));
    const std::int64_t step = s_.along < 0 ? 0 : read.place.factor[s_.along];
    const std::int64_t place = value_at(read.place, space_.axes, index_) + low * step;
    const std::byte* const from = call_.in[s_.body[i].code.operand] + place * size;
    if (compute_elem(read.elem) == read.elem && (step == 1 || count == 1)) return from;
    load_run(read.elem, from, step * size, buffers_[i], count);
    return buffers_[i];
  }

  void begin_fold(int k, std::int64_t n) {
    const SpaceLoops::FoldStep& f = s_.fold[k];
    if (!f.given) return;
    if (is_extreme_place(f.fold)) {
      std::memset(any_[k], 0, static_cast<std::size_t>(n));
      auto* const places = reinterpret_cast<std::int64_t*>(places_[k]);
      std::fill(places, places + n, s_.nothing ? 0 : -1);
      return;
    }
    alignas(8) std::byte first[kElementBytes] = {};
    identity(f, first);
    kernel::fill(held_[k], first, byte_size(f.folded), static_cast<std::size_t>(n));
  }

  static void identity(const SpaceLoops::FoldStep& f, std::byte* to) {
    const bool lowest = f.fold == Fold::max;
    if (f.fold == Fold::prod || f.fold == Fold::all) {
      const std::int64_t one = 1;
      const void* from = &one;
      if (f.folded == Elem::i64)
        std::memcpy(to, &one, sizeof one);
      else
        kernel::cast_fn(Elem::i64, f.folded)(to, &from, 1);
    } else if (lowest || f.fold == Fold::min) {
      const double infinite =
          lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
      const void* from = &infinite;  // a cast to integers saturates
      if (f.folded == Elem::f64)
        std::memcpy(to, &infinite, sizeof infinite);
      else
        kernel::cast_fn(Elem::f64, f.folded)(to, &from, 1);
    }
  }

  void fold(int k, std::int64_t low, std::int64_t count) {
    const SpaceLoops::FoldStep& f = s_.fold[k];
    if (!f.given) return;
    const bool single = s_.body[s_.instructions - 1].single;
    const void* value = values_[s_.instructions - 1];
    if (f.convert != nullptr) {
      f.convert(converted_, &value, static_cast<std::size_t>(single ? 1 : count));
      value = converted_;
    }
    const auto size = static_cast<std::int64_t>(byte_size(f.folded));
    std::byte* const held = held_[k] + low * size;
    if (is_extreme_place(f.fold)) return track(k, value, single, low, count);
    if (f.fold == Fold::only) {
      if (single) return kernel::fill(held, value, byte_size(f.folded), static_cast<std::size_t>(count));
      std::memcpy(held, value, static_cast<std::size_t>(count * size));
      return;
    }
    const void* args[] = {held, value};
    f.fn(held, args, static_cast<std::size_t>(count));
  }

  void track(int k, const void* value, bool single, std::int64_t low, std::int64_t count) {
    const std::int64_t step = s_.along < 0 ? 0 : space_.report.factor[s_.along];
    const std::int64_t place = value_at(space_.report, space_.axes, index_) + low * step;
    with_elem(s_.fold[k].folded, [&]<class T>() {
      const T* const x = static_cast<const T*>(value);
      T* const best = reinterpret_cast<T*>(held_[k]) + low;
      auto* const places = reinterpret_cast<std::int64_t*>(places_[k]) + low;
      for (std::int64_t i = 0; i < count; ++i) {
        const T v = x[single ? 0 : i];
        std::byte& any = any_[k][low + i];
        if (any != std::byte{} && !beats(k, v, best[i])) continue;
        any = std::byte{1}, best[i] = v, places[i] = place + step * i;
      }
    });
  }

  /// NaN is the extreme.
  template <class T>
  bool beats(int k, T x, T best) const {
    if (best != best) return x != x && s_.last_wins;
    if (x != x || (s_.fold[k].fold == Fold::argmax ? x > best : x < best)) return true;
    return s_.last_wins && x == best;
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

  void store(int k, std::int64_t n) {
    const SpaceLoops::FoldStep& f = s_.fold[k];
    if (!f.given) return;
    const void* value = is_extreme_place(f.fold) ? places_[k] : held_[k];
    if (f.finish != nullptr) {
      f.finish(converted_, &value, static_cast<std::size_t>(n));
      value = converted_;
    }
    const auto size = static_cast<std::int64_t>(byte_size(f.elem));
    const std::int64_t step = s_.along < 0 ? 1 : space_.result.factor[s_.along];
    std::byte* const to = call_.out[k] + value_at(space_.result, space_.axes, index_) * size;
    store_run(f.elem, value, to, step * size, n, false);
  }

  const Call& call_;
  const ConcreteSpace& space_;
  const SpaceLoops& s_;
  std::byte* free_;
  std::int64_t index_[kMaxSpaceAxes];
  std::byte* buffers_[kMaxSpaceInstructions];
  const void* values_[kMaxSpaceInstructions];
  std::byte* converted_;
  std::byte *held_[SpaceLoops::kMaxFolds], *places_[SpaceLoops::kMaxFolds], *any_[SpaceLoops::kMaxFolds];
};

}  // namespace

Status prepare_space_loops(Prepare& cx, const params::Contraction& p, const ConcreteSpace& space, SpaceLoops& s) {
  s.along = run_axis(p, space);
  std::int64_t points = 1;
  for (int a = 0; a < space.axes; ++a) {
    points *= std::max<std::int64_t>(1, space.extent[a]);
    if (space.reduced[a]) {
      s.reduced.add(a);
      s.nothing |= space.extent[a] == 0;
    } else if (a != s.along) {
      s.outer.add(a);
    }
  }
  prepare_body(p, space, s);
  s.folds = static_cast<int>(std::min<std::size_t>(p.folds.size(), SpaceLoops::kMaxFolds));
  s.last_wins = p.last_wins;
  for (int k = 0; k < s.folds; ++k) FRAZIL_CHECK(prepare_fold(cx, p, static_cast<std::size_t>(k), s));
  cx.units = AxisCounter(space, s.outer.all()).count();
  cx.scratch_bytes = kBuffer * static_cast<std::size_t>(s.instructions + 1 + 3 * s.folds);
  cx.nanoseconds = 0.3 * static_cast<double>(points) * s.instructions;
  return {};
}

void run_space_loops(const Call& call, const Worker& worker, const ConcreteSpace& space, const SpaceLoops& s,
                     std::int64_t begin, std::int64_t end) {
  LoopRun run(call, space, s, worker.scratch);
  for (std::int64_t unit = begin; unit < end && !stop_requested(); ++unit) run.outer(unit);
}

}  // namespace frazil::code
