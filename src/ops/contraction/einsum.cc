#include <algorithm>
#include <string>

#include "ops/contraction/contraction.h"
#include "ops/contraction/linalg.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"

// Einsum as a sequence of matrix products or elementwise products, from left to right.
namespace frazil::ops {
namespace {

/// A letter, or -1, -2, ... for the axes of an ellipsis counted from its end.
using Label = int;
using Labels = std::vector<Label>;

bool has(const Labels& labels, Label l) { return std::ranges::find(labels, l) != labels.end(); }

std::size_t place(const Labels& labels, Label l) {
  return static_cast<std::size_t>(std::ranges::find(labels, l) - labels.begin());
}

Labels only(const Labels& labels, auto keep) {
  Labels kept;
  std::ranges::copy_if(labels, std::back_inserter(kept), keep);
  return kept;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// ---- the equation ----

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> output;
};

constexpr char kEllipsis = '.';  ///< represents three dots

/// Parses one term, with its ellipsis as one character. Returns nullopt if it is invalid.
std::optional<std::string> read_term(std::string_view text) {
  std::string term;
  bool open = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    const bool dots = !open && text.substr(i).starts_with("...");
    if (!letter && !dots) return std::nullopt;
    term += dots ? kEllipsis : text[i];
    open |= dots;
    i += dots ? 2 : 0;
  }
  return term;
}

std::optional<Equation> read_equation(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  std::string_view rest = text;
  if (const std::size_t arrow = rest.find("->"); arrow != std::string_view::npos) {
    equation.output = read_term(rest.substr(arrow + 2));
    if (!equation.output) return std::nullopt;
    rest = rest.substr(0, arrow);
  }
  for (;;) {
    const std::size_t comma = rest.find(',');
    const auto term = read_term(rest.substr(0, comma));
    if (!term) return std::nullopt;
    equation.terms.push_back(*term);
    if (comma == std::string_view::npos) return equation;
    rest = rest.substr(comma + 1);
  }
}

/// Returns the labels of a term whose ellipsis covers `hidden` axes.
Labels labels_of(const std::string& term, std::size_t hidden) {
  Labels labels;
  for (char c : term) {
    if (c != kEllipsis) labels.push_back(c);
    for (std::size_t k = hidden; c == kEllipsis && k > 0; --k) labels.push_back(-static_cast<Label>(k));
  }
  return labels;
}

/// Returns the output of implicit mode: the ellipsis, then letters that occur once, in alphabetical order.
std::string implicit_output(const Equation& equation) {
  std::string all, output;
  for (const std::string& term : equation.terms) all += term;
  if (all.find(kEllipsis) != std::string::npos) output += kEllipsis;
  std::ranges::sort(all);
  for (char c : all) {
    if (c != kEllipsis && std::ranges::count(all, c) == 1) output += c;
  }
  return output;
}

// ---- terms ----

struct Term {
  Expr x;
  Labels labels;
};

/// Returns the type in which products of `elem` are summed. Matrix products do not support narrower integers.
Elem product_elem(Elem elem) {
  if (elem == Elem::i8 || elem == Elem::i16) return Elem::i32;
  if (elem == Elem::u8 || elem == Elem::u16) return Elem::u32;
  return compute_elem(elem);
}

/// Makes each label unique by taking diagonals.
void take_diagonals(Term& t) {
  for (std::size_t j = t.labels.size(); j-- > 1;) {
    const std::size_t i = place(t.labels, t.labels[j]);
    if (i == j) continue;
    t.x = Diagonal({t.x}, {.first = static_cast<std::int64_t>(i), .second = static_cast<std::int64_t>(j)});
    t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
  }
}

void sum_over(CompositeCx& cx, Term& t, const Labels& gone) {
  std::vector<std::int64_t> axes;
  for (Label l : gone) axes.push_back(static_cast<std::int64_t>(place(t.labels, l)));
  if (axes.empty()) return;
  t.x = ReduceSum({t.x, cx.ints(axes)}, {.keepdims = 0});
  std::erase_if(t.labels, [&](Label l) { return has(gone, l); });
}

Expr arranged(const Term& t, const Labels& order) {
  Ints perm;
  for (Label l : order) perm.push_back(static_cast<std::int64_t>(place(t.labels, l)));
  return std::ranges::is_sorted(perm) ? t.x : Transpose({t.x}, {.perm = std::move(perm)});
}

/// Merges `count` axes of x, starting at `first`.
Expr merged(CompositeCx& cx, Expr x, std::size_t first, std::size_t count) {
  const auto axis = static_cast<std::int64_t>(first);
  if (count == 0) return Unsqueeze({x, cx.ints({axis})});
  return count == 1 ? x : MergeAxes({x}, {.axis = axis, .count = static_cast<std::int64_t>(count)});
}

Expr extent_of(const Term& t, Label l) { return extent(t.x, static_cast<std::int64_t>(place(t.labels, l))); }

/// The roles of the labels of two terms.
struct Meeting {
  Labels batch;   ///< in both, kept
  Labels left;    ///< in the first only
  Labels right;   ///< in the second only
  Labels summed;  ///< in both, not kept
};

Meeting meeting(const Term& a, const Term& b, const Labels& kept) {
  return {only(a.labels, [&](Label l) { return has(b.labels, l) && has(kept, l); }),
          only(a.labels, [&](Label l) { return !has(b.labels, l); }),
          only(b.labels, [&](Label l) { return !has(a.labels, l); }),
          only(a.labels, [&](Label l) { return has(b.labels, l) && !has(kept, l); })};
}

/// Returns the product without summation, with broadcasting.
Expr outer_product(CompositeCx& cx, const Term& a, const Term& b, const Meeting& m) {
  const Expr left = append_unit_axes(cx, arranged(a, joined(m.batch, m.left)), m.right.size());
  Expr right = arranged(b, joined(m.batch, m.right));
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < m.left.size(); ++k) axes.push_back(static_cast<std::int64_t>(m.batch.size() + k));
  if (!axes.empty()) right = Unsqueeze({right, cx.ints(axes)});
  return Mul(left, right);
}

/// Returns b, with a check that its summed extents equal those of a. The matrix product checks a single label itself.
Expr fitted(const Term& a, const Term& b, const Labels& summed) {
  if (summed.size() < 2) return b.x;
  std::vector<Expr> extents;
  for (Label l : b.labels) extents.push_back(extent_of(has(summed, l) ? a : b, l));
  return Fit({b.x, Concat(extents, {.axis = 0})}, {.name = "Inputs"});
}

Expr matrix_product(CompositeCx& cx, const Term& a, const Term& b, const Meeting& m) {
  const std::size_t batch = m.batch.size();
  const Expr from_a = arranged(a, joined(joined(m.batch, m.left), m.summed));
  const Expr from_b = arranged({fitted(a, b, m.summed), b.labels}, joined(joined(m.batch, m.summed), m.right));
  const Expr left = merged(cx, merged(cx, from_a, batch + m.left.size(), m.summed.size()), batch, m.left.size());
  const Expr right = merged(cx, merged(cx, from_b, batch + m.summed.size(), m.right.size()), batch, m.summed.size());
  const Expr product = MatMul(left, right);
  if (m.left.size() == 1 && m.right.size() == 1) return product;
  std::vector<Expr> extents;
  for (std::size_t k = 0; k < batch; ++k) extents.push_back(extent(product, static_cast<std::int64_t>(k)));
  for (Label l : m.left) extents.push_back(extent_of(a, l));
  for (Label l : m.right) extents.push_back(extent_of(b, l));
  const Expr shape = extents.empty() ? cx.ints({}) : Concat(extents, {.axis = 0});
  return Reshape({product, shape}, {.allowzero = 1});
}

/// Sums the labels with extent 1 in one term. They broadcast, so each term is summed separately.
void sum_broadcast(CompositeCx& cx, Term& a, Term& b, const Labels& summed) {
  const auto is_one = [](const Term& t, Label l) { return t.x.type().shape[place(t.labels, l)] == Dim(1); };
  const Labels gone = only(summed, [&](Label l) { return is_one(a, l) || is_one(b, l); });
  sum_over(cx, a, gone);
  sum_over(cx, b, gone);
}

Term combined(CompositeCx& cx, Term a, Term b, const Labels& kept) {
  if (!cx.builder().status()) return a;
  sum_broadcast(cx, a, b, meeting(a, b, kept).summed);
  const Meeting m = meeting(a, b, kept);
  const Expr x = m.summed.empty() ? outer_product(cx, a, b, m) : matrix_product(cx, a, b, m);
  return {x, joined(joined(m.batch, m.left), m.right)};
}

// ---- the operator ----

/// Returns the inputs with their labels. Returns an empty list and reports an error if the equation does not fit them.
std::vector<Term> read_inputs(CompositeCx& cx, const Equation& equation, std::string_view shown) {
  if (equation.terms.size() != cx.input_count()) {
    cx.error("equation '{}' has {} terms for {} inputs", shown, equation.terms.size(), cx.input_count());
    return {};
  }
  std::vector<Term> terms;
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    const std::string& term = equation.terms[i];
    const bool open = term.find(kEllipsis) != std::string::npos;
    const std::size_t named = term.size() - open, rank = cx.rank(i);
    if (open ? named > rank : named != rank) {
      cx.error("equation '{}' names {}{} axes of input {}, which has {}", shown, open ? "at least " : "", named, i,
               rank);
      return {};
    }
    terms.push_back({as_elem(cx.in(i), product_elem(cx.elem(i))), labels_of(term, rank - named)});
  }
  return terms;
}

/// Returns the labels of the output. Returns nullopt and reports an error if they do not fit the terms.
std::optional<Labels> read_output(CompositeCx& cx, const Equation& equation, const std::vector<Term>& terms,
                                  std::string_view shown) {
  const std::string text = equation.output ? *equation.output : implicit_output(equation);
  Labels all;
  std::size_t hidden = 0;
  for (const Term& t : terms) {
    all = joined(std::move(all), t.labels);
    hidden = std::max(hidden, static_cast<std::size_t>(std::ranges::count_if(t.labels, [](Label l) { return l < 0; })));
  }
  if (hidden > 0 && text.find(kEllipsis) == std::string::npos) {
    cx.error("equation '{}' has no '...' in its output for {} axes of the inputs", shown, hidden);
    return std::nullopt;
  }
  Labels output = labels_of(text, hidden);
  for (Label l : output) {
    if (has(all, l) && std::ranges::count(output, l) == 1) continue;
    cx.error("equation '{}' has '{}' {} its output", shown, static_cast<char>(l), has(all, l) ? "twice in" : "only in");
    return std::nullopt;
  }
  return output;
}

}  // namespace

void einsum_body(CompositeCx& cx) {
  const std::string& shown = cx.attrs<EinsumAttrs>().equation;
  const auto equation = read_equation(shown);
  if (!equation) return cx.error("equation '{}' is not valid", shown);
  std::vector<Term> terms = read_inputs(cx, *equation, shown);
  if (terms.empty()) return;
  const auto output = read_output(cx, *equation, terms, shown);
  if (!output) return;
  std::vector<Labels> later(terms.size(), *output);  // labels still needed after terms up to this one are combined
  for (std::size_t i = terms.size() - 1; i-- > 0;) later[i] = joined(later[i + 1], terms[i + 1].labels);
  Labels seen = *output;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    take_diagonals(terms[i]);
    sum_over(cx, terms[i], only(terms[i].labels, [&](Label l) { return !has(seen, l) && !has(later[i], l); }));
    seen = joined(std::move(seen), terms[i].labels);
  }
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) result = combined(cx, result, terms[i], later[i]);
  cx.out(0, as_elem(arranged(result, *output), cx.elem(0)));
}

}  // namespace frazil::ops
