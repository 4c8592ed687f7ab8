#pragma once

#include <string>

#include "server/redis.h"
#include "server/state_keeper.h"

namespace frazil::server {

/// Keeps states in Redis under PREFIX "state:" KEY, each with the time after which Redis forgets it.
class StateRedis : public StateKeeper {
 public:
  /// Throws api::Error (bad_input), naming the address, when Redis does not answer there.
  StateRedis(const std::string& address, const std::string& prefix, const RedisOptions& options = {});

  bool shared() const override { return true; }
  std::optional<std::string> load(const std::string& key) override;
  std::string head(const std::string& key, std::size_t count) override;
  void save(const std::string& key, std::string_view bytes, std::chrono::microseconds idle) override;
  void erase(const std::string& key) override;

 private:
  Redis redis_;
  std::string prefix_;
};

}  // namespace frazil::server
