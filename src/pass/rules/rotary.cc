#include <algorithm>
#include <array>

#include "ops/elementwise/math.h"
#include "ops/nn/attend.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"

// x * cos + rotate_half(x) * sin, as written by exporters.
namespace frazil::pass {
namespace {

/// Features [first, last) of the last axis of x.
struct Part {
  Value x;
  std::int64_t first = 0, last = 0;
};

std::int64_t last_extent(const Graph& graph, Value v) {
  const Type& type = graph.type(v);
  return type.rank() > 0 && type.shape.back().is_const() ? type.shape.back().value() : -1;
}

bool is_last(const Graph& graph, Value x, std::optional<std::int64_t> axis) {
  return axis && (*axis == -1 || *axis + 1 == static_cast<std::int64_t>(graph.type(x).rank()));
}

std::optional<Part> sliced(const Site& s, const Node& slice) {
  const auto given = [&](std::size_t i) { return i < slice.in.size() && slice.in[i]; };
  const std::int64_t size = last_extent(s.graph, slice.in[0]);
  const auto axis = given(3) ? known(s.graph, slice.in[3])
                             : std::optional<std::int64_t>(s.graph.type(slice.in[0]).rank() == 1 ? 0 : -2);
  const auto from = known(s.graph, slice.in[1]), to = known(s.graph, slice.in[2]);
  if (size < 0 || !from || !to || !is_last(s.graph, slice.in[0], axis)) return std::nullopt;
  if (given(4) && known(s.graph, slice.in[4]) != 1) return std::nullopt;
  const auto place = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  return Part{slice.in[0], place(*from), place(*to)};
}

std::optional<Part> split(const Site& s, const Node& split, Value v) {
  if (!is_last(s.graph, split.in[0], split.attributes<ops::SplitAttrs>().axis)) return std::nullopt;
  std::int64_t first = 0;
  for (Value out : split.out) {
    const std::int64_t size = out ? last_extent(s.graph, out) : -1;
    if (size < 0) return std::nullopt;
    if (out == v) return Part{split.in[0], first, first + size};
    first += size;
  }
  return std::nullopt;
}

std::optional<Part> part_of(const Site& s, Value v) {
  if (const Node* made = s.maker_here(v, ops::Slice)) return sliced(s, *made);
  const Node* made = s.maker_here(v, ops::Split);
  return made ? split(s, *made, v) : std::nullopt;
}

/// Returns the value that v rotates: v is concat(-second half, first half).
Value rotated(const Site& s, Value v) {
  const Node* concat = s.maker_here(v, ops::Concat);
  if (!concat || concat->in.size() != 2) return {};
  if (!is_last(s.graph, v, concat->attributes<ops::ConcatAttrs>().axis)) return {};
  const Node* neg = s.maker_here(concat->in[0], ops::Neg);
  const auto second = neg ? part_of(s, neg->in[0]) : std::nullopt, first = part_of(s, concat->in[1]);
  if (!second || !first || second->x != first->x) return {};
  const std::int64_t size = last_extent(s.graph, first->x);
  const bool halves = size > 0 && size % 2 == 0 && first->first == 0 && first->last == size / 2 &&
                      second->first == size / 2 && second->last == size;
  return halves ? first->x : Value{};
}

struct Rotation {
  Value x, cosine, sine;
};

/// Returns true for a table whose broadcasting does not change x's extents.
bool broadcasts(const Graph& graph, Value table, Value x) {
  const Type &own = graph.type(table), &all = graph.type(x);
  if (own.elem != Elem::f32 || own.rank() > all.rank()) return false;
  const auto rest = std::span(all.shape).last(own.rank());
  return std::ranges::equal(own.shape, rest, [](Dim a, Dim b) { return a == Dim(1) || a == b; });
}

std::optional<Rotation> rotation(const Site& s) {
  if (!s.uses.only_user(s.node.in[0]) || !s.uses.only_user(s.node.in[1])) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* turned = s.maker_here(s.in[i], ops::Mul);
    const Node* plain = s.maker_here(s.in[1 - i], ops::Mul);
    for (std::size_t k = 0; turned && plain && k < 2; ++k) {
      const Value x = rotated(s, turned->in[k]);
      if (!x || s.graph.type(x).elem != Elem::f32) continue;
      const std::size_t at = plain->in[0] == x ? 0 : 1;
      if (plain->in[at] != x) continue;
      const Rotation r{x, plain->in[1 - at], turned->in[1 - k]};
      if (broadcasts(s.graph, r.cosine, x) && broadcasts(s.graph, r.sine, x)) return r;
    }
  }
  return std::nullopt;
}

Expr rotate(const Site&, const Rotation& r, Builder& to) {
  return ops::Rotate(Expr{&to, r.x}, Expr{&to, r.cosine}, Expr{&to, r.sine});
}

constexpr Rule kRotaryRules[] = {
    {"rotary", kOps<ops::Add>, "x * cos + concat(-second half of x, first half) * sin -> Rotate(x, cos, sin)",
     Numerics::exact, found<rotation, rotate>},
};

}  // namespace

std::span<const Rule> rotary_rules() { return kRotaryRules; }

}  // namespace frazil::pass
