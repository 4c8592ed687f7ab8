#include "code/tile/tile_code.h"

#include <algorithm>
#include <optional>

namespace frazil::code {
namespace {

/// Returns true if instruction `i` may write where its operand `a` is stored: each element is read before it is
/// overwritten.
bool may_overwrite(const TileCode& code, const TileCode::Ins& i, std::uint32_t a) {
  const FusedIns& ins = i.ins;
  if (is_fold(ins.row) || byte_size(code.body[a].ins.scalar.type) != byte_size(ins.scalar.type)) return false;
  if (ins.row == RowOp::none) return true;
  int reads = 0;
  for_operands(i, [&](std::uint32_t operand) { reads += operand == a ? 1 : 0; });
  return a == ins.scalar.a && reads == 1;
}

/// An assignment of buffers to instructions. A buffer is reused after the last read of its elements.
class BufferAssignment {
 public:
  explicit BufferAssignment(TileCode& code) : code_(code), last_(code.body.size()) {
    for (std::uint32_t i = 0; i < last_.size(); ++i) {
      last_[i] = i;
      for_operands(code.body[i], [&](std::uint32_t a) { last_[a] = i; });
    }
  }

  void run() {
    for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
      TileCode::Ins& ins = code_.body[i];
      code_.width = std::max(code_.width, static_cast<std::uint16_t>(byte_size(ins.ins.scalar.type)));
      const std::uint32_t buffer = choose(i);
      holds_[buffer] = i;
      ins.buffer = static_cast<std::uint16_t>(buffer);
    }
    code_.buffers = static_cast<std::uint16_t>(holds_.size());
  }

 private:
  std::uint32_t choose(std::uint32_t i) {
    for (std::uint32_t b = 0; b < holds_.size(); ++b) {
      const std::uint32_t held = holds_[b];
      if (last_[held] < i || (last_[held] == i && may_overwrite(code_, code_.body[i], held))) return b;
    }
    holds_.push_back(i);
    return static_cast<std::uint32_t>(holds_.size() - 1);
  }

  TileCode& code_;
  std::vector<std::uint32_t> last_;   // per instruction: the last that reads it
  std::vector<std::uint32_t> holds_;  // per buffer: the instruction whose elements it holds
};

/// A search for quantisation in a body: cast(min(max(round(x / scale) + zero, low), high)) with the limits of 8 bits.
/// Division and sum may be missing.
class QuantiserSearch {
 public:
  static constexpr std::uint32_t kNone = ~0u;
  struct Quantiser {
    std::uint32_t x, scale = kNone, zero = kNone;
  };

  explicit QuantiserSearch(const FusedKernel& kernel) : body_(kernel.body), uses_(body_.size()) {
    for (const FusedIns& ins : body_) {
      for_operands(ins, [&](std::uint32_t a) { ++uses_[a]; });
      single_.push_back(is_single(kernel, ins));
    }
    for (const FusedStore& s : kernel.stores) ++uses_[s.value];
  }

  /// Returns the quantiser whose result is that of instruction i.
  std::optional<Quantiser> at(std::uint32_t i) const {
    const ScalarIns& cast = body_[i].scalar;
    if (!body_[i].is(ScalarOp::cast) || (cast.type != Elem::u8 && cast.type != Elem::i8)) return std::nullopt;
    const bool is_signed = cast.type == Elem::i8;
    const std::uint32_t below = limit(cast.a, ScalarOp::min, is_signed ? 127 : 255);
    const std::uint32_t moved = limit(below, ScalarOp::max, is_signed ? -128 : 0);
    const ScalarIns* const sum = inner(moved, ScalarOp::add);
    const ScalarIns* const rounded = inner(sum != nullptr ? sum->a : moved, ScalarOp::round);
    if (rounded == nullptr || (sum != nullptr && !single_[sum->b])) return std::nullopt;
    Quantiser found{.x = rounded->a};
    if (sum != nullptr) found.zero = sum->b;
    const ScalarIns* const quotient = inner(found.x, ScalarOp::div);
    if (quotient != nullptr && single_[quotient->b]) found.x = quotient->a, found.scale = quotient->b;
    return found;
  }

 private:
  bool is_single(const FusedKernel& kernel, const FusedIns& ins) const {
    if (ins.row != RowOp::none) return false;
    if (ins.is(ScalarOp::load)) {
      const auto fixed = [](std::uint16_t axis) { return axis == Access::kFixed; };
      return ins.scalar.operand != kProduced &&
             std::ranges::all_of(kernel.operands[ins.scalar.operand].access.axes, fixed);
    }
    bool all = true;
    for_operands(ins, [&](std::uint32_t a) { all = all && single_[a]; });
    return all;
  }

  /// Returns instruction i if it is `op` of f32 and read only once, else null.
  const ScalarIns* inner(std::uint32_t i, ScalarOp op) const {
    const bool fits = i != kNone && body_[i].is(op) && body_[i].scalar.type == Elem::f32 && uses_[i] == 1;
    return fits ? &body_[i].scalar : nullptr;
  }

  /// Returns the operand of instruction i if that is `op` with the constant `at`, else kNone.
  std::uint32_t limit(std::uint32_t i, ScalarOp op, double at) const {
    const ScalarIns* const limit = inner(i, op);
    if (limit == nullptr) return kNone;
    const FusedIns& number = body_[limit->b];
    return number.is(ScalarOp::constant) && number.scalar.real == at ? limit->a : kNone;
  }

  const std::vector<FusedIns>& body_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> single_;  // one element for the whole domain
};

/// The lowering of a body: writes those instructions whose results are needed.
class BodyLowering {
 public:
  BodyLowering(const FusedKernel& kernel, TileCode& code)
      : kernel_(kernel), code_(code), needed_(kernel.body.size()), quantisers_(kernel.body.size()) {}

  /// Lowers the body. The operand k of a load becomes `operand(k)`.
  template <class F>
  void run(F operand) {
    find();
    std::vector<std::uint32_t> place(kernel_.body.size());
    for (std::uint32_t i = 0; i < place.size(); ++i) {
      if (!needed_[i]) continue;
      TileCode::Ins to{.ins = kernel_.body[i]};
      ScalarIns& s = to.ins.scalar;
      if (const auto& q = quantisers_[i]) {
        const auto single = [&](std::uint32_t a, double otherwise) {
          return a != QuantiserSearch::kNone ? place[a] : constant(otherwise);
        };
        s.a = place[q->x], s.b = single(q->scale, 1), s.c = single(q->zero, 0);
        to.quantises = true;
      } else {
        const std::size_t count = operand_count(to.ins);
        if (count > 0) s.a = place[s.a];
        if (count > 1) s.b = place[s.b];
        if (count > 2) s.c = place[s.c];
        if (to.ins.is(ScalarOp::load)) s.operand = operand(s.operand);
      }
      place[i] = static_cast<std::uint32_t>(code_.body.size());
      code_.body.push_back(std::move(to));
    }
    for (FusedStore& store : code_.stores) store.value = place[store.value];
  }

 private:
  void find() {
    const QuantiserSearch search(kernel_);
    for (const FusedStore& s : kernel_.stores) needed_[s.value] = true;
    for (auto i = static_cast<std::uint32_t>(needed_.size()); i-- > 0;) {
      if (!needed_[i]) continue;
      quantisers_[i] = search.at(i);
      if (const auto& q = quantisers_[i]) {
        for (const std::uint32_t a : {q->x, q->scale, q->zero})
          if (a != QuantiserSearch::kNone) needed_[a] = true;
      } else {
        for_operands(kernel_.body[i], [&](std::uint32_t a) { needed_[a] = true; });
      }
    }
  }

  std::uint32_t constant(double value) {
    code_.body.push_back({.ins = {.scalar = {.op = ScalarOp::constant, .type = Elem::f32, .real = value}}});
    return static_cast<std::uint32_t>(code_.body.size() - 1);
  }

  const FusedKernel& kernel_;
  TileCode& code_;
  std::vector<bool> needed_;
  std::vector<std::optional<QuantiserSearch::Quantiser>> quantisers_;
};

void find_axes(TileCode& code) {
  const std::size_t count = code.operands.size() + code.stores.size();
  code.axis_of_.assign(count * code.domain_rank, -1);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t n = code.operands.size();
    const Access& access = k < n ? code.operands[k].access : code.stores[k - n].access;
    code.in_order &=
        access.axes.size() != code.domain_rank || access == Access::broadcast(code.domain_rank, code.domain_rank);
    for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
      if (access.axes[axis] == Access::kFixed) continue;
      code.axis_of_[k * code.domain_rank + access.axes[axis]] = static_cast<std::int16_t>(axis);
    }
  }
}

}  // namespace

OperandRange body_operands(const FusedKernel& kernel) {
  const auto all = static_cast<std::uint32_t>(kernel.operands.size());
  if (!kernel.producer) return {0, all};
  const std::uint32_t first = kernel.producer->operands.end();
  const std::uint32_t end = kernel.producer->prologue ? kernel.producer->prologue_operands.first : all;
  return {first, end - first};
}

TileCode compile_tiles(const FusedKernel& kernel, const OperandRange& operands) {
  TileCode code;
  code.domain_rank = kernel.domain.size();
  code.rows = kernel.works_on_rows();
  code.stores = kernel.stores;
  const std::uint32_t produced = kernel.producer ? 1 : 0;
  if (produced != 0) {
    code.operands.push_back({produced_elem(kernel), Access::broadcast(kernel.domain.size(), kernel.domain.size())});
  }
  for (std::uint32_t k = operands.first; k < operands.end(); ++k) code.operands.push_back(kernel.operands[k]);
  BodyLowering(kernel, code).run([&](std::uint32_t k) { return k == kProduced ? 0 : k - operands.first + produced; });
  find_axes(code);
  BufferAssignment(code).run();
  return code;
}

}  // namespace frazil::code
