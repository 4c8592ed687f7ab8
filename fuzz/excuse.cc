#include "excuse.h"

#include <cmath>
#include <complex>
#include <map>
#include <set>

#include "differ.h"
#include "draft.h"
#include "perturb.h"
#include "plan/lower/make_plan.h"
#include "tensor/compare.h"

namespace frazil::fuzz {
namespace {

constexpr int kRuns = 6;
constexpr double kFactor = 64;  // between what noise shows and what may be
constexpr double kHuge = 1e15;  // from here on the order of a sum may decide whether it overflows

double unit_of(Elem elem) {
  switch (elem) {
    case Elem::f64:
    case Elem::c128: return 1e-12;
    case Elem::f16: return 0x1p-9;
    case Elem::bf16: return 0x1p-6;
    case Elem::f32:
    case Elem::c64: return 4e-6;
    default: return is_float(elem) ? 0.26 : 0;
  }
}
double smallest_of(Elem elem) { return elem == Elem::f64 ? 1e-300 : is_small_float(elem) ? 1e-6 : 1e-37; }

Tolerance tolerance_of(const Datum& datum) {
  if (datum.is_sequence() && !datum.sequence().items.empty()) return tolerance_of(datum.sequence().items[0]);
  if (!datum.is_tensor()) return {0, 0};
  return {.rtol = unit_of(datum.tensor().elem()), .atol = smallest_of(datum.tensor().elem())};
}

/// The element as one or two reals.
std::complex<double> number(const Tensor& t, std::int64_t i) {
  if (t.elem() == Elem::c64) {
    const auto v = t.as<std::complex<float>>()[static_cast<std::size_t>(i)];
    return {v.real(), v.imag()};
  }
  if (t.elem() == Elem::c128) return t.as<std::complex<double>>()[static_cast<std::size_t>(i)];
  return t.number_at(i);
}

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

bool fits(double got, double want, const std::vector<double>& others, Elem elem, double largest) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  double spread = 0;
  for (double other : others) {
    if (!same_class(other, want)) return true;
    if (std::isfinite(other)) spread = std::max(spread, std::fabs(other - want));
  }
  if (!std::isfinite(got) || !std::isfinite(want)) return largest > kHuge;
  return std::fabs(got - want) <= unit_of(elem) * std::fabs(want) + smallest_of(elem) + kFactor * spread;
}

bool same_element(const Tensor& a, const Tensor& b, std::int64_t i) {
  if (a.elem() == Elem::string) {
    return a.as<std::string>()[static_cast<std::size_t>(i)] == b.as<std::string>()[static_cast<std::size_t>(i)];
  }
  const std::size_t size = byte_size(a.elem());
  const std::size_t at = static_cast<std::size_t>(i) * size;
  return std::equal(a.data() + at, a.data() + at + size, b.data() + at);
}

bool fits_element(const Tensor& got, const Tensor& want, const std::vector<Tensor>& others, std::int64_t i,
                  double largest) {
  if (!is_float(want.elem()) && !is_complex(want.elem())) {
    if (same_element(got, want, i)) return true;
    return std::ranges::any_of(others, [&](const Tensor& t) { return !same_element(t, want, i); });
  }
  std::vector<double> reals, imags;
  for (const Tensor& t : others) {
    reals.push_back(number(t, i).real());
    imags.push_back(number(t, i).imag());
  }
  const auto g = number(got, i), w = number(want, i);
  return fits(g.real(), w.real(), reals, want.elem(), largest) && fits(g.imag(), w.imag(), imags, want.elem(), largest);
}

Tensor packed(const Tensor& t) { return t.packed().value(); }

bool same_type(const Datum& a, const Datum& b) {
  if (a.is_tensor() != b.is_tensor() || a.is_sequence() != b.is_sequence()) return false;
  if (a.is_tensor()) return a.tensor().elem() == b.tensor().elem() && a.tensor().sizes() == b.tensor().sizes();
  return !a.is_sequence() || a.sequence().items.size() == b.sequence().items.size();
}

bool fits_datum(const Datum& got, const Datum& want, const std::vector<Datum>& others, double largest) {
  for (const Datum& other : others) {
    if (!same_type(other, want)) return true;
  }
  if (!same_type(got, want)) return false;
  if (want.is_sequence()) {
    for (std::size_t k = 0; k < want.sequence().items.size(); ++k) {
      std::vector<Datum> inner;
      for (const Datum& other : others) inner.push_back(other.sequence().items[k]);
      if (!fits_datum(got.sequence().items[k], want.sequence().items[k], inner, largest)) return false;
    }
    return true;
  }
  if (!want.is_tensor()) return true;
  std::vector<Tensor> tensors;
  for (const Datum& other : others) tensors.push_back(packed(other.tensor()));
  const Tensor a = packed(got.tensor()), b = packed(want.tensor());
  for (std::int64_t i = 0; i < b.count(); ++i) {
    if (!fits_element(a, b, tensors, i, largest)) return false;
  }
  return true;
}

/// Without elements: all that a loop gathers that runs no iteration. Its other extents are what the types tell, and
/// passes may have learnt more of them.
bool are_empty_alike(const Datum& a, const Datum& b) {
  if (!a.is_tensor() || !b.is_tensor()) return false;
  const Tensor &x = a.tensor(), &y = b.tensor();
  return x.elem() == y.elem() && x.rank() == y.rank() && x.count() == 0 && y.count() == 0;
}

}  // namespace

std::optional<std::string> usual_difference(const Datum& got, const Datum& want) {
  return frazil::difference(got, want, tolerance_of(want));
}

Excuse::Excuse(const Graph& graph, const std::vector<Datum>& inputs) : has_regions_(graph.block_count() > 1) {
  const auto noisy = with_rounding_noise(graph);
  for (int k = 0; k < kRuns && noisy; ++k) {
    seed_noise(static_cast<std::uint64_t>(k));
    outcomes_.push_back(run_on_reference(*noisy, inputs));
    largest_ = std::max(largest_, largest_seen());
  }
}

namespace {

bool has_step(const Plan& plan, std::string_view node) {
  return std::ranges::any_of(plan.steps,
                             [&](const Step& s) { return s.node && plan.graph->node(s.node).name == node; });
}

/// "n1" of "node 'n1' (Add): ..."; empty where no node is named.
std::string_view named_node(std::string_view message) {
  constexpr std::string_view kBefore = "node '";
  const std::size_t from = message.find(kBefore);
  if (from == message.npos) return {};
  message.remove_prefix(from + kBefore.size());
  return message.substr(0, message.find('\''));
}

/// Extends what a region gives to all that its blocks give; the operator says how many that are only by refusing more.
void give_all(Draft& draft, DraftNode& node) {
  if (node.blocks.empty()) return;
  const std::size_t given = node.out.size();
  for (std::size_t n = node.blocks[0].results.size(); n > given; --n) {
    node.out.resize(n, kNoValue);
    if (build(draft)) return;
  }
  node.out.resize(given);
}

/// What nodes in blocks with a result that nobody uses are made from, themselves included: what only that result needs
/// is left out.
class Idle {
 public:
  explicit Idle(Draft& draft) {
    each_node(draft.main, [&](DraftNode& node) {
      for (int v : node.out) producer_[v] = &node;
    });
    const std::map<int, int> used = uses(draft);
    for (DraftNode& outer : draft.main.nodes) {
      for (DraftBlock& block : outer.blocks) {
        each_node(block, [&](DraftNode& node) {
          if (std::ranges::any_of(node.out, [&](int v) { return !used.contains(v); })) add(node);
        });
      }
    }
  }

  bool has(std::string_view name) const {
    return std::ranges::any_of(nodes_, [&](const DraftNode* node) { return node->name == name; });
  }

 private:
  void add(DraftNode& node) {
    if (!nodes_.insert(&node).second) return;
    add(node.in);
    for (DraftBlock& block : node.blocks) {
      for (DraftNode& inner : block.nodes) add(inner);
      add(block.results);
    }
  }
  void add(const std::vector<int>& values) {
    for (int v : values) {
      if (const auto it = producer_.find(v); v != kNoValue && it != producer_.end()) add(*it->second);
    }
  }

  std::map<int, DraftNode*> producer_;
  std::set<const DraftNode*> nodes_;
};

}  // namespace

bool is_lazy(const Graph& graph, const std::vector<Datum>& inputs, const Fault& fault) {
  const std::string text = fault.text();
  const std::string_view name = named_node(text);
  std::vector<pass::PassRun> ran;
  const auto plan = make_plan(graph, {PassSet::none()}, ran);
  if (plan && !name.empty() && !has_step(*plan, name)) return true;
  Draft draft = draft_of(graph);
  each_node(draft.main, [&](DraftNode& node) { give_all(draft, node); });
  if (!name.empty() && Idle(draft).has(name)) return true;
  draft.main.results.clear();
  draft.output_names.clear();
  for (DraftNode& node : draft.main.nodes) {
    for (int& v : node.out) {
      if (v == kNoValue) v = draft.next++;
      draft.main.results.push_back(v);
      draft.output_names.push_back(fmt::format("y{}", v));
    }
  }
  const auto asking = build(draft);
  if (!asking) return false;
  const auto got = run_on_tier0(*asking, inputs);
  return !got && got.error().code == fault.code;
}

bool Excuse::excuses_outcome(const Result<std::vector<Datum>>& want) const {
  return std::ranges::any_of(outcomes_, [&](const auto& o) { return o.has_value() != want.has_value(); });
}

std::optional<std::string> Excuse::difference(std::size_t i, const Datum& got, const Datum& want) const {
  if (has_regions_ && are_empty_alike(got, want)) return std::nullopt;
  std::vector<Datum> others;
  for (const auto& outcome : outcomes_) {
    if (!outcome) return std::nullopt;
    others.push_back((*outcome)[i]);
  }
  if (fits_datum(got, want, others, largest_)) return std::nullopt;
  return usual_difference(got, want);
}

}  // namespace frazil::fuzz
