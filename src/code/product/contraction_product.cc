#include <cstring>

#include "base/thread/poll_throttle.h"
#include "code/product/contraction_space.h"
#include "code/tile/elements.h"
#include "kernel/contract/gemm_kernel.h"

// A sum of products of two operands, computed as matrix products. One operand, the weights, is read at single axes; the
// other one, the image, at any affine indices. Rows of the product are an axis that only the weights have. Columns are
// the last axes of the result, which only the image has. The elements that columns read at each point of the reduced
// axes are copied, some columns at a time, with zeros outside the image.
namespace frazil::code {
namespace {

constexpr std::int64_t kMinRows = 4;  ///< with fewer rows, the copy does not pay
constexpr std::int64_t kPatchBytes = std::int64_t{1} << 19;
constexpr std::int64_t kColumnStep = 32, kMaxColumns = 1024;

bool is_product(const ScalarTape& tape) {
  return tape.code.size() == 3 && tape.code[0].op == ScalarOp::load && tape.code[1].op == ScalarOp::load &&
         tape.code[2].op == ScalarOp::mul && tape.code[0].operand != tape.code[1].operand;
}

/// Returns whether each index of operand k is one axis, from its beginning to its end.
bool reads_single_axes(const params::Contraction& p, const ConcreteSpace& space, int k) {
  const SpaceRead& read = space.reads[k];
  for (int d = 0; d < read.rank; ++d) {
    const auto& axes = p.reads[static_cast<std::size_t>(k)][static_cast<std::size_t>(d)];
    if (axes.size() != 1 || read.axis[d].base != 0 || read.axis[d].factor[axes[0]] != 1) return false;
    if (space.extent[axes[0]] > read.extent[d]) return false;
  }
  return true;
}

bool has_axis(const params::Contraction& p, int k, int axis) {
  for (const auto& index : p.reads[static_cast<std::size_t>(k)]) {
    if (std::ranges::find(index, axis) != index.end()) return true;
  }
  return false;
}

/// Returns whether consecutive points of the listed axes are `step` elements apart.
bool is_linear(const ConcreteSpace& space, const AxisList& axes, const SpaceLine& line, std::int64_t step) {
  for (int i = axes.count; i-- > 0;) {
    const int a = axes.axis[i];
    if (space.extent[a] != 1 && line.factor[a] != step) return false;
    step *= space.extent[a];
  }
  return true;
}

/// Assigns roles to the axes. Returns false if they do not make a product.
bool assign_axes(const params::Contraction& p, const ConcreteSpace& space, SpaceProduct& s) {
  std::size_t at = p.write.size();
  const auto only_in = [&](int axis, int operand) {
    return axis >= 0 && has_axis(p, operand, axis) && !has_axis(p, 1 - operand, axis);
  };
  while (at > 0 && only_in(p.write[at - 1], s.image)) --at;
  if (at == p.write.size() || at == 0 || !only_in(p.write[at - 1], s.weights)) return false;
  s.row = p.write[at - 1];
  for (std::size_t d = at; d < p.write.size(); ++d) s.columns.add(p.write[d]);
  for (std::size_t d = 0; d + 1 < at; ++d) {
    if (p.write[d] >= 0) s.outer.add(p.write[d]);
  }
  for (int a = 0; a < space.axes; ++a) {
    if (space.reduced[a]) s.depth.add(a);
  }
  return true;
}

void cut_columns(SpaceProduct& s) {
  const auto size = static_cast<std::int64_t>(byte_size(s.elem));
  const std::int64_t most = kPatchBytes / std::max<std::int64_t>(1, s.steps * size) / kColumnStep * kColumnStep;
  s.chunks = std::max<std::int64_t>(1, ceil_div(s.cols, std::clamp(most, kColumnStep, kMaxColumns)));
  s.chunk = round_up(ceil_div(s.cols, s.chunks), kColumnStep);
  s.chunks = std::max<std::int64_t>(1, ceil_div(s.cols, s.chunk));
}

/// The bytes of the parts of a worker's scratch, in this order.
struct ProductScratch {
  std::int64_t weights, patch, result, product;
  ProductScratch(const SpaceProduct& s, const kernel::GemmKernel& gemm) {
    const auto size = static_cast<std::int64_t>(byte_size(s.elem));
    constexpr std::int64_t kLine = 64;
    weights = s.weights_in_place ? 0 : round_up(s.rows * s.steps * size, kLine);
    patch = round_up(s.chunk * s.steps * size, kLine);
    result = s.direct ? 0 : round_up(s.rows * s.chunk * size, kLine);
    product = static_cast<std::int64_t>(gemm.scratch_bytes(s.rows, s.chunk, s.steps));
  }
  std::int64_t all() const { return weights + patch + result + product; }
};

class ContractionRun {
 public:
  ContractionRun(const Call& call, const ConcreteSpace& space, const SpaceProduct& s, Elem result, std::byte* scratch)
      : call_(call),
        space_(space),
        s_(s),
        result_(result),
        gemm_(*kernel::find_gemm(s.elem, s.elem, s.elem)),
        size_(static_cast<std::int64_t>(byte_size(s.elem))) {
    const ProductScratch parts(s, gemm_);
    weights_ = scratch;
    patch_ = weights_ + parts.weights;
    sums_ = patch_ + parts.patch;
    product_ = sums_ + parts.result;
  }

  void unit(std::int64_t number) {
    std::memset(index_, 0, sizeof index_);
    AxisCounter(space_, s_.outer.all()).start(number / s_.chunks, index_);
    const std::int64_t first = number % s_.chunks * s_.chunk, count = std::min(s_.chunk, s_.cols - first);
    if (!s_.weights_in_place && number / s_.chunks != copied_) {
      copy_weights();
      copied_ = number / s_.chunks;
    }
    copy_patch(first, count);
    if (stop_requested()) return;
    AxisCounter(space_, s_.columns.all()).start(first, index_);
    multiply(count);
    for (const std::int8_t a : s_.columns.all()) index_[a] = 0;
  }

 private:
  void copy_weights() {
    const SpaceRead& read = space_.reads[s_.weights];
    const auto from_size = static_cast<std::int64_t>(byte_size(read.elem));
    const AxisCounter depth(space_, s_.depth.all());
    PollThrottle throttle;
    for (std::int64_t k = 0; k < s_.steps && !throttle.stop(s_.rows); ++k, depth.next(index_)) {
      const std::byte* from = call_.in[s_.weights] + value_at(read.place, space_.axes, index_) * from_size;
      for (std::int64_t m = 0; m < s_.rows; ++m, from += read.place.factor[s_.row] * from_size) {
        load_run(read.elem, from, from_size, weights_ + (m * s_.steps + k) * size_, 1);
      }
    }
    for (const std::int8_t a : s_.depth.all()) index_[a] = 0;
  }

  /// Writes the patch. Row k has the elements that `count` columns from `first` on read at point k of the reduced axes.
  void copy_patch(std::int64_t first, std::int64_t count) {
    const AxisCounter depth(space_, s_.depth.all());
    PollThrottle throttle;
    for (std::int64_t k = 0; k < s_.steps && !throttle.stop(count); ++k, depth.next(index_)) {
      copy_row(first, count, patch_ + k * s_.chunk * size_);
    }
    for (const std::int8_t a : s_.depth.all()) index_[a] = 0;
  }

  void copy_row(std::int64_t first, std::int64_t count, std::byte* to) {
    const SpaceRead& read = space_.reads[s_.image];
    std::int64_t index[kMaxSpaceAxes];  // indices of the image with column axes at 0
    for (int d = 0; d < read.rank; ++d) index[d] = value_at(read.axis[d], space_.axes, index_);
    const std::int64_t place = value_at(read.place, space_.axes, index_);
    const int along = s_.columns.axis[s_.columns.count - 1];
    const AxisCounter columns(space_, s_.columns.all());
    columns.start(first, index_);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t n = std::min(count - done, space_.extent[along] - index_[along]);
      SpaceRun inside{0, n};
      for (int d = 0; d < read.rank && !inside.empty(); ++d)
        inside.clip(index[d] + along_columns(read.axis[d]), read.axis[d].factor[along], read.extent[d]);
      copy_line(place + along_columns(read.place), read.place.factor[along], inside, n, to + done * size_);
      done += n;
      index_[along] += n - 1;
      columns.next(index_);
    }
    for (const std::int8_t a : s_.columns.all()) index_[a] = 0;
  }

  std::int64_t along_columns(const SpaceLine& line) const {
    std::int64_t at = 0;
    for (const std::int8_t a : s_.columns.all()) at += line.factor[a] * index_[a];
    return at;
  }

  /// Copies n elements; those outside the image become 0.
  void copy_line(std::int64_t place, std::int64_t step, SpaceRun inside, std::int64_t n, std::byte* to) const {
    if (inside.empty()) {
      std::memset(to, 0, static_cast<std::size_t>(n * size_));
      return;
    }
    if (inside.low > 0) std::memset(to, 0, static_cast<std::size_t>(inside.low * size_));
    if (inside.high < n) std::memset(to + inside.high * size_, 0, static_cast<std::size_t>((n - inside.high) * size_));
    const Elem elem = space_.reads[s_.image].elem;
    const auto size = static_cast<std::int64_t>(byte_size(elem));
    const std::byte* const from = call_.in[s_.image] + (place + inside.low * step) * size;
    load_run(elem, from, step * size, to + inside.low * size_, inside.high - inside.low);
  }

  /// Multiplies `count` columns. index_ is that of the first one.
  void multiply(std::int64_t count) {
    const SpaceRead& read = space_.reads[s_.weights];
    const auto bytes = static_cast<std::int64_t>(byte_size(result_));
    const std::int64_t step = space_.result.factor[s_.row];
    std::byte* const to = call_.out[0] + value_at(space_.result, space_.axes, index_) * bytes;
    kernel::GemmCall g{.m = s_.rows, .n = count, .k = s_.steps};
    g.a = s_.weights_in_place ? call_.in[s_.weights] + weights_place(read) * size_ : weights_;
    g.a_row = s_.weights_in_place ? read.place.factor[s_.row] : s_.steps;
    g.b = patch_, g.b_row = s_.chunk;
    g.c = s_.direct ? to : sums_;
    g.c_row = s_.direct ? step : s_.chunk;
    gemm_.rows(g, 0, s_.rows, product_);
    if (s_.direct) return;
    for (std::int64_t m = 0; m < s_.rows; ++m)
      store_run(result_, sums_ + m * s_.chunk * size_, to + m * step * bytes, bytes, count, false);
  }

  std::int64_t weights_place(const SpaceRead& read) const {
    std::int64_t at = read.place.base;
    for (const std::int8_t a : s_.outer.all()) at += read.place.factor[a] * index_[a];
    return at;
  }

  const Call& call_;
  const ConcreteSpace& space_;
  const SpaceProduct& s_;
  Elem result_;
  const kernel::GemmKernel& gemm_;
  std::int64_t size_;
  std::int64_t copied_ = -1;  ///< the point of the outer axes whose weights are copied
  std::int64_t index_[kMaxSpaceAxes];
  std::byte *weights_, *patch_, *sums_, *product_;
};

}  // namespace

void prepare_space_product(Prepare& cx, const params::Contraction& p, const ConcreteSpace& space, SpaceProduct& s) {
  if (cx.out.size() != 1 || p.folds[0] != Fold::sum || space.operands != 2 || !is_product(p.body)) return;
  s.weights = reads_single_axes(p, space, 1) ? 1 : 0;
  s.image = 1 - s.weights;
  s.elem = compute_elem(cx.out[0].elem);
  const bool same = p.body.code[2].type == s.elem && compute_elem(space.reads[0].elem) == s.elem &&
                    compute_elem(space.reads[1].elem) == s.elem;
  const auto* gemm = kernel::find_gemm(s.elem, s.elem, s.elem);
  if (!same || gemm == nullptr || !reads_single_axes(p, space, s.weights) || !assign_axes(p, space, s)) return;
  s.rows = space.extent[s.row];
  s.cols = AxisCounter(space, s.columns.all()).count();
  s.steps = AxisCounter(space, s.depth.all()).count();
  const bool dense = is_linear(space, s.columns, space.result, 1);
  if (s.rows < kMinRows || s.cols == 0 || s.steps == 0 || !dense) return;
  s.is_supported = true;
  const SpaceRead& weights = space.reads[s.weights];
  s.weights_in_place = weights.elem == s.elem && is_linear(space, s.depth, weights.place, 1);
  s.direct = cx.out[0].elem == s.elem;
  cut_columns(s);
  cx.units = AxisCounter(space, s.outer.all()).count() * s.chunks;
  cx.scratch_bytes = static_cast<std::size_t>(ProductScratch(s, *gemm).all());
  cx.nanoseconds = static_cast<double>(cx.units) * gemm->nanoseconds(s.rows, s.chunk, s.steps);
}

void run_space_product(const Call& call, const Worker& worker, const ConcreteSpace& space, const SpaceProduct& s,
                       Elem result, std::int64_t begin, std::int64_t end) {
  ContractionRun run(call, space, s, result, worker.scratch);
  for (std::int64_t unit = begin; unit < end && !stop_requested(); ++unit) run.unit(unit);
}

}  // namespace frazil::code
