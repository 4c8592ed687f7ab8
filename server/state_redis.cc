#include "server/state_redis.h"

#include <algorithm>
#include <utility>

#include <frazil/error.h>

#include "server/message.h"

namespace frazil::server {
namespace {

using Kind = RedisReply::Kind;

[[noreturn]] void refuse(std::string_view what, const std::string& why) {
  throw Refusal(Http::unavailable, "the sequence's state cannot be " + std::string(what) + ": " + why);
}

RedisReply ask(Redis& redis, std::string_view what, const Redis::Command& command) {
  try {
    RedisReply reply = redis.run(command);
    if (reply.kind == Kind::error) refuse(what, "Redis answers " + reply.text);
    return reply;
  } catch (const RedisFault& fault) {
    refuse(what, fault.what());
  }
}

void expect(const RedisReply& reply, Kind kind, std::string_view what) {
  if (reply.kind != kind) refuse(what, "Redis answers something else than was asked for");
}

std::string milliseconds_of(std::chrono::microseconds idle) {
  constexpr std::chrono::milliseconds least(1), most(std::chrono::years(100));
  return std::to_string(std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(idle), least, most).count());
}

}  // namespace

StateRedis::StateRedis(const std::string& address, const std::string& prefix, const RedisOptions& options)
    : redis_(address, options), prefix_(prefix + "state:") {
  std::string why;
  try {
    const RedisReply reply = redis_.run({"PING"});
    if (reply.kind == Kind::text && reply.text == "PONG") return;
    why = "it answers '" + reply.text + "' to PING";
  } catch (const RedisFault& fault) {
    why = fault.what();
  }
  throw api::Error(api::Code::bad_input, "cannot keep states in Redis at " + address + ": " + why);
}

std::optional<std::string> StateRedis::load(const std::string& key) {
  RedisReply reply = ask(redis_, "read", {"GET", prefix_ + key});
  if (reply.kind == Kind::nil) return {};
  expect(reply, Kind::text, "read");
  return std::move(reply.text);
}

std::string StateRedis::head(const std::string& key, std::size_t count) {
  RedisReply reply = ask(redis_, "read", {"GETRANGE", prefix_ + key, "0", std::to_string(count - 1)});
  expect(reply, Kind::text, "read");
  return std::move(reply.text);
}

void StateRedis::save(const std::string& key, std::string_view bytes, std::chrono::microseconds idle) {
  const RedisReply reply = ask(redis_, "written", {"SET", prefix_ + key, bytes, "PX", milliseconds_of(idle)});
  expect(reply, Kind::text, "written");
  if (reply.text != "OK") refuse("written", "Redis answers something else than OK");
}

void StateRedis::erase(const std::string& key) {
  expect(ask(redis_, "removed", {"DEL", prefix_ + key}), Kind::integer, "removed");
}

}  // namespace frazil::server
