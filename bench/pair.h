#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/frazil_runner.h"
#include "bench/ort.h"

namespace bench {

class PeerRunner : public Runner {
 public:
  PeerRunner(const OrtSession& session, const Requests& requests) : prepared_(session, requests) {}
  void run() override { prepared_.run(); }
  void step(std::size_t n) { prepared_.step(n); }
  std::vector<HostTensor> outputs() const { return prepared_.outputs(); }

 private:
  OrtPrepared prepared_;
};

/// One model on both sides. It is run once and the results of every request are compared. An error of Frazil becomes
/// the note, and ours() is then null.
class Pair {
 public:
  /// `ort` may be null; errors of Frazil are then thrown. `specs` as in make_requests(). If `apart` > 0, results may
  /// differ by that share of their RMS.
  Pair(const Ort* ort, const std::string& path, std::string_view specs, unsigned threads = 1, double apart = 0);

  FrazilRunner* ours() { return ours_.get(); }
  PeerRunner* peer() { return peer_.get(); }
  /// Returns the error; empty if there is none.
  const std::string& note() const { return note_; }

 private:
  void open_ours(const std::string& path, std::string_view specs, unsigned threads);
  void compare();

  std::optional<OrtSession> session_;
  Requests requests_;
  double apart_;
  std::unique_ptr<PeerRunner> peer_;
  std::unique_ptr<FrazilRunner> ours_;
  std::string note_;
};

}  // namespace bench
