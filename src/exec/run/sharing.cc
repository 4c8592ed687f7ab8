#include "exec/run/sharing.h"

#include <algorithm>
#include <cmath>

#include "kernel/tuning/tuning.h"

namespace frazil::exec {
namespace {

constexpr std::int64_t kRangesPerWorker = 4;
/// The minimum work to share with a thread that is awake, as a fraction of shared_from(), the minimum that justifies
/// waking one.
constexpr double kIdleShare = 0.25;

/// Returns the units in a range; 0 if this thread runs all of them.
std::int64_t grain_of(std::int64_t units, std::int64_t fewest, double nanoseconds, std::int64_t workers) {
  const kernel::Tuning& tuning = kernel::tuning();
  if (units < 2 || nanoseconds < kIdleShare * kernel::shared_from(tuning)) return 0;
  const std::int64_t ranges = workers * kRangesPerWorker;
  if (fewest > 1 && units < fewest * ranges) {  // the setup of a range is expensive: one range for each worker
    return std::max(fewest, ceil_div(units, workers));
  }
  const double part = kernel::shared_part(tuning) / nanoseconds;
  const auto pays = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(units)));
  return round_up(std::min(pays, ceil_div(units, ranges)), fewest);
}

}  // namespace

Sharing sharing_of(const code::Prepare& prepared, const Scheduler* scheduler) {
  if (scheduler == nullptr || scheduler->workers() < 2) return {};
  const auto workers = static_cast<std::int64_t>(scheduler->workers());
  const double most = prepared.nanoseconds - prepared.last_nanoseconds;
  Sharing sharing{.grain = grain_of(prepared.units - prepared.last_units, prepared.min_units, most, workers),
                  .if_idle = most < kernel::shared_from(kernel::tuning())};
  if (sharing.grain != 0) sharing.last_grain = grain_of(prepared.last_units, 1, prepared.last_nanoseconds, workers);
  return sharing;
}

bool is_sharing_profitable(double nanoseconds, const Scheduler& scheduler) {
  const double from = kernel::shared_from(kernel::tuning());
  return nanoseconds >= from || (nanoseconds >= kIdleShare * from && scheduler.has_idle());
}

}  // namespace frazil::exec
