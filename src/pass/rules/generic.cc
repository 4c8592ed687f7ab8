// Turns spaces given by attributes into operators that have kernels, if each index is one axis.
#include "ops/generic/generic.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "ir/text/scalar_text.h"
#include "ops/contraction/contraction.h"
#include "ops/contraction/linalg.h"
#include "ops/core/compose.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

using ops::GenericAttrs;
using Names = std::vector<std::string>;

Names names_of(std::string_view text) {
  Names names;
  std::string name;
  for (char c : text) {
    if (c == ',') names.push_back(std::exchange(name, {}));
    if (c != ',' && c != ' ') name += c;
  }
  if (!text.empty()) names.push_back(name);
  return names;
}

std::size_t place(const Names& names, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

/// A Generic in which each index is one axis.
struct Plain {
  Names order;                  ///< written axes, then folded ones
  std::size_t folded = 0;       ///< number of folded axes
  Names written;                ///< in the order of the result; kept ones are "_"
  std::vector<Names> reads;     ///< per operand that is read
  std::vector<std::size_t> at;  ///< per operand that is read: its input
  bool reads_all = false;       ///< one operand has all axes
};

/// Returns the extent for a text such as "3" or "d0_1"; nullopt for another expression.
std::optional<Dim> simple_extent(const Site& s, std::string_view text) {
  std::int64_t numbers[2] = {0, 0};
  const char *at = text.data(), *const past = text.data() + text.size();
  const bool number = !text.starts_with('d');
  for (std::int64_t& n : std::span(numbers, number ? 1 : 2)) {
    if (!number && at != past) ++at;  // 'd' or '_'
    const auto [next, error] = std::from_chars(at, past, n);
    if (error != std::errc{} || n < 0) return std::nullopt;
    at = next;
  }
  if (at != past) return std::nullopt;
  if (number) return numbers[0];
  const auto k = static_cast<std::size_t>(numbers[0]), d = static_cast<std::size_t>(numbers[1]);
  if (k >= s.node.in.size() || d >= s.from.type(s.node.in[k]).rank()) return std::nullopt;
  return s.from.type(s.node.in[k]).shape[d];
}

/// Returns true for an axis "i", or for "i = d0_1" if that is the extent of an operand axis that is read with i alone.
bool has_own_extent(const Site& s, std::string_view axis, std::string_view name) {
  const auto& a = s.attrs<GenericAttrs>();
  const std::size_t equal = axis.find('=');
  if (equal == axis.npos) return true;
  const Names text = names_of(axis.substr(equal + 1));
  const auto extent = text.size() == 1 ? simple_extent(s, text[0]) : std::nullopt;
  if (!extent) return false;
  for (std::size_t k = 0; k < a.reads.size(); ++k) {
    const Names reads = names_of(a.reads[k]);
    for (std::size_t d = 0; d < reads.size(); ++d) {
      if (reads[d] == name && s.from.type(s.node.in[k]).shape[d] == *extent) return true;
    }
  }
  return false;
}

/// Returns the names of the axes; nullopt if an extent is not that of an operand that reads the axis.
std::optional<Names> axis_names(const Site& s) {
  Names names;
  for (const std::string& axis : s.attrs<GenericAttrs>().space) {
    const Names name = names_of(std::string_view(axis).substr(0, axis.find('=')));
    if (name.size() != 1 || !has_own_extent(s, axis, name[0])) return std::nullopt;
    names.push_back(name[0]);
  }
  return names;
}

/// Returns true if inference knows that all operands have equal extents along each axis.
bool extents_agree(const Site& s, const Plain& p) {
  std::vector<std::optional<Dim>> extents(p.order.size());
  for (std::size_t k = 0; k < p.reads.size(); ++k) {
    const Shape& shape = s.from.type(s.node.in[p.at[k]]).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto& extent = extents[place(p.order, p.reads[k][d])];
      if (extent && *extent != shape[d]) return false;
      extent = shape[d];
    }
  }
  return std::ranges::all_of(extents, [](const auto& e) { return e.has_value(); });
}

std::optional<Plain> plain_of(const Site& s) {
  const auto& a = s.attrs<GenericAttrs>();
  const auto axes = axis_names(s);
  if (!axes || !a.checks.empty() || a.fold.starts_with("arg")) return std::nullopt;
  Plain p{.written = names_of(a.write)};
  std::ranges::copy_if(p.written, std::back_inserter(p.order), [](const std::string& n) { return n != "_"; });
  for (const std::string& name : *axes) {
    if (place(p.order, name) < p.order.size()) continue;
    p.order.push_back(name);
    ++p.folded;
  }
  for (std::size_t k = 0; k < a.reads.size(); ++k) {
    if (a.reads[k] == "-") continue;
    p.reads.push_back(names_of(a.reads[k]));
    p.at.push_back(k);
    Names sorted = p.reads.back();
    std::ranges::sort(sorted);
    const auto known = [&](const std::string& n) { return place(p.order, n) < p.order.size(); };
    if (!std::ranges::all_of(sorted, known) || std::ranges::adjacent_find(sorted) != sorted.end()) return std::nullopt;
    p.reads_all |= sorted.size() == p.order.size();
  }
  return extents_agree(s, p) ? std::optional(std::move(p)) : std::nullopt;
}

/// Returns operand k of p with its axes where broadcasting aligns them with those of `order`.
Expr aligned(const Site& s, Builder& to, const Plain& p, std::size_t k) {
  Expr x{&to, s.in[p.at[k]]};
  Ints perm;
  Names sorted;
  for (const std::string& name : p.order) {
    const std::size_t d = place(p.reads[k], name);
    if (d == p.reads[k].size()) continue;
    perm.push_back(static_cast<std::int64_t>(d));
    sorted.push_back(name);
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
Strings body_of(const Site& s, const Plain& p) {
  auto tape = parse_tape(s.attrs<GenericAttrs>().body);
  for (ScalarIns& ins : tape->code) {
    if (ins.op != ScalarOp::load) continue;
    ins.operand = static_cast<std::uint32_t>(std::ranges::find(p.at, ins.operand) - p.at.begin());
  }
  return lines_of(*tape);
}

std::optional<Plain> map_of(const Site& s) {
  if (!s.attrs<GenericAttrs>().reduce.empty()) return std::nullopt;
  auto p = plain_of(s);
  return p && p->written == p->order ? p : std::nullopt;
}

Expr mapped(const Site& s, Builder& to, const Plain& p, std::optional<std::int64_t> elem) {
  std::vector<Expr> operands;
  for (std::size_t k = 0; k < p.at.size(); ++k) operands.push_back(aligned(s, to, p, k));
  return ops::GenericMap(operands, {.body = body_of(s, p), .to = elem});
}

Expr make_map(const Site& s, const Plain& p, Builder& to) { return mapped(s, to, p, s.attrs<GenericAttrs>().to); }

const OpDef* reduction(const Site& s) {
  const std::string& fold = s.attrs<GenericAttrs>().fold;
  if (fold == "sum") return &ops::ReduceSum;
  if (fold == "prod") return &ops::ReduceProd;
  return fold == "max" || fold == "any" ? &ops::ReduceMax : &ops::ReduceMin;
}

/// Matches a fold. One operand must have all axes, so that the points to fold need no more memory than that operand.
std::optional<Plain> fold_of(const Site& s) {
  if (s.attrs<GenericAttrs>().reduce.empty()) return std::nullopt;
  auto p = plain_of(s);
  return p && p->reads_all ? p : std::nullopt;
}

/// Returns true if the folded axes are kept, after the others.
bool keeps_in_place(const Plain& p) {
  const auto kept = [](const std::string& n) { return n == "_"; };
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
    if (p.written[d] == "_") kept.push_back(static_cast<std::int64_t>(d));
  }
  return kept.empty() ? y : ops::Unsqueeze(y, to.ints(kept));
}

/// Matches a sum of products of two operands of one type.
std::optional<Plain> product_of(const Site& s) {
  const auto& a = s.attrs<GenericAttrs>();
  if (a.reduce.empty() || a.fold != "sum" || s.node.in.size() < 2) return std::nullopt;
  auto p = plain_of(s);
  const auto tape = parse_tape(a.body);
  if (!p || p->reads_all || p->at.size() != 2 || p->written.size() + p->folded != p->order.size()) return std::nullopt;
  const auto& code = tape->code;
  const bool product = code.size() == 3 && code[0].op == ScalarOp::load && code[1].op == ScalarOp::load &&
                       code[2].op == ScalarOp::mul && code[0].operand != code[1].operand;
  const Elem left = s.elem(p->at[0]), right = s.elem(p->at[1]);
  const bool fits = product && code[2].a != code[2].b && left == right && left == s.from.type(s.node.out[0]).elem &&
                    p->order.size() <= 26;
  return fits ? p : std::nullopt;
}

Expr make_product(const Site& s, const Plain& p, Builder& to) {
  const auto letters = [&](const Names& names) {
    std::string text;
    for (const std::string& n : names) text += static_cast<char>('a' + place(p.order, n));
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
