#include "server/net/redis.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "server/net/redis_stream.h"
#include "server/net/tls_client.h"

namespace frazil::server {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr std::size_t kMaxLineLength = std::size_t{64} << 10U;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 29U;  // the longest text that Redis accepts
constexpr std::size_t kMaxIdleRedis = 64;

[[noreturn]] void wrong(const std::string& what) { throw RedisFault(RedisFault::Kind::wrong, "Redis sent " + what); }

std::int64_t integer_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) wrong("a number that is none");
  return number;
}

std::string encode_commands(std::span<const Redis::Command> commands) {
  std::string request;
  for (const Redis::Command& command : commands) {
    request += '*' + std::to_string(command.size()) + "\r\n";
    for (const std::string_view part : command) {
      if (part.size() > kMaxTextBytes)
        throw RedisFault(RedisFault::Kind::wrong, "Redis takes no text of more than 512 MiB");
      request += '$' + std::to_string(part.size()) + "\r\n";
      request += part;
      request += "\r\n";
    }
  }
  return request;
}

/// A connection. It is discarded after a fault.
class RedisConnection {
 public:
  RedisConnection(const RedisAddress& address, boost::asio::ssl::context* tls, Clock::time_point until,
                  const RedisOptions& options, const MayUse& may_use)
      : options_(options), stream_(address, tls, until, may_use) {}

  const PeerAddress& peer() const { return stream_.peer(); }

  bool quiet() { return stream_.quiet(); }

  std::vector<RedisReply> exchange(std::string_view request, std::size_t count, Clock::time_point limit) {
    started_ = Clock::now();
    limit_ = limit;
    moved_ = 0;
    send(request);
    RedisReader reader([this](char* to, std::size_t most) { return receive(to, most); }, options_.max_bytes,
                       options_.max_depth);
    std::vector<RedisReply> replies;
    replies.reserve(count);
    while (replies.size() < count) replies.push_back(reader.read());
    if (reader.ahead()) wrong("more replies than requested");
    return replies;
  }

 private:
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t sent = stream_.send(bytes, until());
      bytes.remove_prefix(sent);
      moved_ += sent;
    }
  }
  std::size_t receive(char* to, std::size_t most) {
    const std::size_t got = stream_.receive(to, most, until());
    moved_ += got;
    return got;
  }
  Clock::time_point until() const {
    return std::min(limit_, started_ + options_.answer + std::chrono::milliseconds(moved_ >> 14U));
  }

  const RedisOptions& options_;
  RedisStream stream_;
  Clock::time_point started_, limit_;
  std::size_t moved_ = 0;
};

}  // namespace

// ---- replies ----

char RedisReader::next() {
  if (at_ == buffer_.size()) {
    buffer_.resize(kChunk / 4);
    at_ = 0;
    try {
      buffer_.resize(source_(buffer_.data(), buffer_.size()));
    } catch (...) {
      buffer_.clear();
      throw;
    }
  }
  charge(1);
  return buffer_[at_++];
}

void RedisReader::charge(std::size_t bytes) {
  if (bytes > left_) wrong("a reply that is too large");
  left_ -= bytes;
}

void RedisReader::expect_end() {
  if (next() != '\r' || next() != '\n') wrong("a reply without its end");
}

std::string RedisReader::line() {
  std::string line;
  for (char byte = next(); byte != '\r'; byte = next()) {
    if (line.size() == kMaxLineLength) wrong("a line that does not end");
    line += byte;
  }
  if (next() != '\n') wrong("a line without its end");
  return line;
}

RedisReply RedisReader::read(unsigned depth) {
  const char type = next();
  RedisReply reply;
  switch (type) {
    case '+':
    case '-':
      reply.kind = type == '+' ? RedisReply::Kind::text : RedisReply::Kind::error;
      reply.text = line();
      return reply;
    case ':':
      reply.kind = RedisReply::Kind::integer;
      reply.integer = integer_of(line());
      return reply;
    case '$': return read_text(integer_of(line()));
    case '*': return read_items(integer_of(line()), depth + 1);
    default: wrong("a malformed reply");
  }
}

RedisReply RedisReader::read_text(std::int64_t size) {
  RedisReply reply;
  if (size == -1) return reply;
  if (size < 0) wrong("a text of negative size");
  charge(static_cast<std::size_t>(size));
  reply.kind = RedisReply::Kind::text;
  std::string& text = reply.text;
  const std::size_t whole = static_cast<std::size_t>(size), here = std::min(whole, buffer_.size() - at_);
  text.assign(buffer_, at_, here);
  at_ += here;
  for (std::size_t used = here; used < whole;) {
    if (used == text.size()) text.resize(std::min(whole, std::max(2 * used, used + kChunk)));
    used += source_(text.data() + used, text.size() - used);
  }
  expect_end();
  return reply;
}

RedisReply RedisReader::read_items(std::int64_t count, unsigned depth) {
  RedisReply reply;
  if (count == -1) return reply;
  if (count < 0) wrong("a list of negative size");
  if (depth > max_depth_) wrong("lists that are nested too deep");
  reply.kind = RedisReply::Kind::items;
  for (std::int64_t i = 0; i < count; ++i) {
    charge(sizeof(RedisReply));
    reply.items.push_back(read(depth));
  }
  return reply;
}

// ---- connections ----

struct Redis::Impl {
  using Held = std::unique_ptr<RedisConnection>;

  Impl(const std::string& address_, const RedisOptions& options_)
      : address(redis_address(address_)), options(options_) {
    if (options.access.tls) tls.emplace(tls_client_context(*options.access.tls, options.tls_name + "."));
  }

  /// The commands of one run() and its time limit.
  struct Task {
    std::string request;
    std::size_t count;
    std::optional<Clock::time_point> until;
    const MayUse& may_use;
  };

  std::vector<RedisReply> run(const Task& task) {
    try {
      return exchange(take(), task);
    } catch (const RedisFault& fault) {
      if (fault.kind() != RedisFault::Kind::broken) throw;
    }
    const std::vector<Held> stale = take_all();
    return exchange(nullptr, task);
  }

  std::vector<RedisReply> exchange(Held connection, const Task& task) {
    const auto limit = task.until.value_or(Clock::time_point::max());
    try {
      if (connection == nullptr) {
        connection = connect(limit, task.may_use != nullptr ? task.may_use : options.may_connect);
      } else if (const auto why = rejection_by(task.may_use, connection->peer())) {
        give(std::move(connection));
        throw RedisFault(RedisFault::Kind::forbidden, *why);
      }
      std::vector<RedisReply> replies = connection->exchange(task.request, task.count, limit);
      give(std::move(connection));
      return replies;
    } catch (const RedisFault& fault) {
      if (fault.kind() == RedisFault::Kind::late && !task.until) be_quiet();
      throw;
    }
  }

  /// Connects, authenticates and selects the database.
  Held connect(Clock::time_point limit, const MayUse& may_use) {
    const auto until = std::min(limit, Clock::now() + options.connect);
    auto connection = std::make_unique<RedisConnection>(address, tls ? &*tls : nullptr, until, options, may_use);
    {
      const std::scoped_lock lock(mutex);
      peer = connection->peer();
    }
    const auto& [user, password, database, files] = options.access;
    const std::string number = std::to_string(database);
    Command login{"AUTH"};
    if (!user.empty()) login.push_back(user);
    login.push_back(password);
    if (!password.empty()) expect_ok(*connection, login, limit, "Redis refuses the password: ");
    if (database != 0) expect_ok(*connection, {"SELECT", number}, limit, "Redis refuses database " + number + ": ");
    return connection;
  }

  static void expect_ok(RedisConnection& connection, const Command& command, Clock::time_point limit,
                        const std::string& else_begin) {
    const RedisReply reply = connection.exchange(encode_commands(std::span(&command, 1)), 1, limit).front();
    if (reply.kind == RedisReply::Kind::text) return;
    throw RedisFault(RedisFault::Kind::wrong, else_begin + reply.text);
  }

  Held take() {
    for (;;) {
      Held connection;
      {
        const std::scoped_lock lock(mutex);
        if (Clock::now() < quiet_until)
          throw RedisFault(RedisFault::Kind::late, "Redis did not answer in time a moment ago");
        if (idle.empty()) return nullptr;
        connection = std::move(idle.back());
        idle.pop_back();
      }
      if (connection->quiet()) return connection;
    }
  }

  void give(Held connection) {
    const std::scoped_lock lock(mutex);
    if (idle.size() < kMaxIdleRedis) idle.push_back(std::move(connection));
  }

  std::vector<Held> take_all() {
    const std::scoped_lock lock(mutex);
    return std::exchange(idle, {});
  }

  void be_quiet() {
    const std::scoped_lock lock(mutex);
    quiet_until = Clock::now() + options.pause;
  }

  const RedisAddress address;
  const RedisOptions options;
  std::optional<boost::asio::ssl::context> tls;
  std::mutex mutex;
  std::vector<Held> idle;
  Clock::time_point quiet_until;
  std::optional<PeerAddress> peer;
};

Redis::Redis(const std::string& address, const RedisOptions& options)
    : impl_(std::make_unique<Impl>(address, options)) {}

Redis::~Redis() = default;

std::vector<RedisReply> Redis::run(std::span<const Command> commands, std::optional<Deadline> until,
                                   const MayUse& may_use) {
  if (commands.empty()) return {};
  return impl_->run(
      {.request = encode_commands(commands), .count = commands.size(), .until = until, .may_use = may_use});
}

std::optional<PeerAddress> Redis::peer() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->peer;
}

RedisReply Redis::run(const Command& command) { return std::move(run(std::span(&command, 1)).front()); }

}  // namespace frazil::server
