#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sym/impl.h"
#include "sym/name.h"

namespace frazil {

using sym::Kind;
using sym::Term;

namespace {

// Shared sub-expressions are printed at each use, so a text can be exponentially longer than its expression.
constexpr std::size_t kMaxText = std::size_t{1} << 20;

/// An order that depends only on names and structure, so that all Scopes print an expression the same way.
class PrintOrder {
 public:
  explicit PrintOrder(const sym::Expressions& e) : e_(e) {}

  /// Orders terms of high degree first, then by their factors.
  bool terms(const Term& a, const Term& b) const {
    const auto fa = sorted_factors(a.mono);
    const auto fb = sorted_factors(b.mono);
    if (fa.size() != fb.size()) return fa.size() > fb.size();
    return std::ranges::lexicographical_compare(fa, fb, [&](Dim x, Dim y) { return operands(x, y); });
  }

  /// Orders symbols by name first, constants last.
  bool operands(Dim a, Dim b) const {
    if (a == b) return false;
    if (a.is_const() || b.is_const()) return !a.is_const();
    const sym::Node& na = e_.nodes()[a];
    const sym::Node& nb = e_.nodes()[b];
    if (na.kind != nb.kind) return na.kind < nb.kind;
    if (na.kind == Kind::symbol) return e_.symbol_name(na.first) < e_.symbol_name(nb.first);
    return na.hash != nb.hash ? na.hash < nb.hash : a.bits() < b.bits();
  }

  std::vector<Dim> sorted_factors(std::uint32_t mono) const {
    const sym::Factors f = e_.nodes().factors(mono);
    return sorted(f.view());
  }

  std::vector<Dim> sorted(std::span<const Dim> dims) const {
    std::vector<Dim> r(dims.begin(), dims.end());
    std::ranges::sort(r, [&](Dim a, Dim b) { return operands(a, b); });
    return r;
  }

 private:
  const sym::Expressions& e_;
};

class Printer {
 public:
  explicit Printer(const sym::Expressions& e) : e_(e), order_(e) {}

  std::string print(Dim d) {
    later({d});
    while (!open_.empty() && out_.size() < kMaxText) {
      const Item next = open_.back();
      open_.pop_back();
      if (next.text)
        out_ += next.text;
      else if (next.dim.is_const())
        fmt::format_to(std::back_inserter(out_), "{}", next.dim.value());
      else
        node(next.dim);
    }
    return open_.empty() ? std::move(out_) : out_ + "...";
  }

 private:
  struct Item {
    Item(Dim d) : dim(d) {}
    Item(const char* t) : text(t) {}
    Dim dim;
    const char* text = nullptr;
  };

  void later(const std::vector<Item>& items) { open_.insert(open_.end(), items.rbegin(), items.rend()); }

  void node(Dim d) {
    const sym::Node& n = e_.nodes()[d];
    switch (n.kind) {
      case Kind::symbol: out_ += sym::quoted_name(e_.symbol_name(n.first)); break;
      case Kind::sum: sum(n); break;
      case Kind::product: list("", order_.sorted(e_.nodes().operands(n)), "*", ""); break;
      case Kind::floordiv: list("floordiv(", e_.nodes().operands(n), ", ", ")"); break;
      case Kind::min: list("min(", order_.sorted(e_.nodes().operands(n)), ", ", ")"); break;
      case Kind::max: list("max(", order_.sorted(e_.nodes().operands(n)), ", ", ")"); break;
      case Kind::big_add: list("((", order_.sorted(e_.nodes().operands(n)), ") + (", "))"); break;
      case Kind::big_mul: list("((", order_.sorted(e_.nodes().operands(n)), ")*(", "))"); break;
    }
  }

  void list(const char* open, std::span<const Dim> dims, const char* separator, const char* close) {
    std::vector<Item> items{open};
    for (Dim d : dims) {
      if (items.size() > 1) items.push_back(separator);
      items.push_back(d);
    }
    items.push_back(close);
    later(items);
  }

  void sum(const sym::Node& n) {
    const auto stored = e_.nodes().terms(n);
    std::vector<Term> terms(stored.begin(), stored.end());
    std::ranges::sort(terms, [&](const Term& a, const Term& b) { return order_.terms(a, b); });
    std::vector<Item> items;
    const auto sign = [&](std::int64_t v) {
      if (!items.empty())
        items.push_back(v < 0 ? " - " : " + ");
      else if (v < 0)
        items.push_back("-");
    };
    for (const Term& t : terms) {
      sign(t.coef);
      if (std::abs(t.coef) != 1) items.insert(items.end(), {Dim(std::abs(t.coef)), "*"});
      items.push_back(e_.nodes().dim(t.mono));
    }
    if (n.constant != 0) {
      sign(n.constant);
      items.push_back(Dim(std::abs(n.constant)));
    }
    later(items);
  }

  const sym::Expressions& e_;
  PrintOrder order_;
  std::string out_;
  std::vector<Item> open_;
};

}  // namespace

std::string Scope::str(Dim d) const { return Printer(*impl_).print(impl_->own(d)); }

}  // namespace frazil
