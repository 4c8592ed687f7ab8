// Turns spaces given by attributes into operators that have kernels, if each index is one axis.
#include "ops/generic/generic.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ops/contraction/contraction.h"
#include "ops/contraction/linalg.h"
#include "ops/core/compose.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

using ops::GenericAttrs;
using SpaceAxes = std::vector<int>;  // of the Generic's space; -1 is a kept extent of 1

std::size_t place(const SpaceAxes& axes, int axis) {
  return static_cast<std::size_t>(std::ranges::find(axes, axis) - axes.begin());
}

/// A Generic in which each index is one axis.
struct Plain {
  SpaceAxes order;               ///< written axes, then folded ones
  std::size_t folded = 0;        ///< number of folded axes
  SpaceAxes written;             ///< in the order of the result
  std::vector<SpaceAxes> reads;  ///< per operand that is read
  std::vector<std::size_t> at;   ///< per operand that is read: its input
  bool reads_all = false;        ///< one operand has all axes
};

/// Returns true if inference knows that each axis has the extent of all operands along it, and at least one operand
/// has it.
bool extents_agree(const Site& s, const Plain& p) {
  std::vector<bool> read(p.order.size(), false);
  for (std::size_t k = 0; k < p.reads.size(); ++k) {
    const Shape& shape = s.from.type(s.node.in[p.at[k]]).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (s.node.space->axes[static_cast<std::size_t>(p.reads[k][d])].extent != shape[d]) return false;
      read[place(p.order, p.reads[k][d])] = true;
    }
  }
  return std::ranges::all_of(read, [](bool r) { return r; });
}

/// Returns the axis of each index; nullopt unless each index is an axis of its own.
std::optional<SpaceAxes> plain_axes(const std::vector<Ix>& indices) {
  SpaceAxes axes;
  for (const Ix& ix : indices) {
    if (ix.offset != Dim(0) || ix.terms.size() != 1 || ix.terms[0].second != Dim(1)) return std::nullopt;
    axes.push_back(ix.terms[0].first);
  }
  SpaceAxes sorted = axes;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? std::optional(axes) : std::nullopt;
}

std::optional<Plain> plain_of(const Site& s) {
  const auto& a = s.attrs<GenericAttrs>();
  const auto& space = s.node.space;
  if (!space || !a.checks.empty() || is_place(a.fold.value)) return std::nullopt;
  Plain p{.written = space->write};
  std::ranges::copy_if(p.written, std::back_inserter(p.order), [](int axis) { return axis >= 0; });
  for (std::size_t axis = 0; axis < space->axes.size(); ++axis) {
    if (!space->axes[axis].reduced) continue;
    p.order.push_back(static_cast<int>(axis));
    ++p.folded;
  }
  for (std::size_t k = 0; k < a.reads.size(); ++k) {
    if (!a.reads[k].indices) continue;
    auto axes = plain_axes(space->reads[k]);
    if (!axes) return std::nullopt;
    p.reads_all |= axes->size() == p.order.size();
    p.reads.push_back(*std::move(axes));
    p.at.push_back(k);
  }
  return extents_agree(s, p) ? std::optional(std::move(p)) : std::nullopt;
}

/// Returns operand k of p with its axes where broadcasting aligns them with those of `order`.
Expr aligned(const Site& s, Builder& to, const Plain& p, std::size_t k) {
  Expr x{&to, s.in[p.at[k]]};
  Ints perm;
  SpaceAxes sorted;
  for (const int axis : p.order) {
    const std::size_t d = place(p.reads[k], axis);
    if (d == p.reads[k].size()) continue;
    perm.push_back(static_cast<std::int64_t>(d));
    sorted.push_back(axis);
  }
  if (!std::ranges::is_sorted(perm)) x = ops::Transpose({x}, {.perm = perm});
  if (sorted.empty()) return x;
  std::vector<std::int64_t> missing;
  const std::size_t first = place(p.order, sorted.front());
  for (std::size_t a = first; a < p.order.size(); ++a) {
    if (place(sorted, p.order[a]) == sorted.size()) missing.push_back(static_cast<std::int64_t>(a - first));
  }
  return missing.empty() ? x : ops::Unsqueeze(x, to.ints(missing));
}

/// Returns the body with its loads numbered among the operands that are read.
ops::ScalarBody body_of(const Site& s, const Plain& p) {
  ops::ScalarBody body = s.attrs<GenericAttrs>().body;
  for (ScalarIns& ins : body.tape.code) {
    if (ins.op != ScalarOp::load) continue;
    ins.operand = static_cast<std::uint32_t>(std::ranges::find(p.at, ins.operand) - p.at.begin());
  }
  return body;
}

std::optional<Plain> map_of(const Site& s) {
  if (!s.attrs<GenericAttrs>().reduce.empty()) return std::nullopt;
  auto p = plain_of(s);
  return p && p->written == p->order ? p : std::nullopt;
}

Expr mapped(const Site& s, Builder& to, const Plain& p, std::optional<Elem> elem) {
  std::vector<Expr> operands;
  for (std::size_t k = 0; k < p.at.size(); ++k) operands.push_back(aligned(s, to, p, k));
  return ops::GenericMap(operands, {.body = body_of(s, p), .to = elem});
}

Expr make_map(const Site& s, const Plain& p, Builder& to) { return mapped(s, to, p, s.attrs<GenericAttrs>().to); }

const OpDef* reduction(const Site& s) {
  switch (s.attrs<GenericAttrs>().fold.value) {
    case Fold::sum: return &ops::ReduceSum;
    case Fold::prod: return &ops::ReduceProd;
    case Fold::max:
    case Fold::any: return &ops::ReduceMax;
    default: return &ops::ReduceMin;
  }
}

/// Matches a fold. One operand must have all axes, so that the points to fold need no more memory than that operand.
std::optional<Plain> fold_of(const Site& s) {
  if (s.attrs<GenericAttrs>().reduce.empty()) return std::nullopt;
  auto p = plain_of(s);
  return p && p->reads_all ? p : std::nullopt;
}

/// Returns true if the folded axes are kept, after the others.
bool keeps_in_place(const Plain& p) {
  const auto kept = [](int axis) { return axis < 0; };
  const auto last = std::span(p.written).last(std::min(p.folded, p.written.size()));
  return std::ranges::all_of(last, kept) &&
         static_cast<std::size_t>(std::ranges::count_if(p.written, kept)) == p.folded;
}

Expr make_fold(const Site& s, const Plain& p, Builder& to) {
  const Expr points = mapped(s, to, p, std::nullopt);
  if (!points) return points;
  std::vector<std::int64_t> axes, kept;
  for (std::size_t a = p.order.size() - p.folded; a < p.order.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
  auto attrs = shared_attrs(ops::ReduceAttrs{.keepdims = keeps_in_place(p) ? 1 : 0});
  Expr y = to.add(*reduction(s), std::array{points, to.ints(axes)}, std::move(attrs))[0];
  if (!y) return y;
  y = ops::as_elem(y, s.from.type(s.node.out[0]).elem);
  if (keeps_in_place(p)) return y;
  for (std::size_t d = 0; d < p.written.size(); ++d) {
    if (p.written[d] < 0) kept.push_back(static_cast<std::int64_t>(d));
  }
  return kept.empty() ? y : ops::Unsqueeze(y, to.ints(kept));
}

/// Matches a sum of products of two operands of one type.
std::optional<Plain> product_of(const Site& s) {
  const auto& a = s.attrs<GenericAttrs>();
  if (a.reduce.empty() || a.fold.value != Fold::sum || s.node.in.size() < 2) return std::nullopt;
  auto p = plain_of(s);
  if (!p || p->reads_all || p->at.size() != 2 || p->written.size() + p->folded != p->order.size()) return std::nullopt;
  const auto& code = a.body.tape.code;
  const bool product = code.size() == 3 && code[0].op == ScalarOp::load && code[1].op == ScalarOp::load &&
                       code[2].op == ScalarOp::mul && code[0].operand != code[1].operand;
  const Elem left = s.elem(p->at[0]), right = s.elem(p->at[1]);
  const bool fits = product && code[2].a != code[2].b && left == right && left == s.from.type(s.node.out[0]).elem &&
                    p->order.size() <= 26;
  return fits ? p : std::nullopt;
}

Expr make_product(const Site& s, const Plain& p, Builder& to) {
  const auto letters = [&](const SpaceAxes& axes) {
    std::string text;
    for (const int axis : axes) text += static_cast<char>('a' + place(p.order, axis));
    return text;
  };
  std::string equation = fmt::format("{},{}->{}", letters(p.reads[0]), letters(p.reads[1]), letters(p.written));
  return ops::Einsum({Expr{&to, s.in[p.at[0]]}, Expr{&to, s.in[p.at[1]]}}, {.equation = std::move(equation)});
}

using N = Numerics;
constexpr Rule kGenericRules[] = {
    {"generic_map", kOps<ops::Generic>, "Generic without a fold, each index an axis -> GenericMap", N::exact,
     found<map_of, make_map>},
    {"generic_fold", kOps<ops::Generic>, "Generic whose fold one operand covers -> GenericMap and a reduction",
     N::reassociated, found<fold_of, make_fold>},
    {"generic_product", kOps<ops::Generic>, "Generic that sums products of two operands -> Einsum", N::reassociated,
     found<product_of, make_product>},
};

}  // namespace

std::span<const Rule> generic_rules() { return kGenericRules; }

}  // namespace frazil::pass
