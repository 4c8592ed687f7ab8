#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/json_text.h"
#include "server/service.h"

namespace frazil::server {

/// What one client of the live view is told: what is served now, and what has happened since he was told last.
class LiveView {
 public:
  explicit LiveView(const Service& service) : service_(service) {}

  /// One JSON object for who asks; docs/live-view.md has its fields. `dropped`: snapshots that the client was too slow
  /// for. It reads counters and takes no lock for long, so that requests are not held up.
  std::string snapshot(std::uint64_t dropped, const Tenants::Asker& asker = {});

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

  /// What a snapshot shows of a model.
  struct Moment {
    const Counters& now;
    double seconds;  ///< since the client's last snapshot; 0: there was none
    const Tenants::Asker& asker;
  };

  void write_server(JsonText& json) const;
  void write_paths(JsonText& json, const Tenants::Asker& asker) const;
  void write_model(JsonText& json, const Served& served, const Moment& moment) const;
  static void write_interval(JsonText& json, const Counters& before, const Moment& moment);

  const Service& service_;
  Clock::time_point told_ = {};  // the last time
  std::map<Key, Counters> before_;
};

}  // namespace frazil::server
