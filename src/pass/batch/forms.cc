// Batching by the form of a node: the new node if some of its operands have the batch's axis.
#include <algorithm>

#include <fmt/format.h>

#include "ops/generic/generic.h"
#include "ops/view/view.h"
#include "pass/batch/site.h"

namespace frazil::pass {
namespace {

using ops::GenericAttrs;
using ops::GenericViewAttrs;
using ops::IndexExpr;
using ops::ReadExpr;

bool all_ranked(const BatchSite& site) {
  const auto ranked = [&](Value v) { return !v || (site.from.type(v).is_tensor() && site.from.type(v).ranked); };
  return std::ranges::all_of(site.node.in, ranked) && std::ranges::all_of(site.node.out, ranked);
}

/// Appends a node with one output. Returns nullopt if its types do not agree.
std::optional<Value> added(const BatchSite& site, const OpDef& op, std::vector<Value> in, Attrs attrs) {
  const auto made = site.to.append(op, std::move(in), std::move(attrs), {true}, {});
  return made ? std::optional(site.to.graph().node(*made).out[0]) : std::nullopt;
}

ExtentExpr extent_of(std::size_t operand, std::size_t axis) {
  return ExtentExpr(OperandRef{.operand = operand, .index = static_cast<std::int64_t>(axis)});
}

// ---- Elementwise: operands of lower rank get axes of extent 1 after the batch's axis ----

Value widened(const BatchSite& site, std::size_t k, std::size_t rank) {
  const std::size_t missing = rank - site.type(k).rank();
  if (missing == 0) return site.in[k];
  std::vector<std::int64_t> axes;
  for (std::size_t a = 0; a < missing; ++a) axes.push_back(static_cast<std::int64_t>(a) + 1);
  return ops::Unsqueeze(Expr{&site.to, site.in[k]}, site.to.ints(axes)).value;
}

Batched batch_form(const BatchSite& site, const Elementwise&) {
  std::size_t rank = 0;
  for (Value v : site.node.in) rank = std::max(rank, v ? site.from.type(v).rank() : 0);
  std::vector<Value> in(site.in.begin(), site.in.end());
  for (std::size_t k = 0; k < site.node.in.size(); ++k) {
    if (site.varies(k)) in[k] = widened(site, k, rank);
  }
  const auto made = site.to.append(*site.node.op, std::move(in), site.node.attrs, site.wanted(), site.node.name);
  if (!made) return std::nullopt;
  return site.to.graph().node(*made).out;
}

// ---- Contraction: the batch is one more parallel axis ----

constexpr const char* kBatchAxis = "b";

std::string axis_name(int axis) { return fmt::format("a{}", axis); }

/// Returns an index; nullopt if one of its numbers cannot be expressed.
std::optional<IndexExpr> index_of(const Ix& ix, OperandExprs& operands) {
  IndexExpr index;
  if (ix.offset != Dim(0) || ix.terms.empty()) {
    const auto offset = operands.expr(ix.offset);
    if (!offset) return std::nullopt;
    index.terms.push_back({.factor = *offset});
  }
  for (const auto& [axis, factor] : ix.terms) {
    const auto number = operands.expr(factor);
    if (!number) return std::nullopt;
    index.terms.push_back({.factor = *number, .axis = axis_name(axis)});
  }
  return index;
}

std::optional<ReadExpr> read_of(const std::vector<Ix>& reads, bool varies, OperandExprs& operands) {
  std::vector<IndexExpr> indices;
  if (varies) indices.push_back({{{.axis = kBatchAxis}}});
  for (const Ix& ix : reads) {
    auto one = index_of(ix, operands);
    if (!one) return std::nullopt;
    indices.push_back(*std::move(one));
  }
  return ReadExpr{std::move(indices)};
}

class ContractionRule {
 public:
  ContractionRule(const BatchSite& site, const Space& space) : site_(site), space_(space), operands_(site) {}

  Batched run() {
    if (!describe()) return std::nullopt;
    std::vector<Value> results(site_.node.out.size());
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (!site_.node.out[k]) continue;
      const auto made = output(k);
      if (!made) return std::nullopt;
      results[k] = *made;
    }
    return results;
  }

 private:
  /// Writes all attributes but the fold, which differs between outputs.
  bool describe() {
    for (std::size_t k = 0; k < site_.node.in.size(); ++k) {
      if (site_.node.in[k]) operands_.add(site_.node.in[k], site_.in[k]);
    }
    attrs_.space.push_back({kBatchAxis, operands_.batch()});
    for (std::size_t a = 0; a < space_.axes.size(); ++a) {
      const auto extent = operands_.expr(space_.axes[a].extent);
      if (!extent) return false;
      attrs_.space.push_back({axis_name(static_cast<int>(a)), extent});
      if (space_.axes[a].reduced) attrs_.reduce.push_back(axis_name(static_cast<int>(a)));
    }
    attrs_.write = {{kBatchAxis}};
    for (int axis : space_.write) attrs_.write.names.push_back(axis < 0 ? "_" : axis_name(axis));
    attrs_.body = {tape_of(site_.from, site_.id)};
    if (!reads()) return false;
    auto checks = operands_.checks();
    if (checks) attrs_.checks = std::move(*checks);
    attrs_.reads.resize(operands_.size());
    return checks.has_value();
  }

  bool reads() {
    for (std::size_t k = 0; k < site_.node.in.size(); ++k) {
      if (!site_.node.in[k]) continue;
      const bool read = k < space_.reads.size() && space_.reads[k].size() == site_.type(k).rank();
      auto indices = read ? read_of(space_.reads[k], site_.varies(k), operands_) : ReadExpr{};
      if (!indices) return false;
      attrs_.reads.push_back(*std::move(indices));
    }
    return true;
  }

  std::optional<Value> output(std::size_t k) {
    GenericAttrs attrs = attrs_;
    const Fold fold = space_.folds[k];
    attrs.fold = fold == Fold::only ? Fold::sum : fold;
    if (is_place(fold)) {
      const auto report = index_of(space_.report, operands_);
      if (!report) return std::nullopt;
      attrs.report = *report;
      attrs.last = space_.last_wins ? 1 : 0;
    } else {
      attrs.to = site_.from.type(site_.node.out[k]).elem;
    }
    attrs.reads.resize(operands_.size());
    return added(site_, ops::Generic, operands_.values(), shared_attrs(std::move(attrs)));
  }

  const BatchSite& site_;
  const Space& space_;
  OperandExprs operands_;
  GenericAttrs attrs_;
};

// ---- the same operator, if its space shows that it does the same for each element ----

/// Returns `space` with the batch as its first axis.
Space lifted(const BatchSite& site, Space space) {
  const auto shift = [](Ix& ix) {
    for (auto& term : ix.terms) ++term.first;
  };
  for (std::size_t k = 0; k < space.reads.size(); ++k) {
    std::ranges::for_each(space.reads[k], shift);
    if (k < site.node.in.size() && site.varies(k)) space.reads[k].insert(space.reads[k].begin(), Ix{0, {{0, Dim(1)}}});
  }
  shift(space.report);
  for (int& axis : space.write) axis += axis < 0 ? 0 : 1;
  space.write.insert(space.write.begin(), 0);
  space.axes.insert(space.axes.begin(), {Dim(0), false});
  return space;
}

/// Compares spaces of two graphs, ignoring the extent of axis `free`.
class SameSpace {
 public:
  SameSpace(const Scope& left, const Scope& right, std::size_t free) : left_(left), right_(right), free_(free) {}

  bool operator()(const Space& a, const Space& b) const {
    if (a.write != b.write || a.folds != b.folds || a.last_wins != b.last_wins || !same(a.report, b.report))
      return false;
    for (std::size_t k = 0; k < a.axes.size() && k < b.axes.size(); ++k) {
      if (a.axes[k].reduced != b.axes[k].reduced) return false;
      if (k != free_ && !same(a.axes[k].extent, b.axes[k].extent)) return false;
    }
    const auto reads = [&](const std::vector<Ix>& x, const std::vector<Ix>& y) {
      return std::ranges::equal(x, y, [&](const Ix& i, const Ix& j) { return same(i, j); });
    };
    return a.axes.size() == b.axes.size() && std::ranges::equal(a.reads, b.reads, reads);
  }

 private:
  bool same(Dim a, Dim b) const {
    if (a.is_const() || b.is_const()) return a == b;
    return left_.str(a) == right_.str(b);
  }
  bool same(const Ix& a, const Ix& b) const {
    return same(a.offset, b.offset) && std::ranges::equal(a.terms, b.terms, [&](const auto& x, const auto& y) {
             return x.first == y.first && same(x.second, y.second);
           });
  }
  const Scope &left_, &right_;
  std::size_t free_;
};

/// Appends the node's operator with other operands. Keeps it if its space is `want`, apart from the extent of axis
/// `free`.
std::optional<NodeId> kept_operator(const BatchSite& site, std::vector<Value> in, const Space& want, std::size_t free) {
  const auto mark = site.to.mark();
  const auto made = site.to.append(*site.node.op, std::move(in), site.node.attrs, site.wanted(), site.node.name);
  if (!made) return std::nullopt;
  const auto& space = site.to.graph().node(*made).space;
  if (space && SameSpace(site.from.scope(), site.to.graph().scope(), free)(want, *space)) return *made;
  site.to.rollback(mark);
  return std::nullopt;
}

Batched as_leading_axis(const BatchSite& site, const Space& space) {
  const auto made = kept_operator(site, {site.in.begin(), site.in.end()}, lifted(site, space), 0);
  if (!made) return std::nullopt;
  return site.to.graph().node(*made).out;
}

/// Returns for each operand the position at which it reads `axis` alone; -1 if it does not read it.
/// Returns nullopt if an operand reads it in another way, or if the varying operands are not those that read it.
std::optional<std::vector<int>> places_of(const BatchSite& site, const Space& space, int axis) {
  std::vector<int> places(site.node.in.size(), -1);
  for (std::size_t k = 0; k < site.node.in.size(); ++k) {
    if (!site.node.in[k]) continue;
    for (std::size_t d = 0; k < space.reads.size() && d < space.reads[k].size(); ++d) {
      const Ix& ix = space.reads[k][d];
      const auto is_axis = [&](const auto& term) { return term.first == axis; };
      if (std::ranges::none_of(ix.terms, is_axis)) continue;
      const bool plain = ix.offset == Dim(0) && ix.terms.size() == 1 && ix.terms[0].second == Dim(1);
      if (!plain || places[k] >= 0) return std::nullopt;
      places[k] = static_cast<int>(d);
    }
    if (site.varies(k) != (places[k] >= 0)) return std::nullopt;
  }
  return places;
}

Ints moved(std::size_t rank, std::size_t from, std::size_t to) {
  Ints perm;
  for (std::size_t a = 0; a < rank; ++a) {
    if (a != from) perm.push_back(static_cast<std::int64_t>(a));
  }
  perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return perm;
}

Expr transposed(Expr x, std::size_t from, std::size_t to) {
  return from == to ? x : ops::Transpose({x}, {.perm = moved(x.type().rank(), from, to)});
}

/// Splits axis `place` of y, which holds the batch followed by axis `axis` of x, and moves the batch to the front.
std::optional<Value> split_off(const BatchSite& site, Value y, std::size_t place, Value x, std::size_t axis) {
  GenericViewAttrs attrs{.kind = ViewMap::Kind::reshape};
  for (std::size_t d = 0; d < site.to.graph().type(y).rank(); ++d) {
    if (d != place) {
      attrs.shape.push_back(extent_of(0, d));
      continue;
    }
    attrs.shape.push_back(extent_of(1, 0));
    attrs.shape.push_back(extent_of(1, axis));
  }
  const auto apart = added(site, ops::GenericView, {y, x}, shared_attrs(std::move(attrs)));
  if (!apart) return std::nullopt;
  const Expr front = transposed({&site.to, *apart}, place, 0);
  return front ? std::optional(front.value) : std::nullopt;
}

/// Merges the batch and a parallel axis that all varying operands have, and no other operand, into one axis.
Batched merged_with(const BatchSite& site, const Space& space, int axis) {
  const auto places = places_of(site, space, axis);
  const auto written = std::ranges::find(space.write, axis);
  const auto counts = [&](const auto& term) { return term.first == axis; };  // the report would count through the batch
  if (!places || written == space.write.end() || std::ranges::any_of(space.report.terms, counts)) return std::nullopt;
  std::vector<Value> in(site.in.begin(), site.in.end());
  std::size_t source = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if ((*places)[k] < 0) continue;
    source = k;
    const Expr near = transposed({&site.to, in[k]}, 0, static_cast<std::size_t>((*places)[k]));
    in[k] = ops::MergeAxes({near}, {.axis = (*places)[k]}).value;
  }
  const auto made = kept_operator(site, std::move(in), space, static_cast<std::size_t>(axis));
  if (!made) return std::nullopt;
  std::vector<Value> results(site.node.out.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Value y = site.to.graph().node(*made).out[k];
    if (!y) continue;
    const auto place = static_cast<std::size_t>(written - space.write.begin());
    const auto inner = static_cast<std::size_t>((*places)[source]) + 1;
    const auto apart = split_off(site, y, place, site.in[source], inner);
    if (!apart) return std::nullopt;
    results[k] = *apart;
  }
  return results;
}

Batched batch_form(const BatchSite& site, const Contraction&) {
  const auto& space = site.node.space;
  if (!space || !site.to.status()) return std::nullopt;
  if (auto kept = as_leading_axis(site, *space)) return kept;
  for (int axis = 0; axis < static_cast<int>(space->axes.size()); ++axis) {
    if (space->axes[static_cast<std::size_t>(axis)].reduced) continue;
    const auto mark = site.to.mark();
    if (auto merged = merged_with(site, *space, axis)) return merged;
    site.to.rollback(mark);
  }
  return ContractionRule(site, *space).run();
}

// ---- View: the same map, after the batch's axis ----

class ViewRule {
 public:
  ViewRule(const BatchSite& site, const ViewMap& map) : site_(site), map_(map), operands_(site) {}

  std::optional<Value> run() {
    const auto source = static_cast<std::size_t>(map_.source);
    if (map_.kind == ViewMap::Kind::concat) return concat(source);
    const bool fill = map_.fill >= 0 && site_.node.in[static_cast<std::size_t>(map_.fill)];
    if (!site_.varies(source) || (fill && site_.varies(static_cast<std::size_t>(map_.fill)))) return std::nullopt;
    operands_.add(site_.node.in[source], site_.in[source]);
    if (fill) {
      attrs_.fill = 1;
      operands_.add(site_.node.in[static_cast<std::size_t>(map_.fill)], site_.in[static_cast<std::size_t>(map_.fill)]);
    }
    const auto shape = operands_.exprs(map_.shape);
    if (!shape || (map_.kind == ViewMap::Kind::affine && !affine())) return std::nullopt;
    attrs_.kind = map_.kind;
    attrs_.shape = *shape;
    attrs_.shape.insert(attrs_.shape.begin(), operands_.batch());
    return finished();
  }

 private:
  bool affine() {
    attrs_.offsets = {0};
    attrs_.axes = {0};
    attrs_.steps = {1};
    attrs_.edges = {Edge::none};
    for (const auto& a : map_.axes) {
      const auto offset = operands_.expr(a.offset), step = operands_.expr(a.step);
      if (!offset || !step) return false;
      attrs_.offsets.push_back(*offset);
      attrs_.axes.push_back(a.axis < 0 ? -1 : a.axis + 1);
      attrs_.steps.push_back(*step);
      attrs_.edges.emplace_back(a.edge);
    }
    return true;
  }

  std::optional<Value> concat(std::size_t source) {
    attrs_.kind = ViewMap::Kind::concat;
    attrs_.axis = map_.axis + 1;
    std::vector<Value> parts;
    for (std::size_t k = source; k < site_.node.in.size(); ++k) {
      if (site_.varies(k)) {
        parts.push_back(site_.in[k]);
        continue;
      }
      const auto all = repeated(site_.to, site_.in[k], site_.batch);
      if (!all) return std::nullopt;
      parts.push_back(*all);
    }
    return added(site_, ops::GenericView, std::move(parts), shared_attrs(std::move(attrs_)));
  }

  std::optional<Value> finished() {
    auto checks = operands_.checks();
    if (!checks) return std::nullopt;
    attrs_.checks = std::move(*checks);
    return added(site_, ops::GenericView, operands_.values(), shared_attrs(std::move(attrs_)));
  }

  const BatchSite& site_;
  const ViewMap& map_;
  OperandExprs operands_;
  GenericViewAttrs attrs_;
};

Batched batch_form(const BatchSite& site, const View&) {
  const auto& maps = site.node.views;
  if (!maps) return std::nullopt;
  std::vector<Value> results(site.node.out.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!site.node.out[k]) continue;
    const auto made = ViewRule(site, (*maps)[k]).run();
    if (!made) return std::nullopt;
    results[k] = *made;
  }
  return results;
}

Batched batch_form(const BatchSite&, const Composite&) { return std::nullopt; }
Batched batch_form(const BatchSite&, const Opaque&) { return std::nullopt; }
Batched batch_form(const BatchSite&, const Region&) { return std::nullopt; }

}  // namespace

Batched batch_by_form(const BatchSite& site) {
  if (site.node.op->stateful || !all_ranked(site)) return std::nullopt;
  const auto mark = site.to.mark();
  auto made = std::visit([&](const auto& form) { return batch_form(site, form); }, site.node.op->form);
  if (made && site.to.status()) return made;
  site.to.rollback(mark);
  return std::nullopt;
}

Result<Value> batch_extents(const BatchSite& site, Value v) {
  const Type& type = site.from.type(v);
  OperandExprs operands(site);
  for (std::size_t k = 0; k < site.node.in.size() && operands.size() == 0; ++k) {
    if (site.node.in[k]) operands.add(site.node.in[k], site.in[k]);
  }
  auto values = operands.exprs(*site.from.known_value(v));
  if (!values) return fail_at(site.from.describe(site.id), Code::unsupported, "its extents cannot be told");
  ops::ExtentsAttrs attrs{.values = std::move(*values), .to = type.elem};
  for (Dim d : type.shape) attrs.sizes.push_back(d.value());
  FRAZIL_TRY(const NodeId made,
             site.to.append(ops::ExtentsOf, operands.values(), shared_attrs(std::move(attrs)), {true}, {}));
  return site.to.graph().node(made).out[0];
}

Result<Value> repeated(Builder& to, Value v, Value batch) {
  const Type type = to.graph().type(v);
  if (!type.is_tensor() || !type.ranked) {
    return fail(Code::unsupported, "{} cannot be repeated along a new axis", str(type, to.graph().scope()));
  }
  GenericViewAttrs attrs{.shape = {extent_of(1, 0)}};
  for (std::size_t d = 0; d < type.rank(); ++d) {
    attrs.shape.push_back(extent_of(0, d));
    attrs.axes.push_back(static_cast<std::int64_t>(d) + 1);
  }
  FRAZIL_TRY(const NodeId made, to.append(ops::GenericView, {v, batch}, shared_attrs(std::move(attrs)), {true}, {}));
  return to.graph().node(made).out[0];
}

}  // namespace frazil::pass
