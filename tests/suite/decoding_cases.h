#pragma once

#include "exec/run/executable.h"
#include "exec/run/session.h"
#include "onnx/import/import.h"
#include "suite/decoders.h"

// Cases of decoding loops whose results on ONNX Runtime decoding_test.cc contains. bench/decoding.cc prints them.
namespace frazil::test {

inline std::vector<DecodingCase> recorded_decoding() {
  return {
      {.name = "one item", .prompt = {{5, 9, 2}}},
  };
}

/// Imports and runs a case.
inline Result<std::vector<Tensor>> run_decoding(const DecodingCase& c, exec::Options options = {}) {
  const Message bytes = decoding_model(c);
  FRAZIL_TRY(Graph graph, import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr, {}));
  FRAZIL_TRY(const auto executable, exec::Executable::make(std::make_shared<const Graph>(std::move(graph)), options));
  std::vector<Datum> inputs;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    if (tensor && !(c.constants && tensor->rank() == 0)) inputs.emplace_back(*tensor);
  }
  FRAZIL_TRY(const auto results, executable->open()->run(inputs));
  std::vector<Tensor> tensors;
  for (const Datum& d : results) tensors.push_back(d.tensor());
  return tensors;
}

}  // namespace frazil::test
