#include "server/state/state_redis.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include <frazil/error.h>

#include "server/core/message.h"
#include "server/request/request.h"

namespace frazil::server {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::minutes kSlack{1};  // added to the expiry, so that a page outlives the states that use it
constexpr std::size_t kPagesAtOnce = 64;   // in one exchange
constexpr std::string_view kPassing[] = {"LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN"};

/// Returns true for a temporary error of Redis.
bool is_passing(const RedisReply& reply) {
  return std::ranges::any_of(kPassing, [&](std::string_view word) { return reply.text.starts_with(word); });
}

std::string random_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) name += std::to_string(random());
  return name;
}

void expect_reply(const RedisReply& reply, RedisReply::Kind kind, std::string_view what) {
  if (reply.kind != kind) refuse_state(what, "Redis answers something else than was asked for");
}

std::string milliseconds_of(microseconds idle) {
  constexpr std::chrono::milliseconds least(1), most(std::chrono::years(100));
  return std::to_string(std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(idle), least, most).count());
}

}  // namespace

StateRedis::StateRedis(const std::string& address, const std::string& prefix, const RedisOptions& options,
                       NoticeSink notify)
    : redis_(address, options),
      prefix_(prefix + "state:"),
      pages_(prefix + "page:"),
      era_key_(prefix + "era"),
      notify_(std::move(notify)) {
  const auto refuse_it = [&](const std::string& why) {
    throw api::Error(api::Code::bad_input, "cannot keep states in Redis at " + address + ": " + why);
  };
  try {
    const RedisReply reply = redis_.run({"PING"});
    const bool good = reply.kind == RedisReply::Kind::text && reply.text == "PONG";
    if (!good && !is_passing(reply)) refuse_it("it answers '" + reply.text + "' to PING");
    if (!good) note_fault("it answers " + reply.text);
  } catch (const RedisFault& fault) {
    if (fault.kind() == RedisFault::Kind::forbidden) refuse_it(std::string("the policy refuses it: ") + fault.what());
    if (fault.kind() == RedisFault::Kind::wrong) refuse_it(fault.what());
    note_fault(fault.what());
  }
}

std::vector<RedisReply> StateRedis::ask(std::string_view what, std::span<const Redis::Command> commands) {
  try {
    std::vector<RedisReply> replies = redis_.run(commands);
    for (const RedisReply& reply : replies) {
      if (reply.kind != RedisReply::Kind::error) continue;
      note_fault("it answers " + reply.text);
      refuse_state(what, "Redis answers with an error");
    }
    note_answer();
    return replies;
  } catch (const RedisFault& fault) {
    note_fault(fault.what());
    refuse_state(what, fault.what());
  }
}

RedisReply StateRedis::ask(std::string_view what, const Redis::Command& command) {
  return std::move(ask(what, std::span(&command, 1)).front());
}

void StateRedis::note_fault(const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    ++failed_;
    if (std::exchange(out_, true)) return;
  }
  warn(notify_, "redis", "requests of sequences are refused: " + why);
}

void StateRedis::note_answer() {
  std::uint64_t failed = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(out_, false)) return;
    failed = std::exchange(failed_, 0);
  }
  inform(notify_, "redis", "answers again, after " + std::to_string(failed) + " requests that failed");
}

std::optional<std::string> StateRedis::load(const std::string& key) {
  RedisReply reply = ask("read", {"GET", prefix_ + key});
  if (reply.kind == RedisReply::Kind::nil) return {};
  expect_reply(reply, RedisReply::Kind::text, "read");
  return std::move(reply.text);
}

std::string StateRedis::head(const std::string& key, std::size_t count) {
  RedisReply reply = ask("read", {"GETRANGE", prefix_ + key, "0", std::to_string(count - 1)});
  expect_reply(reply, RedisReply::Kind::text, "read");
  return std::move(reply.text);
}

void StateRedis::save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
                      microseconds idle) {
  keep(pages, idle);
  const std::string name = prefix_ + key, lasts = milliseconds_of(idle);
  std::vector<Redis::Command> commands;
  std::vector<std::string> keys;
  for (const PagePtr& page : pages) keys.push_back(page_key(page->id()));
  if (!keys.empty()) {
    commands.push_back({"TOUCH"});
    commands.back().insert(commands.back().end(), keys.begin(), keys.end());
  }
  commands.push_back({"SET", name, bytes, "PX", lasts});
  const std::vector<RedisReply> replies = ask("written", commands);
  expect_reply(replies.back(), RedisReply::Kind::text, "written");
  if (replies.back().text != "OK") refuse_state("written", "Redis answers something else than OK");
  if (!keys.empty() && replies.front().integer != std::ssize(keys)) restore(pages, idle);
}

/// Writes all pages again after Redis has lost some, by a restart or for lack of memory.
void StateRedis::restore(std::span<const PagePtr> pages, microseconds idle) {
  for (const PagePtr& page : pages) page->kept_until = Clock::time_point();
  keep(pages, idle);
}

/// Writes pages that Redis may lack, and extends the expiry of those that would expire before the state.
void StateRedis::keep(std::span<const PagePtr> pages, microseconds idle) {
  constexpr microseconds most = std::chrono::years(10);
  const Clock::time_point now = Clock::now();
  const microseconds lasts = 2 * (std::min(idle, most) + kSlack);
  std::vector<PagePtr> unsure;
  std::ranges::copy_if(pages, std::back_inserter(unsure), [&](const PagePtr& page) {
    return page->kept_until.load() < now + std::min(idle, most) + kSlack;
  });
  for (std::span<const PagePtr> left = unsure; !left.empty();) {
    const auto some = left.first(std::min(left.size(), kPagesAtOnce));
    write(some, milliseconds_of(lasts));
    for (const PagePtr& page : some) page->kept_until = now + lasts;
    left = left.subspan(some.size());
  }
}

/// Writes pages. Equal ids mean equal content, so existing pages are kept and usually not sent.
void StateRedis::write(std::span<const PagePtr> pages, const std::string& milliseconds) {
  std::vector<std::string> keys;
  std::vector<Redis::Command> commands;
  for (const PagePtr& page : pages) keys.push_back(page_key(page->id()));
  for (const std::string& key : keys) {
    commands.push_back({"EXISTS", key});
    commands.push_back({"PEXPIRE", key, milliseconds, "GT"});
  }
  const std::vector<RedisReply> replies = ask("written", commands);
  commands.clear();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    expect_reply(replies[2 * i], RedisReply::Kind::integer, "written");
    if (replies[2 * i].integer != 0) continue;
    commands.push_back({"SET", keys[i], pages[i]->sealed(), "PX", milliseconds, "NX"});
    commands.push_back({"PEXPIRE", keys[i], milliseconds, "GT"});  // if another replica was faster
  }
  (void)ask("written", commands);
}

std::vector<std::optional<std::string>> StateRedis::load_pages(std::span<const PageId> ids) {
  std::vector<std::optional<std::string>> pages;
  while (!ids.empty()) {
    const auto some = ids.first(std::min(ids.size(), kPagesAtOnce));
    std::vector<std::string> keys;
    for (const PageId& id : some) keys.push_back(page_key(id));
    Redis::Command command{"MGET"};
    command.insert(command.end(), keys.begin(), keys.end());
    RedisReply reply = ask("read", command);
    expect_reply(reply, RedisReply::Kind::items, "read");
    if (reply.items.size() != some.size()) refuse_state("read", "Redis answers something else than was asked for");
    for (RedisReply& item : reply.items) {
      pages.push_back(item.kind == RedisReply::Kind::text ? std::optional(std::move(item.text)) : std::nullopt);
    }
    ids = ids.subspan(some.size());
  }
  return pages;
}

std::string StateRedis::current_era() {
  const std::string mine = random_name();
  const Redis::Command commands[] = {{"SET", era_key_, mine, "NX"}, {"GET", era_key_}};
  std::vector<RedisReply> replies = ask("read", commands);
  expect_reply(replies.back(), RedisReply::Kind::text, "read");
  const std::scoped_lock lock(mutex_);
  return era_ = std::move(replies.back().text);
}

std::string StateRedis::era() {
  {
    const std::scoped_lock lock(mutex_);
    if (!era_.empty()) return era_;
  }
  try {
    return current_era();
  } catch (const Refusal&) {
    return {};
  }
}

bool StateRedis::is_over(const std::string& era) { return !era.empty() && current_era() != era; }

std::string StateRedis::page_key(const PageId& id) const { return pages_ + std::string(id.data(), id.size()); }

void StateRedis::erase(const std::string& key) {
  expect_reply(ask("removed", {"DEL", prefix_ + key}), RedisReply::Kind::integer, "removed");
}

}  // namespace frazil::server
