#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "server/core/message.h"
#include "server/model/repository.h"
#include "server/model/served.h"
#include "server/service/policy_reload.h"
#include "server/service/service.h"

// Answers in the protocol's REST form, other than inference results.
namespace frazil::server {

using List = std::vector<std::shared_ptr<const Served>>;

Reply server_metadata_json(const ServiceOptions& options);
Reply model_metadata_json(const Served& served, const List& versions);
Reply model_ready_json(const Served& served);
Reply model_config_json(const Served& served);
/// Writes the statistics that a caller may see.
Reply statistics_json(const List& list, const Tenants::Identity& identity);
Reply index_json(const std::vector<Service::IndexEntry>& index);
Reply reloaded_json(const Service::Reloaded& came);
Reply policy_json(const PolicyReloaded& came);

}  // namespace frazil::server
