#include "govern/report/influence.h"

#include <vector>

namespace frazil::govern {
namespace {

/// Calls `use` with "model:NAME/VERSION" and the node of each frazil.Call.
template <class Use>
void for_each_call(const InputFlow& flow, const Use& use) {
  std::map<std::string, std::string> called;
  for (const api::ModelCall& call : flow.model().calls()) {
    const std::string version = call.version == 0 ? "" : std::to_string(call.version);
    called[call.node] = "model:" + call.model + "/" + version;
  }
  for (const auto& node : flow.nodes()) {
    if (const auto key = called.find(node.text); key != called.end()) use(key->second, node);
  }
}

}  // namespace

Influence influence_of(const InputFlow& flow) {
  Influence found;
  for (std::size_t k = 0; k < flow.model().outputs().size(); ++k) {
    found["output '" + flow.model().outputs()[k].name + "'"] = flow.names(flow.of_value(flow.block(0).results[k]));
  }
  for (const auto& node : flow.nodes()) {
    if (!node.bodies.empty()) found[node.text] = flow.names(flow.of_inputs(node));
  }
  for_each_call(flow, [&](const std::string& key, const auto& node) {
    found[key].merge(flow.names(flow.of_condition(node.block)));
  });
  return found;
}

Influence influence_of(const api::Model& model) { return influence_of(InputFlow(model)); }

Influence reaches_of(const InputFlow& flow) {
  Influence found;
  for_each_call(flow,
                [&](const std::string& key, const auto& node) { found[key].merge(flow.names(flow.of_inputs(node))); });
  return found;
}

}  // namespace frazil::govern
