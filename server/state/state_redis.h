#pragma once

#include <mutex>
#include <string>

#include "server/core/notice.h"
#include "server/net/redis.h"
#include "server/state/state_keeper.h"

namespace frazil::server {

/// Stores states in Redis under PREFIX "state:" KEY, with an expiry, and their pages under PREFIX "page:" ID. Pages
/// expire later than the states that use them. PREFIX "era" stores an id that disappears with the data. Pages need
/// Redis 7.
class StateRedis : public StateKeeper {
 public:
  /// Throws api::Error (bad_input) that names the address if the peer is not Redis or denies access. A missing answer
  /// is an outage: functions throw until it ends. `notify` receives a notice at its beginning and end.
  StateRedis(
      const std::string& address, const std::string& prefix, const RedisOptions& options = {},
      NoticeSink notify = [](const Notice&) {});

  bool shared() const override { return true; }
  std::optional<std::string> load(const std::string& key) override;
  std::string head(const std::string& key, std::size_t count) override;
  void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
            std::chrono::microseconds idle) override;
  std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) override;
  void erase(const std::string& key) override;
  std::string era() override;
  bool is_over(const std::string& era) override;

 private:
  std::vector<RedisReply> ask(std::string_view what, std::span<const Redis::Command> commands);
  RedisReply ask(std::string_view what, const Redis::Command& command);
  std::string current_era();
  void note_fault(const std::string& why);
  void note_answer();
  std::string page_key(const PageId& id) const;
  void keep(std::span<const PagePtr> pages, std::chrono::microseconds idle);
  void write(std::span<const PagePtr> pages, const std::string& milliseconds);
  void restore(std::span<const PagePtr> pages, std::chrono::microseconds idle);

  Redis redis_;
  std::string prefix_, pages_, era_key_;  ///< prefixes of the keys of states and pages
  const NoticeSink notify_;
  std::mutex mutex_;  // guards the members below
  std::string era_;   // last value read
  bool out_ = false;
  std::uint64_t failed_ = 0;  // since the beginning of the outage
};

}  // namespace frazil::server
