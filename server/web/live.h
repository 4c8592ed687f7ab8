#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/core/json_text.h"
#include "server/service/service.h"

namespace frazil::server {

/// The live view of one client: the current state, and the changes since the client's last snapshot.
class LiveView {
 public:
  explicit LiveView(Service& service) : service_(service) {}

  /// Returns one JSON object with what `identity` may see; docs/reference/live-view.md describes its fields. `dropped`
  /// is the number of snapshots that the client was too slow for. Reads counters and holds no lock for long, so that
  /// requests are not delayed.
  std::string snapshot(std::uint64_t dropped, const Tenants::Identity& identity = {});

 private:
  /// A model's counters at one moment.
  struct Counters {
    Counters() = default;
    explicit Counters(const Statistics& statistics);
    struct Sum {
      std::uint64_t count = 0, nanoseconds = 0;
    };
    Sum requests, queue, runs;
    std::uint64_t in_runs = 0, padded = 0, elements = 0;
    FineHistogram::Counts times = {};
  };
  using Key = std::pair<std::string, std::string>;  // name, version

  /// The inputs for a model's entry in a snapshot.
  struct Moment {
    const Counters& now;
    double seconds;  ///< since the client's last snapshot; 0: there was none
    const Tenants::Identity& identity;
  };

  void write_server(JsonText& json) const;
  void write_paths(JsonText& json, const Tenants::Identity& identity) const;
  void write_model(JsonText& json, const Served& served, const Moment& moment) const;
  static void write_interval(JsonText& json, const Counters& before, const Moment& moment);

  Service& service_;
  Clock::time_point last_snapshot_ = {};  // time of the last snapshot
  std::map<Key, Counters> before_;
};

}  // namespace frazil::server
