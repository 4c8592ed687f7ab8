#pragma once

#include <functional>
#include <string>

namespace frazil::server {

/// Is told something for people, one line; on any thread.
using Tell = std::function<void(const std::string&)>;

}  // namespace frazil::server
