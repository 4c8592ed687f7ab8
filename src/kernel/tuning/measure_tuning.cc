#include "kernel/tuning/measure_tuning.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/thread/scheduler.h"
#include "base/value/scalar_op.h"
#include "kernel/contract/gemm_kernel.h"
#include "kernel/row/rows.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"
#include "kernel/tile/tile.h"
#include "kernel/window/conv_nhwc.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// A piece of work and the time that a table predicts for it. Predictions are linear in the table's constants.
struct Probe {
  std::string name;
  std::function<double(const Tuning&)> predicted;
  std::function<void()> work;
};

/// Returns the shortest of several times in nanoseconds, as other work of the machine only adds to them.
double shortest(const std::function<void()>& work) {
  constexpr double kNanoseconds = 4e7;
  constexpr int kMinimum = 4;
  work();  // fills caches
  double best = 0, all = 0;
  for (int i = 0; i < kMinimum || all < kNanoseconds; ++i) {
    const auto begin = Clock::now();
    work();
    const double each = nanoseconds_since(begin);
    best = i == 0 ? each : std::min(best, each);
    all += each;
  }
  return best;
}

/// Memory that starts on a cache line, like the arena of a session, filled with small numbers.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes + kLineBytes) {
    float* const numbers = floats();
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) numbers[i] = 0.001f * static_cast<float>(i % 1009);
  }
  static Room of_floats(int64_t count) { return Room(static_cast<std::size_t>(count) * sizeof(float)); }
  void* data() { return aligned(bytes_.data()); }
  float* floats() { return aligned(bytes_.data()); }

 private:
  std::vector<std::byte> bytes_;
};

/// Makes a probe of the product of [m, k] and a packed [k, n].
Probe product_probe(Elem a, Elem b, Elem c, int64_t m, int64_t n, int64_t k) {
  const GemmKernel* const kernel = find_gemm(a, b, c);
  struct Operands {
    Room a, b, c, packed, scratch;
  };
  const auto bytes = [](Elem e, int64_t count) { return byte_size(e) * static_cast<std::size_t>(count); };
  const std::size_t packed = kernel->pack_b != nullptr ? kernel->packed_b_bytes(k, n) : 0;
  auto own = std::make_shared<Operands>(Room(bytes(a, m * k)), Room(bytes(b, k * n)), Room(bytes(c, m * n)),
                                        Room(packed), Room(kernel->scratch_bytes(m, n, k)));
  GemmCall call{.m = m,
                .n = n,
                .k = k,
                .a = own->a.data(),
                .a_row = k,
                .b = own->b.data(),
                .b_row = n,
                .c = own->c.data(),
                .c_row = n};
  if (kernel->pack_b != nullptr) {
    kernel->pack_b(call, own->packed.data());
    call.packed_b = own->packed.data();
  }
  return {fmt::format("product {} {}x{}x{}", name_of(a), m, n, k),
          [=](const Tuning& t) { return product_nanoseconds(t, kernel->multiply_add, m, n, k, byte_size(b)); },
          [=] { kernel->rows(call, 0, m, own->scratch.data()); }};
}

/// Makes a probe of a padded convolution of a square image, channels last.
Probe conv_probe(int64_t in, int64_t out, int64_t extent, int64_t kernel, int64_t groups, bool fast) {
  struct Operands {
    Room x, w, packed, y, scratch;
  };
  NhwcConv conv{.params = {.in_c = in,
                           .in_h = extent,
                           .in_w = extent,
                           .out_c = out,
                           .out_h = extent,
                           .out_w = extent,
                           .kernel_h = kernel,
                           .kernel_w = kernel,
                           .pad_top = kernel / 2,
                           .pad_left = kernel / 2,
                           .groups = groups},
                .fast = fast};
  const auto own = std::make_shared<Operands>(
      Room::of_floats(in * extent * extent), Room::of_floats(out * in / groups * kernel * kernel),
      Room(nhwc_packed_w_bytes(conv)), Room::of_floats(out * extent * extent), Room(nhwc_scratch_bytes(conv)));
  nhwc_pack_w(conv, own->w.floats(), own->packed.data());
  const char* const kind = fast ? "Winograd" : groups > 1 ? "depthwise" : "convolution";
  return {
      fmt::format("{} {}x{} of {} to {} channels, {}x{}", kind, kernel, kernel, in, out, extent, extent),
      [=](const Tuning& t) { return fast ? winograd_nanoseconds(t, conv.params) : conv_nanoseconds(t, conv.params); },
      [=] {
        nhwc_range(conv, own->x.floats(), own->packed.data(), {}, own->y.floats(), 0, nhwc_units(conv),
                   own->scratch.data());
      }};
}

/// Makes a probe of operations on the elements of a tile, as in fused kernels.
Probe element_probe() {
  constexpr std::size_t kElements = 1024;
  static constexpr ScalarOp kOps[] = {ScalarOp::mul, ScalarOp::add, ScalarOp::max, ScalarOp::exp};
  auto own = std::make_shared<Room>(Room::of_floats(3 * kElements));
  return {"operations on an element", [](const Tuning& t) { return t.element * kElements * std::size(kOps); },
          [=] {
            float* const to = own->floats();
            const void* const in[] = {to + kElements, to + 2 * kElements};
            for (ScalarOp op : kOps) tile_fn(op, Elem::f32, 0)(to, in, kElements);
          }};
}

Probe softmax_probe() {
  constexpr int64_t kRows = 64, kCols = 512;
  auto own = std::make_shared<Room>(Room::of_floats(2 * kRows * kCols));
  return {"softmax of 64 rows of 512", [](const Tuning& t) { return t.softmax * kRows * kCols; },
          [=] {
            softmax({.rows = kRows,
                     .cols = kCols,
                     .x = own->floats(),
                     .x_row = kCols,
                     .y = own->floats() + kRows * kCols,
                     .y_row = kCols});
          }};
}

std::vector<Probe> probes() {
  using enum Elem;
  std::vector<Probe> all;
  for (const auto& [m, n, k] : {std::tuple{1, 256, 512}, {16, 256, 512}, {192, 256, 512}, {384, 768, 256}})
    all.push_back(product_probe(f32, f32, f32, m, n, k));
  all.push_back(product_probe(f32, f32, f32, 1, 4096, 4096));
  for (const auto& [m, n, k] : {std::tuple{1, 512, 512}, {192, 512, 512}})
    all.push_back(product_probe(u8, i8, i32, m, n, k));
  all.push_back(product_probe(f64, f64, f64, 128, 128, 128));
  for (const auto& [channels, extent] : {std::pair{16, 56}, {64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
    all.push_back(conv_probe(channels, channels, extent, 3, 1, false));
    all.push_back(conv_probe(channels, channels, extent, 3, 1, true));
  }
  all.push_back(conv_probe(96, 96, 28, 3, 96, false));
  all.push_back(element_probe());
  all.push_back(softmax_probe());
  return all;
}

/// Returns the time until a sleeping second thread has joined. Returns nullopt if there is no such thread, or no core
/// for it.
std::optional<double> wake_nanoseconds() {
  constexpr int kTimes = 20;
  constexpr auto kPatience = std::chrono::milliseconds(1);
  const auto both = scheduler(2);
  if (both->workers() < 2) return std::nullopt;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> inside = 0;
    const auto begin = Clock::now();
    const auto end = begin + kPatience;
    both->parallel_for(2, 1, [&](int64_t, int64_t, unsigned) {
      ++inside;
      while (inside < 2 && Clock::now() < end) continue;
    });
    times.push_back(nanoseconds_since(begin));
  }
  std::ranges::nth_element(times, times.begin() + kTimes / 2);
  const double median = times[kTimes / 2];
  return median < std::chrono::duration<double, std::nano>(kPatience).count() ? std::optional(median) : std::nullopt;
}

/// The amount of each constant in a piece of work, relative to the work's time.
struct Row {
  std::vector<double> parts;
};

Row row_of(const Probe& probe, double measured) {
  Row row;
  for (const TuningConstant& c : tuning_constants()) {
    Tuning one{};
    one.*c.value = 1;
    row.parts.push_back(probe.predicted(one) / measured);
  }
  return row;
}

/// Solves sum(parts * x) = 1 for all rows by least squares with bounds on x, by coordinate descent. Each constant in
/// turn takes its best value for the remainder that the others leave. A constant in no row keeps its value.
void fit(const std::vector<Row>& rows, std::vector<double>& x) {
  constexpr int kSweeps = 4000;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t c = 0; c < x.size(); ++c) {
      double slope = 0, weight = 0;
      for (const Row& row : rows) {
        double left = 1;
        for (std::size_t o = 0; o < x.size(); ++o) left -= o == c ? 0 : row.parts[o] * x[o];
        slope += row.parts[c] * left;
        weight += row.parts[c] * row.parts[c];
      }
      if (weight > 0) x[c] = std::clamp(slope / weight, kMinConstant, kMaxConstant);
    }
  }
}

}  // namespace

MeasuredTuning measure_tuning() {
  MeasuredTuning result{.tuning = reference_tuning(features().isa), .checks = {}};
  const std::vector<Probe> all = probes();
  std::vector<Row> rows;
  for (const Probe& probe : all) {
    const double measured = shortest(probe.work);
    result.checks.push_back({.work = probe.name, .measured = measured});
    rows.push_back(row_of(probe, measured));
  }
  std::vector<double> x;
  for (const TuningConstant& c : tuning_constants()) x.push_back(result.tuning.*c.value);
  fit(rows, x);
  for (std::size_t c = 0; c < x.size(); ++c) result.tuning.*tuning_constants()[c].value = x[c];
  if (const auto wake = wake_nanoseconds()) result.tuning.wake = *wake;
  for (std::size_t i = 0; i < all.size(); ++i) result.checks[i].predicted = all[i].predicted(result.tuning);
  return result;
}

}  // namespace frazil::kernel
