// Views whose maps are attributes.
#include <algorithm>

#include "ops/core/rules.h"
#include "ops/generic/generic.h"

namespace frazil::ops {
namespace {

class MapReader {
 public:
  explicit MapReader(InferCx& cx) : cx_(cx), attrs_(cx.attrs<GenericViewAttrs>()) {}

  Result<ViewMap> run() {
    FRAZIL_CHECK(check_operands());
    map_.source = static_cast<int>(attrs_.source);
    FRAZIL_CHECK(map());
    FRAZIL_CHECK(require(cx_, attrs_.checks));
    return std::move(map_);
  }

 private:
  template <class... A>
  std::unexpected<Fault> bad(std::string_view what, fmt::format_string<A...> format, A&&... args) {
    return cx_.error("attribute '{}': {}", what, fmt::format(format, std::forward<A>(args)...));
  }

  Status map() {
    map_.kind = attrs_.kind.value;
    switch (map_.kind) {
      case ViewMap::Kind::affine: return affine();
      case ViewMap::Kind::reshape: return reshape();
      case ViewMap::Kind::concat: return concat();
    }
    return {};
  }

  Status check_operands() {
    if (cx_.input_count() == 0) return cx_.error("input 'inputs' is missing");
    const auto inside = [&](std::int64_t k) { return k >= 0 && static_cast<std::size_t>(k) < cx_.input_count(); };
    if (!inside(attrs_.source)) return bad("source", "there is no operand {}", attrs_.source);
    if (attrs_.fill != -1 && !inside(attrs_.fill)) return bad("fill", "there is no operand {}", attrs_.fill);
    if (attrs_.fill == -1) return {};
    const auto fill = static_cast<std::size_t>(attrs_.fill);
    if (cx_.elem(fill) != cx_.elem(source())) {
      return bad("fill", "{} for {}", cx_.type_str(fill), cx_.type_str(source()));
    }
    map_.fill = static_cast<int>(attrs_.fill);
    FRAZIL_CHECK(cx_.require_equal(product(cx_.scope(), cx_.shape(fill)), 1, "elements of the fill value"));
    return {};
  }

  std::size_t source() const { return static_cast<std::size_t>(attrs_.source); }

  Status shape() {
    if (attrs_.shape.size() > kMaxGenericAxes) {
      return bad("shape", "{} axes, at most {} are taken", attrs_.shape.size(), kMaxGenericAxes);
    }
    for (std::size_t i = 0; i < attrs_.shape.size(); ++i) {
      FRAZIL_TRY(const Dim d, attrs_.shape[i].infer(cx_, fmt::format("shape[{}]", i)));
      FRAZIL_CHECK(require_at_least(cx_, d, 0, fmt::format("shape[{}]", i)));
      map_.shape.push_back(d);
    }
    return {};
  }

  Status reshape() {
    FRAZIL_CHECK(shape());
    Scope& s = cx_.scope();
    FRAZIL_CHECK(cx_.require_equal(product(s, cx_.shape(source())), product(s, map_.shape), "elements of the view"));
    return {};
  }

  Status concat() {
    FRAZIL_TRY(map_.axis, cx_.axis(attrs_.axis, cx_.rank(source())));
    map_.shape = cx_.shape(source());
    const auto axis = static_cast<std::size_t>(map_.axis);
    for (std::size_t k = source() + 1; k < cx_.input_count(); ++k) {
      if (cx_.rank(k) != map_.shape.size() || cx_.elem(k) != cx_.elem(source())) {
        return cx_.error("inputs {} and {} do not join: {}, {}", source(), k, cx_.type_str(source()), cx_.type_str(k));
      }
      for (std::size_t d = 0; d < map_.shape.size(); ++d) {
        if (d == axis) continue;
        FRAZIL_TRY(map_.shape[d],
                   cx_.require_equal(map_.shape[d], cx_.shape(k)[d], fmt::format("extents of axis {}", d)));
      }
      map_.shape[axis] = cx_.scope().add(map_.shape[axis], cx_.shape(k)[axis]);
    }
    return {};
  }

  Status check_list(std::string_view name, std::size_t count, bool may_miss) {
    const std::size_t rank = cx_.rank(source());
    if (count == rank || (may_miss && count == 0)) return {};
    return bad(name, "{} entries for {} axes of {}", count, rank, cx_.type_str(source()));
  }

  Status affine() {
    FRAZIL_CHECK(shape());
    FRAZIL_CHECK(check_list("offsets", attrs_.offsets.size(), true));
    FRAZIL_CHECK(check_list("axes", attrs_.axes.size(), false));
    FRAZIL_CHECK(check_list("steps", attrs_.steps.size(), true));
    FRAZIL_CHECK(check_list("edges", attrs_.edges.size(), true));
    for (std::size_t d = 0; d < attrs_.axes.size(); ++d) {
      FRAZIL_TRY(const ViewMap::AxisMap axis, axis_map(d));
      FRAZIL_CHECK(check_range(axis, cx_.shape(source())[d], fmt::format("operand axis {}", d)));
      map_.axes.push_back(axis);
    }
    return {};
  }

  Result<ViewMap::AxisMap> axis_map(std::size_t d) {
    ViewMap::AxisMap axis;
    if (attrs_.axes[d] < -1 || attrs_.axes[d] >= static_cast<std::int64_t>(map_.shape.size())) {
      return bad(fmt::format("axes[{}]", d), "the result has no axis {}", attrs_.axes[d]);
    }
    axis.axis = static_cast<int>(attrs_.axes[d]);
    if (!attrs_.offsets.empty()) {
      FRAZIL_TRY(axis.offset, attrs_.offsets[d].infer(cx_, fmt::format("offsets[{}]", d)));
    }
    if (!attrs_.steps.empty()) {
      FRAZIL_TRY(axis.step, attrs_.steps[d].infer(cx_, fmt::format("steps[{}]", d)));
    }
    if (!attrs_.edges.empty()) axis.edge = attrs_.edges[d].value;
    return axis;
  }

  /// Requires that indices lie inside the axis if the result has elements. Edges other than none and fill need only an
  /// axis that is not empty.
  Status check_range(const ViewMap::AxisMap& axis, Dim extent, const std::string& what) {
    if (axis.edge == Edge::fill) return {};
    Scope& s = cx_.scope();
    const Dim count = axis.axis < 0 ? Dim(1) : map_.shape[static_cast<std::size_t>(axis.axis)];
    if (axis.edge == Edge::none && axis.offset == Dim(0) && axis.step == Dim(1) && count == extent) return {};
    Dim outside = s.max(0, s.sub(1, extent));
    if (axis.edge == Edge::none) {
      const Dim last = s.add(axis.offset, s.mul(axis.step, s.sub(count, 1)));
      const Dim below = s.max(0, s.sub(0, s.min(axis.offset, last)));
      outside = s.add(below, s.max(0, s.sub(s.max(axis.offset, last), s.sub(extent, 1))));
    }
    const Dim any = s.min(1, product(s, map_.shape));
    FRAZIL_CHECK(cx_.require_equal(s.mul(any, outside), 0, fmt::format("indices outside of {}", what)));
    return {};
  }

  InferCx& cx_;
  const GenericViewAttrs& attrs_;
  ViewMap map_;
};

}  // namespace

Status generic_view_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(ViewMap map, MapReader(cx).run());
  maps.push_back(std::move(map));
  return {};
}

}  // namespace frazil::ops
