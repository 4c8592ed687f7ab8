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

#include "server/config/server_config.h"
#include "server/net/external_gate.h"

// A Redis client that uses RESP2 over TCP or TLS.
namespace frazil::server {

struct RedisReply {
  enum class Kind : std::uint8_t { nil, integer, text, error, items };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< of a text or an error; any bytes
  std::vector<RedisReply> items;
};

/// The reason for a missing reply. what() does not contain the address and may be shown to clients.
class RedisFault : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    refused,    ///< no connection
    broken,     ///< the connection was closed
    late,       ///< no answer in time
    wrong,      ///< not a reply, or too large
    forbidden,  ///< a check rejects the address; what() is its reason
  };
  RedisFault(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

struct RedisOptions {
  std::chrono::milliseconds connect{1000};       ///< for establishing a connection
  std::chrono::milliseconds answer{1000};        ///< for all replies, plus 1 ms per 16 KiB transferred
  std::chrono::milliseconds pause{500};          ///< after missing answers; run() fails immediately meanwhile
  std::size_t max_bytes = std::size_t{1} << 29;  ///< limit for the replies of one run
  unsigned max_depth = 8;                        ///< largest depth of nested lists
  RedisAccess access = {};                       ///< credentials for each new connection
  std::string tls_name = "redis_tls";            ///< precedes the names of TLS files in errors
  MayUse may_connect = {};                       ///< for runs without a check of their own
};

/// Parses replies from a byte source. Memory use is proportional to the bytes received, regardless of announced sizes.
class RedisReader {
 public:
  /// Returns between one byte and `most` bytes; throws RedisFault at the end of the input.
  using Source = std::function<std::size_t(char* to, std::size_t most)>;

  RedisReader(Source source, std::size_t max_bytes, unsigned max_depth)
      : source_(std::move(source)), left_(max_bytes), max_depth_(max_depth) {}
  /// Throws RedisFault (wrong) for bytes that are not a reply of RESP2.
  RedisReply read() { return read(0); }
  /// Returns true if bytes were received after the replies read so far.
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
  unsigned max_depth_;
  std::string buffer_;
  std::size_t at_ = 0;
};

/// A client that keeps connections open between runs, one per concurrent run. Thread-safe.
class Redis {
 public:
  /// The command's name and arguments; any bytes.
  using Command = std::vector<std::string_view>;
  using Deadline = std::chrono::steady_clock::time_point;

  /// Does not connect yet. Throws api::Error (bad_input) unless `address` is HOST:PORT or [HOST]:PORT, and for unusable
  /// TLS files.
  explicit Redis(const std::string& address, const RedisOptions& options = {});
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  /// Sends the commands together and returns a reply for each; an error of a command is a reply, too. Blocks. If a
  /// connection ends meanwhile, the commands are sent once more on a new one, so they must be idempotent.
  ///
  /// `until` is a further limit in milliseconds for everything except the name lookup of the host. Missing it does not
  /// start the pause. `may_use`: asked for the connection that is made or used; null: RedisOptions::may_connect is
  /// asked for a new connection. Throws RedisFault.
  std::vector<RedisReply> run(std::span<const Command> commands, std::optional<Deadline> until = {},
                              const MayUse& may_use = {});
  RedisReply run(const Command& command);
  /// Returns the address of the latest connection that was made; nullopt before the first.
  std::optional<PeerAddress> peer() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
