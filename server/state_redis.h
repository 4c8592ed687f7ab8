#pragma once

#include <string>

#include "server/redis.h"
#include "server/state_keeper.h"

namespace frazil::server {

/// Keeps states in Redis under PREFIX "state:" KEY, each with the time after which Redis forgets it, and their pages
/// under PREFIX "page:" ID, which last longer than the states that have them. Pages need Redis 7.
class StateRedis : public StateKeeper {
 public:
  /// Throws api::Error (bad_input), naming the address, when Redis does not answer there.
  StateRedis(const std::string& address, const std::string& prefix, const RedisOptions& options = {});

  bool shared() const override { return true; }
  std::optional<std::string> load(const std::string& key) override;
  std::string head(const std::string& key, std::size_t count) override;
  void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
            std::chrono::microseconds idle) override;
  std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) override;
  void erase(const std::string& key) override;

 private:
  std::string page_key(const PageId& id) const;
  void keep(std::span<const PagePtr> pages, std::chrono::microseconds idle);
  void write(std::span<const PagePtr> pages, const std::string& milliseconds);
  void restore(std::span<const PagePtr> pages, std::chrono::microseconds idle);

  Redis redis_;
  std::string prefix_, pages_;  ///< of the keys of states and of pages
};

}  // namespace frazil::server
