// Reads graphs as text. What is accepted must hold together; what is not gives one plain line.
#include <bit>
#include <cstring>

#include "base/value/hash.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"
#include "require.h"
#include "text_mutate.h"
#include "try_graph.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace frazil::fuzz {
namespace {

/// The tensor that a `weight @name: type` line declares, filled with ones.
Tensor declared(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(fmt::format("@{}:", name));
  if (at == text.npos) return {};
  const std::string_view type = text.substr(at + name.size() + 2);
  const auto made = parse_literal(fmt::format("{} 1", type.substr(0, type.find(']') + 1)));
  return made ? *made : Tensor();
}

void parse_once(std::string_view text) {
  const auto graph = parse(text, [&](std::string_view name) { return declared(text, name); });
  if (!graph) return require_plain(graph.error());
  try_graph(*graph, Hasher().add(text).value());
}

std::string_view view_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::size_t change(std::string_view text, std::string_view other, std::uint8_t* out, std::size_t max_size,
                   unsigned seed) {
  const auto bits = std::bit_cast<std::array<std::uint8_t, 4>>(seed);
  Choices choices(bits);
  const std::string changed = mutate_text(text, other, choices);
  if (changed.size() > max_size) return 0;
  std::memcpy(out, changed.data(), changed.size());
  return changed.size();
}

}  // namespace
}  // namespace frazil::fuzz

using namespace frazil::fuzz;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  frazil::link_operators();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse_once(view_of(data, size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text(view_of(data, size));
  const std::size_t changed = change(text, text, data, max_size, seed);
  return changed == 0 ? LLVMFuzzerMutate(data, size, max_size) : changed;
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                                 std::size_t b_size, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  return change(view_of(a, a_size), view_of(b, b_size), out, max_size, seed);
}
