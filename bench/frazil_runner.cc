#include "bench/frazil_runner.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "base/os/knobs.h"
#include "exec/native/compile_thread.h"
#include "kernel/simd/isa.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"

namespace bench {
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path) {
  frazil::link_operators();
  const frazil::Knobs knobs = take(frazil::knobs());
  if (knobs.features) frazil::kernel::force_features(*knobs.features);
  auto graph = std::make_shared<const frazil::Graph>(take(frazil::import_onnx(path)));
  const auto tier = frazil::exec::tier_named(knobs.tier);
  return take(frazil::exec::Executable::make(std::move(graph), {.tier = tier.value()}));
}

std::vector<Port> frazil_inputs(const frazil::Graph& graph) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < graph.main().params.size(); ++i) {
    if (graph.input_default(i)) continue;
    const frazil::Type& type = graph.type(graph.main().params[i]);
    Port& port = ports.emplace_back(graph.input_names()[i]);
    if (!type.is_tensor()) continue;
    port.elem = host_elem(type.elem);
    for (frazil::Dim dim : type.shape) port.dims.push_back(dim.is_const() ? dim.value() : -1);
  }
  return ports;
}

void run_frazil(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs,
                std::vector<frazil::Datum>& outputs) {
  if (frazil::Status status = session.run(inputs, outputs); !status) [[unlikely]]
    raise(status.error());
}

namespace {

std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::runtime_error("the model has no " + name);
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

FrazilRunner::FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const Requests& requests)
    : session_(std::move(executable)) {
  const frazil::Graph& graph = session_.executable().graph();
  for (const NamedTensors& request : requests.each) {
    auto& inputs = requests_.emplace_back();
    for (const std::string& name : graph.input_names()) {
      const auto tensor = request.find(name);
      inputs.push_back(tensor == request.end() ? frazil::Datum() : to_tensor(tensor->second));
    }
  }
  for (const Carry& c : requests.carried) {
    carried_.push_back({index_of(graph.output_names(), c.output), index_of(graph.input_names(), c.input),
                        to_tensor(requests.initial.at(c.input))});
  }
  session_.allow_padding(!carried_.empty());
}

void FrazilRunner::run() {
  for (std::size_t n = 0; n < requests_.size(); ++n) step(n);
}

void FrazilRunner::settle() {
  if (session_.executable().options().tier != frazil::exec::Tier::adaptive) return;
  constexpr int kRounds = 3;  // bodies are compiled first; code of plans, which contains them, in a later round
  constexpr std::chrono::milliseconds kRound{20};
  for (int round = 0; round < kRounds; ++round) {
    const auto end = std::chrono::steady_clock::now() + kRound;
    do run();
    while (std::chrono::steady_clock::now() < end);
    frazil::exec::CompileThread::instance().wait_until_idle();
  }
}

void FrazilRunner::step(std::size_t n) {
  std::vector<frazil::Datum>& inputs = requests_[n < requests_.size() ? n : n % requests_.size()];
  for (const Carried& c : carried_) inputs[c.input] = n == 0 ? c.initial : std::move(outputs_[c.output]);
  run_frazil(session_, inputs, outputs_);
  for (const Carried& c : carried_) inputs[c.input] = {};
}

std::vector<HostTensor> FrazilRunner::outputs() const {
  std::vector<HostTensor> tensors;
  for (const frazil::Datum& output : outputs_) {
    if (!output.is_tensor()) throw std::runtime_error("an output is no tensor");
    tensors.push_back(to_host(output.tensor()));
  }
  return tensors;
}

double FrazilRunner::iterations_per_run() const {
  const frazil::exec::Counters& counters = session_.counters();
  return static_cast<double>(counters.iterations) / static_cast<double>(counters.runs);
}

double weight_bytes(const frazil::Plan& plan) {
  double bytes = 0;
  for (const frazil::Storage& storage : plan.storages) {
    if (storage.place != frazil::Place::constant) continue;
    bytes += static_cast<double>(plan.graph->constant(frazil::Value{storage.index})->tensor.bytes());
  }
  return bytes;
}

}  // namespace bench
