#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/convert.h"
#include "bench/host_tensor.h"
#include "bench/interleave.h"
#include "exec/session.h"

/// Our side of the comparisons, using internal headers, so that a Session's run is timed without a wrapper. Every
/// function throws std::runtime_error with the library's message when a call fails.
namespace bench {

/// Imports and plans a model, ready for its first request.
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path);

/// The inputs as the peer would describe them: a free extent is -1.
std::vector<Port> frazil_inputs(const frazil::Graph& graph);

/// A session and its inputs, made once, so that run() costs what Session::run costs. Results reuse the tensors of the
/// previous run; the peer reuses memory of its arena.
class FrazilRunner : public Runner {
 public:
  /// `inputs` has a tensor for every input of the graph, under its name.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const NamedTensors& inputs);

  void run() override;

  /// Copies of the last run's results. Precondition: run() was called.
  std::vector<HostTensor> outputs() const;
  frazil::exec::Session& session() { return session_; }
  /// Loop iterations per run. Precondition: run() was called.
  double iterations_per_run() const;

 private:
  frazil::exec::Session session_;
  std::vector<frazil::Datum> inputs_, outputs_;
};

/// Runs `session` once; throws its errors.
void run_frazil(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs,
                std::vector<frazil::Datum>& outputs);

/// Bytes of the model's weights that the plan refers to.
double weight_bytes(const frazil::Plan& plan);

}  // namespace bench
