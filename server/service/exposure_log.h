#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/core/line_file.h"
#include "server/model/served.h"
#include "server/request/path_record.h"
#include "server/service/privacy.h"

namespace frazil::server {

/// An answered request to a pipeline whose splits have chosen arms.
struct ExposedRequest {
  std::chrono::system_clock::time_point time;  ///< arrival
  std::string tenant, pipeline, version, digest, id;
  Http status = Http::ok;
  Clock::duration duration{0};
};

/// Appends a JSON line for each arm that a split has chosen for a request; docs/reference/serving.md describes its
/// fields. A written line is on the disk within a second. Thread-safe.
class ExposureLog {
 public:
  struct Options {
    std::string file;  ///< "-": stdout
    std::string key;   ///< of the HMAC of the values of `by`; empty: a plain SHA-256
  };
  /// Throws api::Error (bad_input) for a file that cannot be opened.
  explicit ExposureLog(Options options);

  void write(const ExposedRequest& request, const PathRecord::Exposure& exposure);
  bool has_key() const { return !key_.empty(); }
  /// As LineFile.
  bool reopen() { return file_.reopen(); }
  std::uint64_t dropped() const { return file_.dropped(); }

 private:
  std::string pseudonym_of(std::string_view by) const;

  const std::string key_;
  LineFile file_;
};

/// Makes the answer to a call name the arms that splits of `target` choose, and `log` record them. Gives the call a
/// path if it has none. `log` may be null. `privacy`, which outlives the call, hides values of `by` that a log without
/// a key would make guessable; null: they are not personal.
void name_arms(Call& call, const Served& target, std::shared_ptr<ExposureLog> log, const Privacy* privacy);

}  // namespace frazil::server
