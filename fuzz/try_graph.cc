#include "try_graph.h"

#include <array>
#include <bit>

#include "exec/run/executable.h"
#include "exec/run/session.h"
#include "ir/graph/verify.h"
#include "ir/text/text.h"
#include "require.h"
#include "some_inputs.h"

namespace frazil::fuzz {
namespace {

/// A run that does not mind these limits is a finding: it hangs, or takes more memory than libFuzzer allows.
constexpr Limits run_limits() {
  return {.memory_bytes = std::uint64_t{64} << 20,
          .tensor_elements = std::uint64_t{1} << 16,
          .steps = 10'000,
          .time = std::chrono::seconds(1)};
}

void run(const std::shared_ptr<const Graph>& graph, bool reference, const std::vector<Datum>& inputs) {
  const auto made = exec::Executable::make(graph, {.reference = reference});
  if (!made) return require_plain(made.error());
  const auto session = (*made)->open();
  session->set_limits(run_limits());
  for (int again = 0; again < 2; ++again) {
    const auto got = session->run(inputs);
    if (!got) require_plain(got.error());
  }
}

}  // namespace

void try_graph(const Graph& graph, std::uint64_t seed) {
  const Status held = verify(graph, 3);
  require(held.has_value(), "verify: {}\n{}", held ? "" : held.error().text(), held ? "" : print(graph));
  const auto shared = std::make_shared<const Graph>(graph);
  const auto bytes = std::bit_cast<std::array<std::uint8_t, 8>>(seed);
  Choices choices(bytes);
  const auto inputs = some_inputs(graph, choices);
  if (!inputs) {
    const auto made = exec::Executable::make(shared);
    if (!made) require_plain(made.error());
    return;
  }
  run(shared, true, *inputs);
  run(shared, false, *inputs);
}

}  // namespace frazil::fuzz
