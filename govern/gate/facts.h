#pragma once

#include <frazil/policy.h>

#include "govern/base/json.h"
#include "govern/gate/governor.h"

// The inputs of hooks, as the records of govern/policy/hooks.cc.
namespace frazil::govern {

Json file_facts(const api::FileFacts& file, const std::string& digest, const LoadSignature& signature);
/// `report` is that of a model or a pipeline.
Json load_facts(const Json& report, const ServedName& name, const LoadSignature& signature);
/// `report` is report_of(change.to), `before` that of the model that is changed.
Json change_facts(const api::Change& change, const Json& report, const Json& before, const ServedName& name);
/// Returns the facts of a changed pipeline. Its nodes and weights are not compared: these fields are absent.
Json change_facts(const Json& report, const Json& before, const ServedName& name);
Json config_facts(const ConfigQuestion& question);
Json register_facts(const RegisterQuestion& question, bool serving);

}  // namespace frazil::govern
