#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "server/message.h"
#include "server/repository.h"
#include "server/served.h"

// Answers of the protocol's REST form that are no results.
namespace frazil::server {

using List = std::vector<std::shared_ptr<const Served>>;

Reply server_metadata_json(std::string_view version);
Reply model_metadata_json(const Served& served, const List& versions);
Reply model_config_json(const Served& served);
Reply statistics_json(const List& list);
/// `ready`: of those alone.
Reply index_json(const Repository& models, bool ready);

}  // namespace frazil::server
