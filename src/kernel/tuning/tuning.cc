#include "kernel/tuning/tuning.h"

#include <array>
#include <atomic>
#include <list>
#include <mutex>

#include "base/thread/mutex.h"
#include "base/value/extents.h"
#include "kernel/window/conv_nhwc.simd.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr double kCoreCacheBytes = 1 << 20;  ///< about the capacity of a core's own caches

constexpr TuningConstant kConstants[] = {
    {"product", &Tuning::product},
    {"wide_product", &Tuning::wide_product},
    {"byte_product", &Tuning::byte_product},
    {"near_byte", &Tuning::cached_byte},
    {"far_byte", &Tuning::memory_byte},
    {"conv", &Tuning::conv},
    {"depthwise", &Tuning::depthwise},
    {"winograd_product", &Tuning::winograd_product},
    {"winograd_point", &Tuning::winograd_point},
    {"winograd_weight", &Tuning::winograd_weight},
    {"element", &Tuning::element},
    {"softmax", &Tuning::softmax},
    {"wake", &Tuning::wake},
};
static_assert(std::size(kConstants) * sizeof(double) == sizeof(Tuning));

struct Reference {
  Isa isa;
  Tuning tuning;
};
constexpr Reference kReferences[] = {
    {Isa::base,
     {.product = 0.08,
      .wide_product = 0.2,
      .byte_product = 0.06,
      .cached_byte = 0.015,
      .memory_byte = 0.025,
      .conv = 0.08,
      .depthwise = 0.12,
      .winograd_product = 0.08,
      .winograd_point = 0.6,
      .winograd_weight = 0.4,
      .element = 0.3,
      .softmax = 2,
      .wake = 20'000}},
    {Isa::avx2,
     {.product = 0.015,
      .wide_product = 0.1,
      .byte_product = 0.01,
      .cached_byte = 0.015,
      .memory_byte = 0.025,
      .conv = 0.015,
      .depthwise = 0.06,
      .winograd_product = 0.016,
      .winograd_point = 0.25,
      .winograd_weight = 0.15,
      .element = 0.15,
      .softmax = 0.8,
      .wake = 20'000}},
    {Isa::avx512,
     {.product = 0.0093,
      .wide_product = 0.03,
      .byte_product = 0.0024,
      .cached_byte = 0.0026,
      .memory_byte = 0.0135,
      .conv = 0.0104,
      .depthwise = 0.025,
      .winograd_product = 0.0068,
      .winograd_point = 0.235,
      .winograd_weight = 0.063,
      .element = 0.05,
      .softmax = 0.19,
      .wake = 20'000}},
    {Isa::neon,
     {.product = 0.03,
      .wide_product = 0.15,
      .byte_product = 0.015,
      .cached_byte = 0.02,
      .memory_byte = 0.04,
      .conv = 0.03,
      .depthwise = 0.09,
      .winograd_product = 0.032,
      .winograd_point = 0.4,
      .winograd_weight = 0.25,
      .element = 0.25,
      .softmax = 1.5,
      .wake = 20'000}},
};

/// All tables that were ever installed, as readers may still hold one.
struct Installed {
  Mutex mutex;
  std::list<Tuning> all;
  std::array<std::atomic<const Tuning*>, std::size(kReferences)> of{};
};
Installed& installed() {
  static Installed tables;
  return tables;
}

double points_of(const ConvParams& p) {
  const auto tiles = static_cast<double>(ceil_div(p.out_h, kWinogradTile) * ceil_div(p.out_w, kWinogradTile));
  return static_cast<double>(p.batch) * tiles * kWinogradPoints;
}

}  // namespace

std::span<const TuningConstant> tuning_constants() { return kConstants; }

const Tuning& reference_tuning(Isa isa) {
  for (const Reference& r : kReferences) {
    if (r.isa == isa) return r.tuning;
  }
  return kReferences[0].tuning;
}

const Tuning& tuning() {
  const Isa isa = features().isa;
  const Tuning* own = installed().of[static_cast<std::size_t>(isa)].load(std::memory_order_acquire);
  return own != nullptr ? *own : reference_tuning(isa);
}

void install_tuning(Isa isa, const Tuning& tuning) {
  Installed& tables = installed();
  const std::scoped_lock lock(tables.mutex);
  tables.of[static_cast<std::size_t>(isa)].store(&tables.all.emplace_back(tuning), std::memory_order_release);
}

void forget_tuning(Isa isa) { installed().of[static_cast<std::size_t>(isa)].store(nullptr, std::memory_order_release); }

double product_nanoseconds(const Tuning& t, double Tuning::* each, int64_t m, int64_t n, int64_t k,
                           std::size_t element) {
  const double matrix = static_cast<double>(n) * static_cast<double>(k), bytes = matrix * static_cast<double>(element);
  const double far = bytes > kCoreCacheBytes ? bytes - kCoreCacheBytes : 0;
  return t.*each * static_cast<double>(m) * matrix + t.cached_byte * bytes + t.memory_byte * far;
}

double conv_nanoseconds(const Tuning& t, const ConvParams& p) {
  const bool depthwise = p.groups > 1 && p.in_c == p.groups;
  return (depthwise ? t.depthwise : t.conv) * static_cast<double>(p.batch * p.out_c) *
         static_cast<double>(p.out_h * p.out_w) * static_cast<double>(p.in_c) / static_cast<double>(p.groups) *
         static_cast<double>(p.kernel_h) * static_cast<double>(p.kernel_w);
}

double winograd_nanoseconds(const Tuning& t, const ConvParams& p) {
  const double points = points_of(p), in = static_cast<double>(p.in_c), out = static_cast<double>(p.out_c);
  const double weights = static_cast<double>(winograd_blocks(p)) * kWinogradPoints * in * out;
  return t.winograd_product * points * in * out + t.winograd_point * points * (in + out) + t.winograd_weight * weights;
}

double winograd_set_up(const Tuning& t, const ConvParams& p) {
  const double blocks = static_cast<double>(std::max<int64_t>(1, winograd_blocks(p)));
  return t.winograd_point * points_of(p) * static_cast<double>(p.in_c) / blocks;
}

bool is_winograd_profitable(const Tuning& t, const ConvParams& p) {
  return nhwc_has_winograd(p) && winograd_nanoseconds(t, p) < conv_nanoseconds(t, p);
}

double shared_from(const Tuning& t) { return 2 * t.wake; }
double shared_part(const Tuning& t) { return t.wake; }

}  // namespace frazil::kernel
