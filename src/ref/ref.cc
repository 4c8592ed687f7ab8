#include "ref/ref.h"

#include <new>
#include <optional>
#include <string>

#include "base/no_memory.h"
#include "ir/rebuild.h"
#include "ref/inputs.h"
#include "ref/machine.h"
#include "ref/node.h"

namespace frazil {

namespace {

/// The current thread's governor, or one with the usual limits while there is none.
class Here {
 public:
  Here() : governor_(Governor::current()) {
    if (governor_ != nullptr) return;
    governor_ = &own_.emplace(Limits{});
    scope_.emplace(governor_);
  }
  Governor& governor() { return *governor_; }

 private:
  Governor* governor_;
  std::optional<Governor> own_;
  std::optional<Governed> scope_;
};

/// An interrupted kernel leaves anything behind, so its errors do not count.
template <class T>
Result<T> unless_stopped(Result<T> result, Governor& governor) {
  if (governor.stopping() && (result || result.error().code != Code::other_version)) return governor.reason();
  return result;
}

Result<std::vector<Datum>> run_version(const Graph& graph, std::span<const Datum> inputs, Governor& governor) {
  FRAZIL_TRY(const auto params, ref::bind_inputs(graph, inputs));
  return unless_stopped(ref::Machine(graph, governor).run(params), governor);
}

}  // namespace

Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs) {
  constexpr int kMaxVersions = 64;
  try {
    Here here;
    auto result = run_version(graph, inputs, here.governor());
    Choices choices = choices_of(graph);
    for (int k = 0; k < kMaxVersions && !result && result.error().code == Code::other_version; ++k) {
      bool& side = choices.by_node[static_cast<std::uint32_t>(std::stoul(result.error().message))];
      side = !side;
      FRAZIL_TRY(const Graph other, rebuild(graph, choices));
      choices = choices_of(other);
      result = run_version(other, inputs, here.governor());
    }
    return result;
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

Result<std::vector<Datum>> run_node(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs) {
  try {
    Here here;
    return unless_stopped(ref::run_one(graph, node, inputs, here.governor()), here.governor());
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

}  // namespace frazil
