#include "bench/frazil_runner.h"

#include <stdexcept>
#include <utility>

#include "onnx/import.h"
#include "ops/registry.h"

namespace bench {
std::shared_ptr<frazil::exec::Executable> load_frazil(const std::string& path) {
  frazil::link_operators();
  auto graph = std::make_shared<const frazil::Graph>(take(frazil::import_onnx(path)));
  return take(frazil::exec::Executable::make(std::move(graph)));
}

std::vector<Port> frazil_inputs(const frazil::Graph& graph) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < graph.main().params.size(); ++i) {
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

FrazilRunner::FrazilRunner(std::shared_ptr<frazil::exec::Executable> executable, const NamedTensors& inputs)
    : session_(std::move(executable)) {
  for (const std::string& name : session_.executable().graph().input_names()) {
    auto tensor = inputs.find(name);
    if (tensor == inputs.end()) throw std::runtime_error("no tensor for input " + name);
    inputs_.emplace_back(to_tensor(tensor->second));
  }
}

void FrazilRunner::run() { run_frazil(session_, inputs_, outputs_); }

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
