#pragma once

#include <frazil/policy.h>

#include "govern/base/json.h"
#include "govern/gate/governor.h"

// What hooks are asked with, as the records of govern/policy/hooks.cc.
namespace frazil::govern {

Json file_facts(const api::FileFacts& file);
/// `report` is that of a model or a pipeline.
Json load_facts(const Json& report, const ActionSubject& subject);
/// `report` is report_of(change.to), `before` that of the model that is changed.
Json change_facts(const api::Change& change, const Json& report, const Json& before, const ActionSubject& subject);
Json dispatch_facts(const api::Dispatch& dispatch);
Json operator_facts(const api::HostOperator& op);

}  // namespace frazil::govern
