#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/convert.h"
#include "bench/host_tensor.h"
#include "bench/interleave.h"
#include "bench/requests.h"
#include "exec/run/session.h"

/// Frazil's side of the comparisons. It uses internal headers, so that Session::run is timed without a wrapper. Every
/// function throws std::runtime_error with the library's message if a call fails.
namespace bench {

/// Imports and plans a model for its first request.
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path);

/// Returns the inputs without a default in the peer's form, with -1 for a free extent.
std::vector<Port> frazil_inputs(const frazil::Graph& graph);

/// A session with its requests, created in advance, so that run() costs only the calls of Session::run. Results reuse
/// the tensors of the previous request, as the peer reuses memory of its arena.
class FrazilRunner : public Runner {
 public:
  /// `requests` has a tensor for every input without a default, by name.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const Requests& requests);
  /// Creates a runner for a single request.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const NamedTensors& inputs)
      : FrazilRunner(std::move(executable), Requests{{inputs}}) {}

  /// Runs all requests in order.
  void run() override;
  /// Runs until compilation has settled.
  void settle();
  /// Runs request `n`. Precondition: n is 0, or the previous request was n - 1.
  void step(std::size_t n);
  std::size_t steps() const { return requests_.size(); }

  /// Returns copies of the last request's results. Precondition: a request was run.
  std::vector<HostTensor> outputs() const;
  frazil::exec::Session& session() { return session_; }
  /// Returns the number of loop iterations per run. Precondition: run() was called.
  double iterations_per_run() const;

 private:
  struct Carried {
    std::size_t output, input;
    frazil::Datum initial;
  };
  frazil::exec::Session session_;
  std::vector<std::vector<frazil::Datum>> requests_;
  std::vector<Carried> carried_;
  std::vector<frazil::Datum> outputs_;
};

/// Runs `session` once and throws its errors.
void run_frazil(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs,
                std::vector<frazil::Datum>& outputs);

/// Returns the bytes of the model's weights that the plan refers to.
double weight_bytes(const frazil::Plan& plan);

}  // namespace bench
