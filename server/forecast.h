#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/service.h"

// What a mix of requests will take: measured alone and together at some extents, simulated for a rate.
namespace frazil::server {

/// An input's shape, in which an extent may be a range. All ranges of a request are drawn at the same place: its
/// length.
struct MixInput {
  std::string name;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;  ///< least and largest
};

struct MixRequest {
  std::string model, version;  ///< an empty version is the newest
  double share = 1;            ///< of all requests; shares need not sum to 1
  std::vector<MixInput> inputs;
};

/// Reads a file of YAML:
///   requests:
///     - {model: bert, share: 0.7, inputs: {input_ids: 1x5..128}}
/// Throws api::Error (bad_input) that names file, line and key.
std::vector<MixRequest> read_mix(const std::string& path);

struct Forecast {
  double p50_ms = 0, p99_ms = 0;  ///< from arrival to answer, without a transport
  double busy = 0;                ///< share of the workers' time
  double peak_mb = 0;             ///< resident set, in 10^6 bytes
};

/// Times of a mix on this machine. Requests are not joined in it, so that a server that batches does better.
class MixProfile {
 public:
  /// Seconds per measured length, evenly from the least to the largest.
  struct Times {
    std::vector<double> alone;     ///< from handing a request over to its answer, where nothing else runs
    std::vector<double> together;  ///< of a worker's time that a request takes, where all are busy
  };
  /// Of times that are known: for each request of the mix at least two, and as many alone as together.
  MixProfile(std::vector<MixRequest> mix, unsigned workers, std::vector<Times> times)
      : mix_(std::move(mix)), workers_(workers), times_(std::move(times)) {}
  /// Measures the requests at several lengths, alone and with all workers busy: about `seconds` in all. Throws Refusal
  /// for a model that there is not and for a request that fails.
  MixProfile(Service& service, std::vector<MixRequest> mix, double seconds);

  /// Requests per second at which the workers are busy all the time.
  double most_rate() const;
  /// Simulates requests that come at random, `rate` per second, and are served in their order.
  Forecast at(double rate, std::uint64_t seed = 1) const;

 private:
  double time_of(std::size_t request, double length, bool alone) const;

  std::vector<MixRequest> mix_;
  unsigned workers_;
  std::vector<Times> times_;
  double peak_mb_ = 0;
};

/// What came of requests that were sent.
struct Driven : Forecast {
  double rate = 0;           ///< requests per second that were sent: fewer than asked for where sending took longer
  std::uint64_t failed = 0;  ///< that were not answered with results
  std::string why;           ///< the first of them was not
};

/// Sends such requests for `seconds` and measures what a forecast tells, from the time that each one is sent.
Driven drive(Service& service, const std::vector<MixRequest>& mix, double rate, double seconds, std::uint64_t seed = 2);

}  // namespace frazil::server
