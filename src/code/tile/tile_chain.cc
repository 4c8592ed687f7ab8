#include "code/tile/tile_chain.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace frazil::code {
namespace {

using kernel::ChainStep;
using Op = ChainStep::Op;
using From = ChainStep::From;

bool is_byte(Elem e) { return e == Elem::u8 || e == Elem::i8; }
bool is_integer(Elem e) { return is_byte(e) || e == Elem::i32; }

struct Pair {
  Op op, reversed;  ///< value op second, second op value
};

std::optional<Pair> pair_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::add: return Pair{Op::add, Op::add};
    case ScalarOp::sub: return Pair{Op::sub, Op::sub_from};
    case ScalarOp::mul: return Pair{Op::mul, Op::mul};
    case ScalarOp::div: return Pair{Op::div, Op::div_into};
    case ScalarOp::max: return Pair{Op::max, Op::max_of};
    case ScalarOp::min: return Pair{Op::min, Op::min_of};
    default: return std::nullopt;
  }
}

/// One chain, made of the operations `ops`; `after` are those that run later.
class ChainBuilder {
 public:
  ChainBuilder(const TileCode& code, const bool* single, std::span<const TileOp> ops, std::span<const TileOp> after,
               const ChainSpace& space, const TileState& s)
      : code_(code),
        single_(single),
        ops_(ops),
        after_(after),
        space_(space),
        steps_(s.chain_steps),
        values_(s.chain_values),
        results_(s.chain_results) {}

  /// False where it cannot be one; `s` stays as it is then.
  bool build(TileState& s) {
    for (const TileOp& op : ops_) {
      if (op.kind == TileOp::Kind::scalar) inside_[op.value] = true;
    }
    for (const TileOp& op : ops_) {
      if (op.kind == TileOp::Kind::scalar) count_uses(op.value);
    }
    for (const TileOp& op : ops_) {
      if (!(op.kind == TileOp::Kind::store ? keep(op) : compute(op))) return false;
    }
    if (steps_ == s.chain_steps || results_ == s.chain_results) return false;
    join(s.chain_steps);
    space_.chains[s.chains++] = {.steps = s.chain_steps,
                                 .step_count = static_cast<std::uint16_t>(steps_ - s.chain_steps),
                                 .values = s.chain_values,
                                 .value_count = static_cast<std::uint16_t>(values_ - s.chain_values),
                                 .results = s.chain_results,
                                 .result_count = static_cast<std::uint16_t>(results_ - s.chain_results)};
    s.chain_steps = steps_, s.chain_values = values_, s.chain_results = results_;
    return true;
  }

 private:
  const ScalarIns& ins(std::uint32_t i) const { return code_.body[i].ins.scalar; }
  bool is_constant(std::uint32_t i) const { return code_.body[i].ins.is(ScalarOp::constant); }

  void count_uses(std::uint32_t i) {
    for_operands(code_.body[i], [&](std::uint32_t a) { ++uses_[a]; });
  }

  /// True where something outside of the chain reads what instruction i makes: a later instruction or store.
  bool escapes(std::uint32_t i) const {
    bool outside =
        std::ranges::any_of(after_, [&](const TileOp& op) { return op.kind == TileOp::Kind::store && op.value == i; });
    for (std::uint32_t k = i + 1; k < code_.body.size(); ++k) {
      if (inside_[k]) continue;
      for_operands(code_.body[k], [&](std::uint32_t a) { outside |= a == i; });
    }
    return outside;
  }

  // ---- steps ----

  bool add(const ChainStep& step) {
    if (steps_ == space_.steps.size()) return false;
    space_.steps[steps_++] = step;
    return true;
  }

  /// The position among the operands of the value that instruction i has outside of the chain.
  std::optional<std::uint8_t> operand(std::uint32_t i) {
    for (std::size_t k = first_value_; k < values_; ++k) {
      if (space_.values[k] == i) return static_cast<std::uint8_t>(k - first_value_);
    }
    if (values_ == space_.values.size() || values_ - first_value_ == kernel::kMostChainOperands) return std::nullopt;
    space_.values[values_++] = static_cast<std::uint16_t>(i);
    return static_cast<std::uint8_t>(values_ - 1 - first_value_);
  }

  bool is_computed(std::uint32_t i) const { return inside_[i] && !lazy_[i]; }

  /// Where a second operand can be read, if not from the value at hand.
  bool second(std::uint32_t i, ChainStep& step) {
    if (is_constant(i)) {
      step.from = From::constant;
      step.number = static_cast<float>(ins(i).real);
      return true;
    }
    if (is_computed(i)) {
      if (slot_of_[i] == 0) return false;
      step.from = From::slot;
      step.index = static_cast<std::uint8_t>(slot_of_[i] - 1);
      return true;
    }
    if (inside_[i] || ins(i).type != Elem::f32) return false;
    const auto at = operand(i);
    if (!at) return false;
    step.from = single_[i] ? From::one : From::each;
    step.index = *at;
    return true;
  }

  bool save(std::uint32_t i) {
    if (slot_of_[i] != 0) return true;
    const auto free = std::ranges::find(slots_, kNone16);
    if (free == std::end(slots_)) return false;
    *free = static_cast<std::uint16_t>(i);
    slot_of_[i] = static_cast<std::uint8_t>(free - std::begin(slots_) + 1);
    return add({.op = Op::save, .index = static_cast<std::uint8_t>(slot_of_[i] - 1)});
  }

  /// Before another value comes to hand.
  bool leave() {
    const bool needed = at_hand_ != kNone16 && uses_[at_hand_] > 0 && is_computed(at_hand_);
    return !needed || save(at_hand_);
  }

  bool bring(std::uint32_t i) {
    if (at_hand_ == i) return true;
    if (!leave()) return false;
    at_hand_ = static_cast<std::uint16_t>(i);
    if (is_constant(i)) return false;
    if (slot_of_[i] != 0) return add({.op = Op::restore, .index = static_cast<std::uint8_t>(slot_of_[i] - 1)});
    if (inside_[i] && lazy_[i]) {
      const ScalarIns& sum = ins(i);
      const auto a = operand(sum.a), b = operand(sum.b);
      return a && b && add({.op = Op::load_sum, .index = *a, .other = *b});
    }
    if (inside_[i]) return false;
    const auto at = operand(i);
    return at && add({.op = Op::load, .index = *at, .elem = ins(i).type, .repeated = single_[i]});
  }

  // ---- operations ----

  /// What a value is before it was converted to f32.
  std::uint32_t origin(std::uint32_t i) const {
    while (inside_[i] && alias_[i]) i = ins(i).a;
    return i;
  }

  bool compute(const TileOp& op) {
    const std::uint32_t i = op.value;
    const ScalarIns& x = ins(i);
    if (x.op == ScalarOp::cast && x.type == Elem::f32) {
      alias_[i] = true;
      uses_[origin(i)] += uses_[i];
      --uses_[ins(i).a];
      return op.to < 0 && !escapes(i);
    }
    if (x.type == Elem::i32) {
      lazy_[i] = true;
      return op.to < 0 && !escapes(i);
    }
    const bool quantises = code_.body[i].quantises;
    const bool done = quantises ? quantise(x) : arity(x.op) == 1 ? one_operand(x) : two_operands(x);
    if (!done) return false;
    at_hand_ = static_cast<std::uint16_t>(i);
    free_slots();
    const bool outside = escapes(i);
    if (op.once && (outside || op.to >= 0)) return false;
    return (!outside && op.to < 0) || give(op);
  }

  bool one_operand(const ScalarIns& x) {
    const std::uint32_t a = origin(x.a);
    if (!bring(a)) return false;
    if (--uses_[a] > 0 && is_computed(a) && !save(a)) return false;
    if (x.op == ScalarOp::round) return add({.op = Op::round});
    return add({.op = Op::to_byte, .elem = x.type});
  }

  bool quantise(const ScalarIns& x) {
    const std::uint32_t a = origin(x.a);
    ChainStep step{.op = Op::quantise, .elem = x.type}, zero;
    if (!bring(a) || !second(x.b, step) || !second(x.c, zero)) return false;
    for (const std::uint32_t i : {a, x.b, x.c}) --uses_[i];
    if (uses_[a] > 0 && is_computed(a) && !save(a)) return false;
    const bool is_signed = x.type == Elem::i8;
    step.zero_from = zero.from == From::one ? ChainStep::Zero::one : ChainStep::Zero::constant;
    step.zero = zero.number, step.other = zero.index;
    step.low = is_signed ? -128 : 0, step.high = is_signed ? 127 : 255;
    return add(step);
  }

  bool two_operands(const ScalarIns& x) {
    const Pair pair = *pair_of(x.op);
    const std::uint32_t a = origin(x.a), b = origin(x.b);
    ChainStep step;
    const auto finish = [&](Op op, std::uint32_t in_hand) {
      step.op = op;
      --uses_[a], --uses_[b];
      if (uses_[in_hand] > 0 && is_computed(in_hand) && !save(in_hand)) return false;
      return add(step);
    };
    if (a == b) return bring(a) && save(a) && second(a, step) && finish(pair.op, a);
    if (at_hand_ == b && second(a, step)) return finish(pair.reversed, b);
    if (!is_constant(a) && second(b, step)) return bring(a) && finish(pair.op, a);
    if (!is_constant(b) && second(a, step)) return bring(b) && finish(pair.reversed, b);
    if (is_constant(a) || is_constant(b) || !bring(a)) return false;
    if (second(b, step)) return finish(pair.op, a);  // saved when a came to hand
    return save(a) && second(a, step) && bring(b) && finish(pair.reversed, b);
  }

  void free_slots() {
    for (std::uint16_t& owner : slots_) {
      if (owner != kNone16 && uses_[owner] == 0) owner = kNone16;
    }
  }

  // ---- results ----

  /// A result may not lie where a wider operand of the chain still has to be read.
  bool is_clear(const TileOp& op) const {
    const auto width = byte_size(ins(op.value).type);
    for (std::size_t k = first_value_; k < values_; ++k) {
      const TileCode::Ins& other = code_.body[space_.values[k]];
      if (other.ins.is(ScalarOp::load) || single_[space_.values[k]]) continue;
      if (op.to < 0 && other.buffer == op.buffer && byte_size(other.ins.scalar.type) != width) return false;
    }
    return true;
  }

  bool give(const TileOp& op) {
    const bool full = results_ == space_.results.size() || results_ - first_result_ == kernel::kMostChainOperands;
    if (full || !is_clear(op)) return false;
    const auto index = static_cast<std::uint8_t>(results_ - first_result_);
    space_.results[results_++] = {.value = op.value, .buffer = op.buffer, .to = op.to};
    return add({.op = Op::store, .index = index, .elem = ins(op.value).type});
  }

  /// A value that is stored once more.
  bool keep(const TileOp& op) { return at_hand_ == op.value && !op.once && give(op); }

  /// A load, and a factor and an offset for each column, as one step.
  void join(std::size_t first) {
    const std::span all = space_.steps.first(steps_);
    std::size_t to = first;
    for (std::size_t i = first; i < all.size();) {
      ChainStep joined;
      const std::size_t taken = scaling(all.subspan(i), joined);
      all[to++] = taken > 0 ? joined : all[i];
      i += std::max<std::size_t>(taken, 1);
    }
    steps_ = static_cast<std::uint16_t>(to);
  }

  static std::size_t scaling(std::span<const ChainStep> steps, ChainStep& joined) {
    const auto is = [&](std::size_t i, Op op) { return steps[i].op == op && steps[i].from == From::each; };
    if (steps.size() < 3 || steps[0].op != Op::load || steps[0].elem != Elem::i32 || steps[0].repeated) return 0;
    if (!is(1, Op::mul) || !is(2, Op::add)) return 0;
    joined = {.op = Op::load_scaled, .index = steps[0].index, .other = steps[1].index, .third = steps[2].index};
    return 3;
  }

  static constexpr std::uint16_t kNone16 = 0xffff;
  const TileCode& code_;
  const bool* single_;
  std::span<const TileOp> ops_, after_;
  ChainSpace space_;
  std::uint16_t steps_, values_, results_;
  const std::size_t first_value_ = values_, first_result_ = results_;
  std::uint16_t at_hand_ = kNone16;
  std::uint16_t slots_[kernel::kMostChainSlots] = {kNone16, kNone16, kNone16, kNone16, kNone16, kNone16};
  bool inside_[kMaxFusedInstructions] = {}, alias_[kMaxFusedInstructions] = {}, lazy_[kMaxFusedInstructions] = {};
  std::uint8_t slot_of_[kMaxFusedInstructions] = {};  ///< plus 1
  int uses_[kMaxFusedInstructions] = {};              ///< by operations of the chain that are yet to come
};

/// True for an operation that a chain can have.
bool is_link(const TileCode& code, const bool* single, const TileOp& op) {
  const auto type = [&](std::uint32_t i) { return code.body[i].ins.scalar.type; };
  if (op.kind == TileOp::Kind::store) {
    const Elem e = code.stores[static_cast<std::size_t>(op.to)].elem;
    return (e == Elem::f32 || is_byte(e)) && e == type(op.value) && !op.once;
  }
  if (op.kind != TileOp::Kind::scalar) return false;
  if (code.body[op.value].quantises) return true;
  const ScalarIns& x = code.body[op.value].ins.scalar;
  if (x.op == ScalarOp::cast)
    return x.type == Elem::f32 ? is_integer(type(x.a)) : is_byte(x.type) && type(x.a) == Elem::f32;
  if (x.type == Elem::i32) return x.op == ScalarOp::add && !single[x.a] && !single[x.b];
  return x.type == Elem::f32 && (x.op == ScalarOp::round || pair_of(x.op).has_value());
}

}  // namespace

std::size_t make_chains(const TileCode& code, const bool* single, std::span<TileOp> ops, const ChainSpace& space,
                        TileState& s) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < ops.size();) {
    std::size_t past = i;
    while (past < ops.size() && is_link(code, single, ops[past])) ++past;
    const auto run = ops.subspan(i, past - i);
    const bool chains = run.size() > 1 && s.chains < space.chains.size() &&
                        std::ranges::any_of(run, [](const TileOp& op) { return !op.once; });
    if (chains && ChainBuilder(code, single, run, ops.subspan(past), space, s).build(s)) {
      ops[to] = {};
      ops[to].kind = TileOp::Kind::chain;
      ops[to++].a = static_cast<std::uint16_t>(s.chains - 1);
      i = past;
    } else {
      const std::size_t end = std::max(past, i + 1);
      while (i < end) ops[to++] = ops[i++];
    }
  }
  return to;
}

}  // namespace frazil::code
