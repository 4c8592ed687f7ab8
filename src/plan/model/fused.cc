#include "plan/model/fused.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/value/float.h"

namespace frazil {

std::string_view name_of(RowOp op) {
  constexpr std::string_view names[] = {"none",       "sum",         "mean",       "max",
                                        "min",        "prod",        "sum_square", "sum_abs",
                                        "softmax",    "log_softmax", "layer_norm", "layer_norm_bias",
                                        "standardize"};
  return names[static_cast<std::size_t>(op)];
}

Access Access::broadcast(std::size_t rank, std::size_t domain_rank) {
  Access access;
  for (std::size_t i = 0; i < rank; ++i) access.axes.push_back(static_cast<std::uint16_t>(domain_rank - rank + i));
  return access;
}

Access Access::leading(std::size_t rank) {
  Access access;
  for (std::size_t i = 0; i < rank; ++i) access.axes.push_back(static_cast<std::uint16_t>(i));
  return access;
}

bool FusedKernel::works_on_rows() const {
  return std::ranges::any_of(body, [](const FusedIns& ins) { return ins.row != RowOp::none; });
}

std::size_t operand_count(const FusedIns& ins) {
  if (ins.row == RowOp::none) return static_cast<std::size_t>(arity(ins.scalar.op));
  if (ins.row == RowOp::layer_norm_bias) return 3;
  return ins.row == RowOp::layer_norm ? 2 : 1;
}

Elem produced_elem(const FusedKernel& kernel) {
  const Producer& p = *kernel.producer;
  return p.into == kNotStored ? p.unstored_elem : kernel.stores[p.into].elem;
}

std::uint32_t last_use(const FusedKernel& kernel, std::uint32_t i) {
  std::uint32_t last = i;
  for (std::uint32_t k = i + 1; k < kernel.body.size(); ++k) {
    for_operands(kernel.body[k], [&](std::uint32_t a) {
      if (a == i) last = k;
    });
  }
  return last;
}

std::uint32_t load_of(const FusedKernel& kernel, std::uint32_t k) {
  const auto is_load = [&](const FusedIns& ins) { return ins.is(ScalarOp::load) && ins.scalar.operand == k; };
  return static_cast<std::uint32_t>(std::ranges::find_if(kernel.body, is_load) - kernel.body.begin());
}

namespace {

/// The number of results of an instruction, as verify() infers it: one, one per row, or one per point of the domain.
enum class Extent : std::uint8_t { one, row, all };

class FusedVerifier {
 public:
  explicit FusedVerifier(const FusedKernel& kernel) : k_(kernel) {}

  Status run() {
    if (k_.operands.size() > 4 * kMaxFusedOperands || k_.stores.size() > kMaxFusedStores ||
        k_.body.size() > kMaxFusedInstructions || k_.domain.size() >= Access::kFixed) {
      return fail(Code::internal, "a fused kernel holds more than its limits");
    }
    for (std::size_t i = 0; i < k_.operands.size(); ++i) FRAZIL_CHECK(access("operand", i, k_.operands[i].access));
    if (k_.producer) FRAZIL_CHECK(producer(*k_.producer));
    for (std::uint32_t i = 0; i < k_.body.size(); ++i) FRAZIL_CHECK(instruction(i));
    if (k_.stores.empty()) return fail(Code::internal, "a fused kernel stores nothing");
    for (std::size_t i = 0; i < k_.stores.size(); ++i) FRAZIL_CHECK(store(i));
    return {};
  }

 private:
  /// Checks that the domain has each axis that a tensor follows, and that no two axes of a tensor follow the same one.
  Status access(std::string_view what, std::size_t i, const Access& a) const {
    for (std::size_t d = 0; d < a.axes.size(); ++d) {
      if (a.axes[d] == Access::kFixed) continue;
      const bool twice = std::find(a.axes.begin(), a.axes.begin() + static_cast<std::ptrdiff_t>(d), a.axes[d]) !=
                         a.axes.begin() + static_cast<std::ptrdiff_t>(d);
      if (a.axes[d] >= k_.domain.size() || twice) {
        return fail(Code::internal, "{} {}: axis {} follows axis {} of the domain", what, i, d, int{a.axes[d]});
      }
    }
    return {};
  }

  static bool inside(const OperandRange& range, std::size_t count) {
    return range.first <= count && range.count <= count - range.first;
  }

  Status producer(const Producer& p) const {
    const Kernel kernel = kernel_of(p.params);
    if (kernel != Kernel::matmul && kernel != Kernel::gemm && kernel != Kernel::conv) {
      return fail(Code::internal, "{} cannot be the producer of a fused kernel", name_of(kernel));
    }
    if (!inside(p.operands, k_.operands.size()) || !inside(p.prologue_operands, k_.operands.size())) {
      return fail(Code::internal, "the producer has operands that are not there");
    }
    if (p.into != kNotStored && p.into >= k_.stores.size())
      return fail(Code::internal, "the producer writes no result");
    if (p.into != kNotStored && k_.stores[p.into].access != Access::broadcast(k_.domain.size(), k_.domain.size())) {
      return fail(Code::internal, "the producer's result is not the whole domain");
    }
    if (!p.prologue) return {};
    if (p.prologue->stores.size() != 1 || p.prologue->producer || kernel == Kernel::conv) {
      return fail(Code::internal, "the prologue has {} results", p.prologue->stores.size());
    }
    if (p.prologue->operands.size() != p.prologue_operands.count) {
      return fail(Code::internal, "the prologue has {} operands, it is given {}", p.prologue->operands.size(),
                  p.prologue_operands.count);
    }
    return verify(*p.prologue);
  }

  Status instruction(std::uint32_t i) {
    const FusedIns& ins = k_.body[i];
    bool before = true;
    Extent extent = Extent::one;
    for_operands(ins, [&](std::uint32_t a) {
      before &= a < i;
      if (a < i) extent = std::max(extent, extents_[a]);
    });
    if (!before) return fail(Code::internal, "instruction {} reads one that does not stand before it", i);
    if (ins.is(ScalarOp::load)) {
      const std::uint32_t k = ins.scalar.operand;
      if (k == kProduced ? !k_.producer.has_value() : k >= k_.operands.size()) {
        return fail(Code::internal, "instruction {} loads an operand that is not there", i);
      }
      const Elem elem = k == kProduced ? produced_elem(k_) : k_.operands[k].elem;
      if (ins.scalar.type != compute_elem(elem)) return fail(Code::internal, "instruction {} loads another type", i);
      extent = Extent::all;
    }
    if (ins.row != RowOp::none) {
      if (k_.domain.empty()) return fail(Code::internal, "instruction {} works along rows of a scalar", i);
      extent = is_fold(ins.row) ? Extent::row : Extent::all;
    }
    extents_.push_back(extent);
    return types(i);
  }

  Status types(std::uint32_t i) const {
    const FusedIns& ins = k_.body[i];
    if (ins.row != RowOp::none || ins.scalar.op == ScalarOp::cast || operand_count(ins) == 0) return {};
    const bool select = ins.scalar.op == ScalarOp::select;
    const Elem left = k_.body[select ? ins.scalar.b : ins.scalar.a].scalar.type;
    const bool pair = operand_count(ins) > 1;
    const Elem right = pair ? k_.body[select ? ins.scalar.c : ins.scalar.b].scalar.type : left;
    const bool condition = !select || k_.body[ins.scalar.a].scalar.type == Elem::boolean;
    const Elem result = returns_bool(ins.scalar.op) ? Elem::boolean : left;
    if (left == right && condition && result == ins.scalar.type) return {};
    return fail(Code::internal, "instruction {} ({}) has operands of other types", i, name_of(ins.scalar.op));
  }

  Status store(std::size_t i) const {
    const FusedStore& s = k_.stores[i];
    FRAZIL_CHECK(access("store", i, s.access));
    if (s.value >= k_.body.size()) return fail(Code::internal, "store {} has no instruction", i);
    if (compute_elem(s.elem) != k_.body[s.value].scalar.type)
      return fail(Code::internal, "store {} changes the type", i);
    const auto followed = static_cast<std::size_t>(
        std::ranges::count_if(s.access.axes, [](std::uint16_t a) { return a != Access::kFixed; }));
    const bool all = followed == k_.domain.size();
    const bool row = followed >= row_axes() || extents_[s.value] != Extent::all;
    return all || row ? Status{} : fail(Code::internal, "store {} does not cover the domain", i);
  }

  /// Returns the number of axes that count rows: those before the last axis that may have more than one element.
  std::size_t row_axes() const {
    if (k_.domain.empty()) return 0;
    const auto leading = std::span(k_.domain).first(k_.domain.size() - 1);
    return static_cast<std::size_t>(std::ranges::count_if(leading, [](const auto& axis) { return axis.extent != 1; }));
  }

  const FusedKernel& k_;
  std::vector<Extent> extents_;  // per instruction
};

}  // namespace

Status verify(const FusedKernel& kernel) { return FusedVerifier(kernel).run(); }

Access access_of(std::size_t rank, std::size_t domain_rank) {
  return rank < domain_rank ? Access::leading(rank) : Access::broadcast(rank, domain_rank);
}

FusedKernel cut(const FusedKernel& kernel, FusedStore store) {
  FusedKernel part = kernel;
  part.body.resize(store.value + 1);
  part.stores = {std::move(store)};
  if (!part.producer) return part;
  const Elem produced = produced_elem(kernel);
  const std::uint32_t load = load_of(part, kProduced);
  if (load == part.body.size()) {
    part.producer.reset();
    return part;
  }
  const Access whole = access_of(part.domain.size(), part.domain.size());
  const bool fits = part.stores[0].access == whole && part.stores[0].elem == produced;
  const bool passes = kernel.producer->into == kNotStored;
  if (!fits && !passes) part.stores.push_back({load, produced, whole});
  part.producer->into = fits ? 0 : passes ? kNotStored : 1;
  return part;
}

FusedKernel cut_producer(const FusedKernel& kernel, std::size_t stages) {
  FusedKernel part = kernel;
  const Elem produced = produced_elem(kernel);
  Producer& producer = *part.producer;
  float none = 1;
  float* negative_slope = &none;
  auto* matmul = std::get_if<params::MatMul>(&producer.params);
  if (matmul != nullptr) negative_slope = &matmul->negative_slope;
  if (auto* gemm = std::get_if<params::Gemm>(&producer.params)) negative_slope = &gemm->negative_slope;
  auto* conv = std::get_if<params::Conv>(&producer.params);
  if (conv != nullptr) negative_slope = &conv->negative_slope;
  for (; producer.origins.size() > stages; producer.origins.pop_back()) {
    if (std::exchange(*negative_slope, 1.F) != 1) continue;
    if (conv != nullptr && conv->half && !conv->added) {  // this stage has two operands
      producer.operands.count -= 2;
      conv->scaled = conv->shifted = false;
      continue;
    }
    --producer.operands.count;  // each other stage has one operand; the last stage has the last operand
    if (matmul != nullptr) matmul->added = false;
    if (conv != nullptr) (conv->added ? conv->added : conv->shifted ? conv->shifted : conv->scaled) = false;
  }
  producer.into = 0;
  part.body = {{.scalar = {.op = ScalarOp::load, .type = produced, .operand = kProduced}, .origins = {}}};
  part.stores = {{0, produced, access_of(part.domain.size(), part.domain.size())}};
  return part;
}

std::uint32_t BodyBuilder::add(const ScalarIns& scalar, RowOp row, const Origin* origin) {
  ScalarIns key = scalar;  // constants are distinguished by their bits
  key.integer ^= std::bit_cast<std::int64_t>(std::exchange(key.real, 0));
  const auto [it, is_new] = known_.emplace(std::pair(key, row), static_cast<std::uint32_t>(body_.size()));
  if (is_new) body_.push_back({scalar, row, {}});
  if (origin != nullptr) add_origin(it->second, *origin);
  return it->second;
}

void BodyBuilder::add_origin(std::uint32_t instruction, const Origin& origin) {
  auto& origins = body_[instruction].origins;
  if (std::ranges::find(origins, origin) == origins.end()) origins.push_back(origin);
}

std::uint32_t BodyBuilder::load(std::uint32_t operand, Elem stored) {
  const ScalarIns ins{.op = ScalarOp::load, .type = compute_elem(stored), .operand = operand};
  const std::uint32_t made = add(ins, RowOp::none, nullptr);
  stored_.emplace(made, stored);
  return made;
}

std::uint32_t BodyBuilder::scalar(ScalarOp op, std::uint32_t a, std::uint32_t b, const Origin& origin) {
  return add({.op = op, .type = body_[a].scalar.type, .a = a, .b = b}, RowOp::none, &origin);
}

std::uint32_t BodyBuilder::constant(Elem type, double real, std::int64_t integer) {
  return add({.op = ScalarOp::constant, .type = type, .real = real, .integer = integer}, RowOp::none, nullptr);
}

std::uint32_t BodyBuilder::cast(std::uint32_t value, Elem type) {
  return add({.op = ScalarOp::cast, .type = type, .a = value}, RowOp::none, nullptr);
}

std::uint32_t BodyBuilder::rounded(std::uint32_t value, Elem elem) {
  if (holds(value, elem)) return value;
  return cast(cast(value, elem), compute_elem(elem));
}

/// Returns true for a number that the 16-bit float type represents exactly.
static bool is_exact(double number, Elem elem) {
  const auto x = static_cast<float>(number);
  return static_cast<double>(x) == number &&
         (elem == Elem::f16 ? static_cast<float>(Half(x)) == x : static_cast<float>(BFloat16(x)) == x);
}

bool BodyBuilder::holds(std::uint32_t value, Elem elem) const {
  const FusedIns& ins = body_[value];
  if (ins.row != RowOp::none) return ins.row == RowOp::max && holds(ins.scalar.a, elem);
  switch (ins.scalar.op) {
    case ScalarOp::load: return stored_.at(value) == elem;
    case ScalarOp::constant: return is_exact(ins.scalar.real, elem);
    case ScalarOp::cast: return body_[ins.scalar.a].scalar.type == elem;
    case ScalarOp::neg:
    case ScalarOp::abs: return holds(ins.scalar.a, elem);
    case ScalarOp::min:
    case ScalarOp::max: return holds(ins.scalar.a, elem) && holds(ins.scalar.b, elem);
    case ScalarOp::select: return holds(ins.scalar.b, elem) && holds(ins.scalar.c, elem);
    default: return false;
  }
}

std::uint32_t BodyBuilder::row(RowOp op, Elem type, std::uint32_t a, std::uint32_t b, std::uint32_t c, double real,
                               const Origin& origin) {
  return add({.type = type, .a = a, .b = b, .c = c, .real = real}, op, &origin);
}

std::uint32_t BodyBuilder::inline_tape(const ScalarTape& tape, const std::vector<std::uint32_t>& operands,
                                       Origin origin) {
  std::vector<std::uint32_t> at(tape.code.size());
  for (std::size_t i = 0; i < tape.code.size(); ++i) {
    ScalarIns ins = tape.code[i];
    origin.exact = i + 1 == tape.code.size();
    if (ins.op == ScalarOp::load) {
      at[i] = operands[ins.operand];
      if (origin.exact) add_origin(at[i], origin);
      continue;
    }
    const int n = arity(ins.op);
    if (n > 0) ins.a = at[ins.a];
    if (n > 1) ins.b = at[ins.b];
    if (n > 2) ins.c = at[ins.c];
    at[i] = add(ins, RowOp::none, &origin);
  }
  return at.back();
}

}  // namespace frazil
