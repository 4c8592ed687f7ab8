#include "bench/pair.h"

#include <exception>

#include "bench/agree.h"
#include "bench/inputs.h"

namespace bench {

Pair::Pair(const Ort* ort, const std::string& path, std::string_view specs) {
  if (ort) {
    session_.emplace(*ort, path);
    inputs_ = make_inputs(session_->inputs(), specs);
    peer_ = std::make_unique<PeerRunner>(*session_, inputs_);
  }
  try {
    open_ours(path, specs);
  } catch (const std::exception& error) {
    note_ = std::string("FAILED: ") + error.what();
    ours_.reset();
    if (!ort) throw;
  }
}

void Pair::open_ours(const std::string& path, std::string_view specs) {
  std::shared_ptr<frazil::exec::Executable> executable = load_frazil(path);
  if (!peer_) inputs_ = make_inputs(frazil_inputs(executable->graph()), specs);
  ours_ = std::make_unique<FrazilRunner>(executable, inputs_);
  ours_->run();
  if (!peer_) return;
  peer_->run();
  const std::string difference = disagreement(ours_->outputs(), peer_->outputs());
  if (!difference.empty()) note_ = "MISMATCH: " + difference;
}

}  // namespace bench
