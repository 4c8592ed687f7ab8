#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/server_config.h"

// A client of Redis that speaks RESP2 over TCP or TLS.
namespace frazil::server {

struct RedisReply {
  enum class Kind : std::uint8_t { nil, integer, text, error, items };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< of a text or an error; any bytes
  std::vector<RedisReply> items;
};

/// Why there is no reply; what() does not tell the address, so that it is fit for a client.
class RedisFault : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    refused,  ///< no connection
    broken,   ///< the connection has ended
    late,     ///< no answer in time
    wrong,    ///< what came is no reply, or too large
  };
  RedisFault(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

struct RedisOptions {
  std::chrono::milliseconds connect{1000};        ///< to have a connection
  std::chrono::milliseconds answer{1000};         ///< to have all replies, and 1 ms more for each 16 KiB on the way
  std::chrono::milliseconds pause{500};           ///< after a lack of answers, during which run() fails at once
  std::size_t most_bytes = std::size_t{1} << 29;  ///< of the replies to one run
  unsigned deepest = 8;                           ///< lists in lists
  RedisAccess access = {};                        ///< given at the begin of each connection
};

/// Reads replies from where bytes come from. Memory stays in proportion to what came, whatever sizes it announces.
class RedisReader {
 public:
  /// Gives at least one byte and `most` at most; throws RedisFault when no more come.
  using Source = std::function<std::size_t(char* to, std::size_t most)>;

  RedisReader(Source source, std::size_t most_bytes, unsigned deepest)
      : source_(std::move(source)), left_(most_bytes), deepest_(deepest) {}
  /// Throws RedisFault (wrong) for bytes that are no reply of RESP2.
  RedisReply read() { return read(0); }
  /// Whether bytes came that belong to no reply read so far.
  bool ahead() const { return at_ < buffer_.size(); }

 private:
  RedisReply read(unsigned depth);
  RedisReply read_text(std::int64_t size);
  RedisReply read_items(std::int64_t count, unsigned depth);
  std::string line();
  void expect_end();
  char next();
  void charge(std::size_t bytes);

  Source source_;
  std::size_t left_;
  unsigned deepest_;
  std::string buffer_;
  std::size_t at_ = 0;
};

/// Keeps connections open between runs, as many as run at once. Thread-safe.
class Redis {
 public:
  /// Its parts, the first one being the command's name; any bytes.
  using Command = std::vector<std::string_view>;
  using Deadline = std::chrono::steady_clock::time_point;

  /// Does not connect yet. Throws api::Error (bad_input) unless `address` is HOST:PORT or [HOST]:PORT, and for files of
  /// TLS that cannot be used.
  explicit Redis(const std::string& address, const RedisOptions& options = {});
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  /// Sends the commands at once and returns a reply to each; errors of commands are replies, too. Blocks. A connection
  /// that ends meanwhile is made again, once, and the commands are sent again: running them twice must do no harm.
  /// `until` is a further limit, to the millisecond, on all but the look-up of a host's name; to miss it starts no
  /// pause. Throws RedisFault.
  std::vector<RedisReply> run(std::span<const Command> commands, std::optional<Deadline> until = {});
  RedisReply run(const Command& command);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
