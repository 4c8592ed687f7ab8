// Reads models. Whatever the bytes are, the import gives a graph that holds together or one plain line.
#include "base/value/hash.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"
#include "require.h"
#include "try_graph.h"
#include "wire_mutate.h"

namespace frazil::fuzz {
namespace {

ImportOptions options_of(std::uint64_t seed) {
  ImportOptions options;
  options.limits.memory_bytes = std::uint64_t{64} << 20;
  options.limits.tensor_elements = std::uint64_t{1} << 20;
  options.limits.nodes = 2'000;
  options.newer_opsets = seed % 2 == 0;
  options.fix_defaults = seed % 3 == 0;
  options.assume_branches = seed % 5 != 0;
  return options;
}

void import_once(std::span<const std::uint8_t> data) {
  const std::uint64_t seed = Hasher().add(std::as_bytes(data)).value();
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(data.begin(), data.end());
  const auto graph =
      import_onnx_bytes(std::as_bytes(std::span(*bytes)), seed % 7 == 0 ? nullptr : bytes, {}, options_of(seed));
  if (!graph) return require_plain(graph.error());
  try_graph(*graph, seed);
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  frazil::link_operators();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  frazil::fuzz::import_once({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return frazil::fuzz::mutate_message(frazil::fuzz::Message::model, data, size, max_size, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                                 std::size_t b_size, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  return frazil::fuzz::cross_messages(frazil::fuzz::Message::model, {a, a_size}, {b, b_size}, {out, max_size}, seed);
}
