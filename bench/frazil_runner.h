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

/// Our side of the comparisons, using internal headers, so that a Session's run is timed without a wrapper. Every
/// function throws std::runtime_error with the library's message when a call fails.
namespace bench {

/// Imports and plans a model, ready for its first request.
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path);

/// The inputs without a default, as the peer would describe them: a free extent is -1.
std::vector<Port> frazil_inputs(const frazil::Graph& graph);

/// A session and its requests, made once, so that run() costs what the calls of Session::run cost. Results reuse the
/// tensors of the previous request; the peer reuses memory of its arena.
class FrazilRunner : public Runner {
 public:
  /// `requests` has a tensor for every input without a default, under its name.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const Requests& requests);
  /// One request.
  FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const NamedTensors& inputs)
      : FrazilRunner(std::move(executable), Requests{{inputs}}) {}

  /// All requests, in order.
  void run() override;
  /// Runs until what takes time has its code.
  void settle();
  /// Request `n`. Precondition: n is 0, or the previous one was n - 1.
  void step(std::size_t n);
  std::size_t steps() const { return requests_.size(); }

  /// Copies of the last request's results. Precondition: there was one.
  std::vector<HostTensor> outputs() const;
  frazil::exec::Session& session() { return session_; }
  /// Loop iterations per run. Precondition: run() was called.
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

/// Runs `session` once; throws its errors.
void run_frazil(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs,
                std::vector<frazil::Datum>& outputs);

/// Bytes of the model's weights that the plan refers to.
double weight_bytes(const frazil::Plan& plan);

}  // namespace bench
