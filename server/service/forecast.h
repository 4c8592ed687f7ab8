#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/service/service.h"

// Capacity forecast for a mix of requests: times are measured alone and under load, and queueing is simulated for a
// rate.
namespace frazil::server {

/// The shape of an input, in which an extent may be a range. All ranges of one request are interpolated with the same
/// number, its length.
struct MixInput {
  std::string name;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;  ///< smallest and largest
};

struct MixRequest {
  std::string model, version;  ///< an empty version is the newest
  double share = 1;            ///< of all requests; shares need not sum to 1
  std::vector<MixInput> inputs;
};

/// Reads a YAML file:
///   requests:
///     - {model: bert, share: 0.7, inputs: {input_ids: 1x5..128}}
/// Throws api::Error (bad_input) that names file, line and key.
std::vector<MixRequest> read_mix(const std::string& path);

struct Forecast {
  double p50_ms = 0, p99_ms = 0;  ///< from arrival to answer, without a transport
  double busy = 0;                ///< share of the workers' time
  double peak_mb = 0;             ///< resident set without inputs that wait to be sent, in 10^6 bytes
};

/// The times of a mix on this machine. Requests are not batched in it, so a server with batching performs better.
class MixProfile {
 public:
  /// Seconds per measured length, evenly spaced from the smallest to the largest.
  struct Times {
    std::vector<double> alone;     ///< from submission to the answer, after a pause without other load
    std::vector<double> together;  ///< worker time per request, with all workers busy
  };
  /// Uses known times. Each request of the mix needs at least two, and as many alone as together.
  MixProfile(std::vector<MixRequest> mix, unsigned workers, std::vector<Times> times)
      : mix_(std::move(mix)), workers_(workers), times_(std::move(times)) {}
  /// Measures the requests at several lengths, alone and with all workers busy. Takes about `seconds` in total. Throws
  /// Refusal for an unknown model and for a request that fails.
  MixProfile(Service& service, std::vector<MixRequest> mix, double seconds);

  /// Returns the rate, in requests per second, at which the workers are always busy.
  double max_rate() const;
  /// Simulates requests with random arrivals, `rate` per second on average, that are served in order.
  Forecast at(double rate, std::uint64_t seed = 1) const;

 private:
  double time_of(std::size_t request, double length, bool alone) const;

  std::vector<MixRequest> mix_;
  unsigned workers_;
  std::vector<Times> times_;
  double peak_mb_ = 0;
};

/// The measured result of a load.
struct LoadResult : Forecast {
  double rate = 0;           ///< requests per second that were sent; lower than requested if sending took longer
  std::uint64_t failed = 0;  ///< requests without results
  std::string why;           ///< the reason of the first failure
};

/// Sends requests for `seconds` and measures the values of a forecast, starting from the time each request is sent.
LoadResult run_load(Service& service, const std::vector<MixRequest>& mix, double rate, double seconds,
                    std::uint64_t seed = 2);

}  // namespace frazil::server
