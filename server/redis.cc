#include "server/redis.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <frazil/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace frazil::server {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = RedisFault::Kind;

constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr std::size_t kLongestLine = std::size_t{64} << 10U;
constexpr std::size_t kLongestText = std::size_t{1} << 29U;  // Redis takes no longer ones
constexpr std::size_t kMostIdle = 64;

[[noreturn]] void wrong(const std::string& what) { throw RedisFault(Kind::wrong, "Redis sent " + what); }

std::string text_of(int error) { return std::generic_category().message(error); }

std::int64_t integer_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) wrong("a number that is none");
  return number;
}

std::string request_of(std::span<const Redis::Command> commands) {
  std::string request;
  for (const Redis::Command& command : commands) {
    request += '*' + std::to_string(command.size()) + "\r\n";
    for (const std::string_view part : command) {
      if (part.size() > kLongestText) throw RedisFault(Kind::wrong, "Redis takes no text of more than 512 MiB");
      request += '$' + std::to_string(part.size()) + "\r\n";
      request += part;
      request += "\r\n";
    }
  }
  return request;
}

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Whether one of the events came in time.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int got = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
    if (got > 0) return true;
    if (got == 0) return false;
    if (errno != EINTR) throw RedisFault(Kind::broken, "the connection to Redis failed: " + text_of(errno));
  }
}

struct Address {
  std::string host, port;
};

Address address_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address = {.host = text.substr(0, colon), .port = text.substr(colon + 1)};
    std::string& host = address.host;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  }
  unsigned port = 0;
  const char* const end = address.port.data() + address.port.size();
  const auto [stop, error] = std::from_chars(address.port.data(), end, port);
  if (address.host.empty() || error != std::errc() || stop != end || port == 0 || port > 65535) {
    throw api::Error(api::Code::bad_input, "the address of Redis is '" + text + "'; expected HOST:PORT");
  }
  return address;
}

using Candidates = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Candidates resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    throw RedisFault(Kind::refused, std::string("the host of Redis is not found: ") + ::gai_strerror(error));
  }
  return {found, &::freeaddrinfo};
}

/// Throws RedisFault (refused or late).
Socket connect_to(const addrinfo& where, Clock::time_point until) {
  Socket socket(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol));
  int error = socket.get() < 0 ? errno : 0;
  if (error == 0 && ::connect(socket.get(), where.ai_addr, where.ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    if (!wait_for(socket.get(), POLLOUT, until)) throw RedisFault(Kind::late, "Redis cannot be reached in time");
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  if (error != 0) throw RedisFault(Kind::refused, "Redis cannot be reached: " + text_of(error));
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // slower without, but right
  return socket;
}

Socket connect_to(const Address& address, Clock::time_point until) {
  const Candidates candidates = resolve(address);
  std::optional<RedisFault> last;
  for (const addrinfo* at = candidates.get(); at != nullptr; at = at->ai_next) {
    try {
      return connect_to(*at, until);
    } catch (const RedisFault& fault) {
      last = fault;
    }
  }
  throw last.value_or(RedisFault(Kind::refused, "the host of Redis has no address"));
}

/// Not used again after a fault.
class Connection {
 public:
  Connection(const Address& address, const RedisOptions& options, Clock::time_point limit)
      : options_(options), socket_(connect_to(address, std::min(limit, Clock::now() + options.connect))) {}

  /// Nothing came since the last reply, not even the end.
  bool quiet() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_PEEK) < 0 && would_block();
  }

  std::vector<RedisReply> exchange(std::string_view request, std::size_t count, Clock::time_point limit) {
    started_ = Clock::now();
    limit_ = limit;
    moved_ = 0;
    send(request);
    RedisReader reader([this](char* to, std::size_t most) { return receive(to, most); }, options_.most_bytes,
                       options_.deepest);
    std::vector<RedisReply> replies;
    replies.reserve(count);
    while (replies.size() < count) replies.push_back(reader.read());
    if (reader.ahead()) wrong("more than was asked for");
    return replies;
  }

 private:
  static bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        wait_or_throw(POLLOUT);
      } else {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        moved_ += static_cast<std::size_t>(sent);
      }
    }
  }

  std::size_t receive(char* to, std::size_t most) {
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), to, most, 0);
      if (got == 0) throw RedisFault(Kind::broken, "Redis has closed the connection");
      if (got < 0) {
        wait_or_throw(POLLIN);
        continue;
      }
      moved_ += static_cast<std::size_t>(got);
      if (Clock::now() > until()) late();  // bytes that come one by one
      return static_cast<std::size_t>(got);
    }
  }

  Clock::time_point until() const {
    return std::min(limit_, started_ + options_.answer + std::chrono::milliseconds(moved_ >> 14U));
  }

  [[noreturn]] static void late() { throw RedisFault(Kind::late, "Redis does not answer in time"); }

  void wait_or_throw(short events) {
    if (errno == EINTR) return;
    if (!would_block()) throw RedisFault(Kind::broken, "the connection to Redis has ended: " + text_of(errno));
    if (!wait_for(socket_.get(), events, until())) late();
  }

  const RedisOptions& options_;
  Socket socket_;
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
    if (line.size() == kLongestLine) wrong("a line that does not end");
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
    default: wrong("what is no reply of its protocol");
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
  if (depth > deepest_) wrong("lists that are nested too deep");
  reply.kind = RedisReply::Kind::items;
  for (std::int64_t i = 0; i < count; ++i) {
    charge(sizeof(RedisReply));
    reply.items.push_back(read(depth));
  }
  return reply;
}

// ---- connections ----

struct Redis::Impl {
  using Held = std::unique_ptr<Connection>;

  Impl(const std::string& address_, const RedisOptions& options_) : address(address_of(address_)), options(options_) {}

  /// What one run() sends, and how long it may take.
  struct Task {
    std::string request;
    std::size_t count;
    std::optional<Clock::time_point> until;
  };

  std::vector<RedisReply> run(const Task& task) {
    try {
      return exchange(take(), task);
    } catch (const RedisFault& fault) {
      if (fault.kind() != Kind::broken) throw;
    }
    const std::vector<Held> stale = take_all();
    return exchange(nullptr, task);
  }

  std::vector<RedisReply> exchange(Held connection, const Task& task) {
    const auto limit = task.until.value_or(Clock::time_point::max());
    try {
      if (connection == nullptr) connection = std::make_unique<Connection>(address, options, limit);
      std::vector<RedisReply> replies = connection->exchange(task.request, task.count, limit);
      give(std::move(connection));
      return replies;
    } catch (const RedisFault& fault) {
      if (fault.kind() == Kind::late && !task.until) be_quiet();
      throw;
    }
  }

  Held take() {
    for (;;) {
      Held connection;
      {
        const std::scoped_lock lock(mutex);
        if (Clock::now() < quiet_until) throw RedisFault(Kind::late, "Redis did not answer in time a moment ago");
        if (idle.empty()) return nullptr;
        connection = std::move(idle.back());
        idle.pop_back();
      }
      if (connection->quiet()) return connection;
    }
  }

  void give(Held connection) {
    const std::scoped_lock lock(mutex);
    if (idle.size() < kMostIdle) idle.push_back(std::move(connection));
  }

  std::vector<Held> take_all() {
    const std::scoped_lock lock(mutex);
    return std::exchange(idle, {});
  }

  void be_quiet() {
    const std::scoped_lock lock(mutex);
    quiet_until = Clock::now() + options.pause;
  }

  const Address address;
  const RedisOptions options;
  std::mutex mutex;
  std::vector<Held> idle;
  Clock::time_point quiet_until;
};

Redis::Redis(const std::string& address, const RedisOptions& options)
    : impl_(std::make_unique<Impl>(address, options)) {}

Redis::~Redis() = default;

std::vector<RedisReply> Redis::run(std::span<const Command> commands, std::optional<Deadline> until) {
  if (commands.empty()) return {};
  return impl_->run({.request = request_of(commands), .count = commands.size(), .until = until});
}

RedisReply Redis::run(const Command& command) { return std::move(run(std::span(&command, 1)).front()); }

}  // namespace frazil::server
