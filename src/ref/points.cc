#include "ref/points.h"

#include <algorithm>
#include <array>

#include "base/thread/poll_throttle.h"
#include "ref/moves.h"

namespace frazil::ref {
namespace {

/// An affine index with constant factors, over the loops in execution order.
struct Line {
  std::int64_t base = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // (loop, factor)
  std::int64_t slope = 0;                                   // factor of the innermost loop

  void add(std::size_t loop, std::int64_t factor, std::size_t innermost) {
    if (loop == innermost) {
      slope += factor;
    } else if (factor != 0) {
      terms.emplace_back(loop, factor);
    }
  }
  std::int64_t start(std::span<const std::int64_t> index) const {
    std::int64_t at = base;
    for (auto [loop, factor] : terms) at += factor * index[loop];
    return at;
  }
};

struct Interval {
  std::int64_t low, high;  // [low, high)
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// Narrows `run` to the i with 0 <= at + slope * i < size.
void clip(Interval& run, std::int64_t at, std::int64_t slope, std::int64_t size) {
  if (slope == 0) {
    if (at < 0 || at >= size) run.high = run.low;
    return;
  }
  const std::int64_t first = at + slope * run.low, last = at + slope * (run.high - 1);
  if (std::min(first, last) >= 0 && std::max(first, last) < size) return;
  const std::int64_t a = slope > 0 ? 0 : size - 1, b = size - 1 - a;  // at + slope * i is between a and b
  run.low = std::max(run.low, -floor_div(at - a, slope));
  run.high = std::min(run.high, floor_div(b - at, slope) + 1);
  run.high = std::max(run.high, run.low);
}

struct Read {
  const Tensor* tensor;
  std::byte* reg;  // null: the read only decides whether a point contributes
  std::vector<Line> axes;
  Line place;
  std::int64_t now = 0;
};

class Walk {
 public:
  Walk(TapeRun& tape, const std::function<void(const Batch&)>& sink) : tape_(tape), sink_(sink) {}

  Status prepare(const Space& space, std::span<const Operand> operands) {
    FRAZIL_CHECK(order_loops(space));
    FRAZIL_TRY(out_, write_line(space));
    FRAZIL_TRY(report_, line(space.report));
    for (std::size_t k = 0; k < operands.size(); ++k) FRAZIL_CHECK(add_read(operands[k], tape_.operand(k)));
    return {};
  }

  void run() {
    if (std::ranges::find(extents_, 0) != extents_.end()) return;
    constexpr unsigned kLookEvery = 64;
    unsigned turns = 0;
    do {
      if (++turns % kLookEvery == 0) stopped_ |= stop_requested();
      run_inner();
    } while (!stopped_ && advance());
    flush();
  }

 private:
  std::size_t innermost() const { return extents_.size() - 1; }

  Status order_loops(const Space& space) {
    loop_of_.resize(space.axes.size());
    for (const bool reduced : {false, true}) {
      for (std::size_t a = 0; a < space.axes.size(); ++a) {
        if (space.axes[a].reduced != reduced) continue;
        loop_of_[a] = extents_.size();
        FRAZIL_TRY(const std::int64_t extent, number(space.axes[a].extent));
        extents_.push_back(extent);
      }
    }
    if (extents_.empty()) extents_.push_back(1);
    index_.assign(extents_.size(), 0);
    return {};
  }

  Result<Line> line(const Ix& ix) const {
    Line l;
    FRAZIL_TRY(l.base, number(ix.offset));
    for (const auto& [axis, factor] : ix.terms) {
      FRAZIL_TRY(const std::int64_t f, number(factor));
      l.add(loop_of_[static_cast<std::size_t>(axis)], f, innermost());
    }
    return l;
  }

  Result<Line> write_line(const Space& space) const {
    FRAZIL_TRY(const Sizes sizes, output_sizes(space));
    const Sizes strides = contiguous_strides(sizes);
    Line l;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const int axis = space.write[d];
      if (axis >= 0) l.add(loop_of_[static_cast<std::size_t>(axis)], strides[d], innermost());
    }
    return l;
  }

  Status add_read(const Operand& operand, std::byte* reg) {
    Read read{&operand.data, reg, {}, {}};
    if (operand.reads.size() != operand.data.rank()) {
      if (reg == nullptr && operand.reads.empty()) return {};
      return fail(Code::internal, "{} index expressions for an operand {}", operand.reads.size(),
                  operand.data.type_str());
    }
    const Sizes strides = contiguous_strides(operand.data.sizes());
    for (std::size_t d = 0; d < operand.reads.size(); ++d) {
      FRAZIL_TRY(const Line l, line(operand.reads[d]));
      read.place.base += l.base * strides[d];
      for (auto [loop, factor] : l.terms) read.place.add(loop, factor * strides[d], innermost());
      read.place.add(innermost(), l.slope * strides[d], innermost());
      read.axes.push_back(l);
    }
    reads_.push_back(std::move(read));
    return {};
  }

  bool advance() {
    for (std::size_t loop = innermost(); loop-- > 0;) {
      if (++index_[loop] < extents_[loop]) return true;
      index_[loop] = 0;
    }
    return false;
  }

  /// Runs the innermost loop at the current indices of the others.
  void run_inner() {
    Interval run{0, extents_.back()};
    for (Read& read : reads_) {
      for (std::size_t d = 0; d < read.axes.size() && run.low < run.high; ++d) {
        clip(run, read.axes[d].start(index_), read.axes[d].slope, read.tensor->sizes()[d]);
      }
      if (run.low >= run.high) return;
      read.now = read.place.start(index_);
    }
    const std::int64_t out = out_.start(index_), report = report_.start(index_);
    while (run.low < run.high && !stopped_) {
      const std::size_t n = std::min(kBatch - filled_, static_cast<std::size_t>(run.high - run.low));
      take(run.low, n, out, report);
      run.low += static_cast<std::int64_t>(n);
      if (filled_ == kBatch) flush();
    }
  }

  void take(std::int64_t from, std::size_t n, std::int64_t out, std::int64_t report) {
    for (const Read& read : reads_) {
      if (read.reg == nullptr) continue;
      load_elements(read.tensor->elem(), read.tensor->data(), read.now + read.place.slope * from, read.place.slope, n,
                    read.reg, filled_);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = from + static_cast<std::int64_t>(i);
      outs_[filled_ + i] = out + out_.slope * at;
      reports_[filled_ + i] = report + report_.slope * at;
    }
    filled_ += n;
  }

  void flush() {
    if (filled_ == 0) return;
    tape_.run(filled_);
    sink_({filled_, tape_.result(), outs_.data(), reports_.data()});
    filled_ = 0;
    stopped_ |= stop_requested();
  }

  TapeRun& tape_;
  const std::function<void(const Batch&)>& sink_;
  std::vector<std::size_t> loop_of_;
  std::vector<std::int64_t> extents_, index_;
  std::vector<Read> reads_;
  Line out_, report_;
  std::size_t filled_ = 0;
  bool stopped_ = false;
  std::array<std::int64_t, kBatch> outs_, reports_;
};

}  // namespace

Space broadcast_space(std::span<const std::int64_t> sizes) {
  Space space;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    space.parallel(sizes[d]);
    space.write.push_back(static_cast<int>(d));
  }
  return space;
}

std::vector<Ix> broadcast_reads(std::span<const std::int64_t> operand, std::span<const std::int64_t> sizes) {
  std::vector<Ix> reads(operand.size());
  const std::size_t skip = sizes.size() - operand.size();
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] != 1 || sizes[skip + d] == 1) reads[d].terms.emplace_back(static_cast<int>(skip + d), Dim(1));
  }
  return reads;
}

Result<Sizes> output_sizes(const Space& space) {
  Sizes sizes;
  for (const int axis : space.write) {
    FRAZIL_TRY(const std::int64_t extent,
               number(axis < 0 ? Dim(1) : space.axes[static_cast<std::size_t>(axis)].extent));
    sizes.push_back(extent);
  }
  return sizes;
}

Status for_points(const Space& space, std::span<const Operand> operands, TapeRun& tape,
                  const std::function<void(const Batch&)>& sink) {
  Walk walk(tape, sink);
  FRAZIL_CHECK(walk.prepare(space, operands));
  walk.run();
  return {};
}

}  // namespace frazil::ref
