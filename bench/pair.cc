#include "bench/pair.h"

#include <exception>
#include <filesystem>

#include "base/thread/scheduler.h"
#include "bench/agree.h"

namespace bench {

namespace {

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

}  // namespace

Pair::Pair(const Ort* ort, const std::string& path, std::string_view specs, unsigned threads, double apart)
    : apart_(apart) {
  if (ort) {
    session_.emplace(*ort, path, OrtOptions{.intra_threads = static_cast<int>(threads)});
    requests_ = make_requests(session_->inputs(), specs, folder_of(path));
    peer_ = std::make_unique<PeerRunner>(*session_, requests_);
  }
  try {
    open_ours(path, specs, threads);
  } catch (const std::exception& error) {
    note_ = std::string("FAILED: ") + error.what();
    ours_.reset();
    if (!ort) throw;
  }
}

void Pair::open_ours(const std::string& path, std::string_view specs, unsigned threads) {
  std::shared_ptr<frazil::exec::Executable> executable = load_frazil(path);
  if (!peer_) requests_ = make_requests(frazil_inputs(executable->graph()), specs, folder_of(path));
  ours_ = std::make_unique<FrazilRunner>(executable, requests_);
  if (threads > 1) ours_->session().set_scheduler(frazil::scheduler(threads));
  ours_->settle();  // the code that is timed is the code that is compared
  peer_ ? compare() : ours_->run();
}

void Pair::compare() {
  for (std::size_t n = 0; n < ours_->steps() && note_.empty(); ++n) {
    ours_->step(n);
    peer_->step(n);
    const auto ours = ours_->outputs(), theirs = peer_->outputs();
    const std::string difference = apart_ > 0 ? disagreement(ours, theirs, apart_) : disagreement(ours, theirs);
    if (difference.empty()) continue;
    note_ = "MISMATCH: " + (ours_->steps() > 1 ? "request " + std::to_string(n) + ", " : "") + difference;
  }
}

}  // namespace bench
