#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/convert.h"
#include "bench/host_tensor.h"
#include "bench/interleave.h"
#include "exec/session.h"

/// Our side of the comparisons, through the library's own layers: what they time is a Session's run and no wrapper.
/// Every function throws std::runtime_error with the library's message when a call fails.
namespace bench {

/// Imports and plans a model, ready for its first request.
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path);

/// The inputs as the peer would describe them: a free extent is -1.
std::vector<Port> frazil_inputs(const frazil::Graph& graph);

/// A session and its inputs, made once, so that run() costs what Session::run costs. Results go into the tensors of the
/// run before, as nobody else holds them; the peer takes its own from its arena.
class FrazilRunner : public Runner {
 public:
  /// `inputs` has a tensor for every input of the graph, under its name.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const NamedTensors& inputs);

  void run() override;

  /// Copies of the last run's results. Needs a run before it.
  std::vector<HostTensor> outputs() const;
  frazil::exec::Session& session() { return session_; }
  /// Loop iterations in one run. Needs a run before it.
  double iterations_per_run() const;

 private:
  frazil::exec::Session session_;
  std::vector<frazil::Datum> inputs_, outputs_;
};

/// Runs `session` once and throws what it reports.
void run_frazil(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs,
                std::vector<frazil::Datum>& outputs);

/// Of the model's weights that the plan refers to.
double weight_bytes(const frazil::Plan& plan);

}  // namespace bench
