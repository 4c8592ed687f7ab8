#include "ops/image/image.h"

#include <algorithm>

#include "ops/core/bound.h"
#include "ops/core/compose.h"
#include "ops/core/numbers.h"
#include "ops/core/rules.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "sym/saturate.h"

namespace frazil::ops {

// ---- CenterCropPad ----

namespace {

Result<std::vector<std::size_t>> listed_axes(InferCx& cx, const Ints& axes) {
  std::vector<std::size_t> list;
  for (std::int64_t axis : axes) {
    FRAZIL_TRY(const int front, cx.axis(axis, cx.rank(0), "axes"));
    const auto d = static_cast<std::size_t>(front);
    if (std::ranges::find(list, d) != list.end()) return cx.error("axes names axis {} twice", axis);
    list.push_back(d);
  }
  for (std::size_t d = 0; axes.empty() && d < cx.rank(0); ++d) list.push_back(d);
  return list;
}

}  // namespace

Status center_crop_pad_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  FRAZIL_TRY(const auto axes, listed_axes(cx, cx.attrs<CenterCropPadAttrs>().axes));
  FRAZIL_TRY(const std::vector<Dim> wanted, cx.ints(1));
  if (wanted.size() != axes.size()) {
    return cx.error("input 'shape' must have {} elements, got {}", axes.size(), wanted.size());
  }
  Scope& s = cx.scope();
  ViewMap map = straight_view(cx.shape(0));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t d = axes[k];
    FRAZIL_CHECK(require_at_least(cx, wanted[k], 0, fmt::format("shape[{}]", k)));
    const Dim to = s.max(wanted[k], 0), more = s.sub(to, map.shape[d]);
    if (more == Dim(0)) continue;
    const Dim before = s.max(0, s.floordiv(more, 2)), cropped = s.max(0, s.floordiv(s.sub(0, more), 2));
    map.shape[d] = to;
    map.axes[d].offset = s.sub(cropped, before);
    map.axes[d].edge = Edge::fill;
  }
  maps.push_back(std::move(map));
  return {};
}

// ---- Col2Im ----

namespace {

/// Returns the number of blocks along spatial axis d.
Dim block_count(Scope& s, const Col2ImAttrs& a, std::size_t d, std::size_t spatial, Dim image, Dim block) {
  const Dim padded = s.add(image, listed(a.pads, d, 0) + listed(a.pads, d + spatial, 0));
  const Dim reach = s.mul(s.sub(block, 1), listed(a.dilations, d, 1));
  return s.max(0, s.add(s.floordiv(s.sub(padded, s.add(reach, 1)), listed(a.strides, d, 1)), 1));
}

}  // namespace

Status col2im_types(InferCx& cx) {
  const auto& a = cx.attrs<Col2ImAttrs>();
  if (cx.rank(0) != 3) return cx.error("input 'input' must have 3 axes, got {}", cx.type_str(0));
  FRAZIL_TRY(const std::vector<Dim> image, cx.ints(1));
  FRAZIL_TRY(const std::vector<Dim> block, cx.ints(2));
  const std::size_t spatial = image.size();
  if (block.size() != spatial) return cx.error("image_shape has {} entries, block_shape {}", spatial, block.size());
  FRAZIL_CHECK(check_list(cx, a.dilations, spatial, 1, "dilations"));
  FRAZIL_CHECK(check_list(cx, a.pads, 2 * spatial, 0, "pads"));
  FRAZIL_CHECK(check_list(cx, a.strides, spatial, 1, "strides"));
  Scope& s = cx.scope();
  Dim places = 1, blocks = 1;
  Shape shape = {cx.shape(0)[0], 0};
  for (std::size_t d = 0; d < spatial; ++d) {
    FRAZIL_CHECK(require_at_least(cx, image[d], 0, fmt::format("image_shape[{}]", d)));
    FRAZIL_CHECK(require_at_least(cx, block[d], 1, fmt::format("block_shape[{}]", d)));
    shape.push_back(s.max(image[d], 0));
    places = s.mul(places, s.max(block[d], 1));
    blocks = s.mul(blocks, block_count(s, a, d, spatial, shape.back(), s.max(block[d], 1)));
  }
  shape[1] = s.floordiv(cx.shape(0)[1], places);
  FRAZIL_CHECK(cx.require_equal(cx.shape(0)[1], s.mul(shape[1], places), "extent of axis 1 in whole blocks"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(0)[2], blocks, "number of blocks"));
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

/// Increments a multi-digit counter. Returns false if all digits wrapped to 0.
bool count_up(Sizes& digits, std::span<const std::int64_t> ends) {
  for (std::size_t d = digits.size(); d-- > 0;) {
    if (++digits[d] < ends[d]) return true;
    digits[d] = 0;
  }
  return false;
}

struct Col2ImJob {
  const Col2ImAttrs& a;
  Sizes image, block, blocks;

  /// Returns the image offset of position `in` of block `at`, or -1 in the padding.
  std::int64_t target(const Sizes& in, const Sizes& at) const {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < image.size(); ++d) {
      const std::int64_t p = at[d] * listed(a.strides, d, 1) + in[d] * listed(a.dilations, d, 1) - listed(a.pads, d, 0);
      if (p < 0 || p >= image[d]) return -1;
      flat = flat * image[d] + p;
    }
    return flat;
  }
  /// Sums one plane from its columns.
  template <class T, class Wide>
  void add_plane(const T* columns, Wide* plane, PollThrottle& throttle) const {
    Sizes in(block.size(), 0), at(block.size(), 0);
    do {
      do {
        if (throttle.stop(4)) return;
        const std::int64_t to = target(in, at);
        if (to >= 0) plane[to] = static_cast<Wide>(plane[to] + static_cast<Wide>(*columns));
        ++columns;
      } while (count_up(at, blocks));
    } while (count_up(in, block));
  }
};

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, std::type_identity<float>,
                                std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                                   std::make_unsigned<T>, std::type_identity<T>>>::type;

template <class T>
void add_planes(const Col2ImJob& job, const TensorView& x, std::byte* y, std::byte* memory, std::int64_t planes) {
  auto* const plane = reinterpret_cast<Wide<T>*>(memory);
  const std::int64_t size = element_count(job.image), columns = element_count(job.block) * element_count(job.blocks);
  PollThrottle throttle;
  for (std::int64_t p = 0; p < planes && !throttle.stop(2 * size); ++p) {
    std::fill_n(plane, size, Wide<T>{});
    if (columns > 0) job.add_plane(x.as<T>().data() + p * columns, plane, throttle);
    for (std::int64_t i = 0; i < size; ++i) element<T>(y, p * size + i) = static_cast<T>(plane[i]);
  }
}

}  // namespace

Status col2im_run(OpaqueCall& call) {
  const TensorView x = call.in(0), image = call.in(1), block = call.in(2);
  Col2ImJob job{call.attrs<Col2ImAttrs>(), {}, {}, {}};
  const auto spatial = static_cast<std::size_t>(image.count());
  std::int64_t places = 1;
  Scope numbers;
  for (std::size_t d = 0; d < spatial; ++d) {
    job.image.push_back(image.integer(static_cast<std::int64_t>(d)));
    job.block.push_back(block.integer(static_cast<std::int64_t>(d)));
    if (job.block[d] < 1) return fail(Code::bad_input, "block_shape[{}] = {} is not positive", d, job.block[d]);
    places = sym::sat_mul(places, job.block[d]);
    job.blocks.push_back(block_count(numbers, job.a, d, spatial, job.image[d], job.block[d]).value());
  }
  Sizes sizes{x.sizes[0], x.sizes[1] / places};
  sizes.insert(sizes.end(), job.image.begin(), job.image.end());
  FRAZIL_TRY(std::byte* const y, call.out(0, sizes));
  if (element_count(sizes) == 0) return {};
  FRAZIL_TRY(std::byte* const memory,
             call.scratch(static_cast<std::size_t>(element_count(job.image)) * sizeof(double)));
  visit_storage(x.elem, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (!std::is_same_v<T, bool>) add_planes<T>(job, x, y, memory, sizes[0] * sizes[1]);
  });
  return {};
}

// ---- AffineGrid ----

namespace {

/// Returns the number of spatial axes, from the number of sizes or the extents of theta.
std::optional<std::int64_t> grid_axes(CompositeCx& cx) {
  const Shape &theta = cx.type(0).shape, &size = cx.type(1).shape;
  if (size.size() == 1 && size[0].is_const()) return size[0].value() - 2;
  if (theta.size() == 3 && theta[1].is_const()) return theta[1].value();
  if (theta.size() == 3 && theta[2].is_const()) return theta[2].value() - 1;
  return std::nullopt;
}

/// Returns the centres of `count` pixels, from -1 to 1.
Expr centres(CompositeCx& cx, Expr count, Elem elem, bool align) {
  const Expr one = cx.number(elem, 1), two = cx.number(elem, 2);
  const Expr n = as_elem(count, elem), place = Mul(as_elem(iota(cx, count), elem), two);
  if (align) return Div(Sub(place, Sub(n, one)), Max2(Sub(n, one), one));
  return Div(Add(Sub(place, n), one), n);
}

}  // namespace

void affine_grid_body(CompositeCx& cx) {
  if (cx.rank(0) != 3) return cx.error("input 'theta' must have 3 axes, got {}", cx.rank(0));
  const auto axes = grid_axes(cx);
  if (!axes) return cx.unsupported("the number of spatial axes must be known before the graph runs");
  if (*axes != 2 && *axes != 3) return cx.error("it works on 2 or 3 spatial axes, got {}", *axes);
  const auto r = static_cast<std::size_t>(*axes);
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  const Expr size = AtLeast({fit(cx.in(1), "size", {int1(cx, *axes + 2)})}, {.low = 0, .name = "input 'size'"});
  const Expr batch = cut(cx, size, 0, int1(cx, 0), int1(cx, 1));
  const Expr theta = as_elem(fit(cx.in(0), "theta", {batch, int1(cx, *axes), int1(cx, *axes + 1)}), wide);
  std::vector<std::int64_t> between;
  for (std::int64_t d = 1; d <= *axes; ++d) between.push_back(d);
  const auto column = [&](std::int64_t k) { return Unsqueeze({pick(cx, theta, 2, k), cx.ints(between)}); };
  Expr grid = column(*axes);
  for (std::size_t k = 0; k < r; ++k) {  // x is the last axis
    const Expr count = pick(cx, size, 0, static_cast<std::int64_t>(r + 1 - k));
    const Expr place = centres(cx, count, wide, cx.attrs<AffineGridAttrs>().align_corners != 0);
    grid = Add(grid, Mul(column(static_cast<std::int64_t>(k)), append_unit_axes(cx, place, k + 1)));
  }
  cx.out(0, as_elem(grid, elem));
}

}  // namespace frazil::ops
