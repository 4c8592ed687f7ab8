#include "server/net/http_client.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <future>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "server/core/curl_library.h"
#include "server/core/file_descriptor.h"
#include "server/core/url_parts.h"
#include "server/net/tls_client.h"

namespace frazil::server {
namespace {

constexpr long kMaxIdle = 64;
constexpr int kMaxWaitMs = 60'000;
constexpr long kMaxTimeMs = 1'000'000'000;

using Easy = std::unique_ptr<CURL, CurlRelease<&CurlLibrary::easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, CurlRelease<&CurlLibrary::multi_cleanup>>;
using HeaderLines = std::unique_ptr<curl_slist, CurlRelease<&CurlLibrary::slist_free_all>>;

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  const CURLcode done = curl().easy_setopt(easy, option, value);
  if (done == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (done != CURLE_OK) throw std::runtime_error(std::string("libcurl: ") + curl().easy_strerror(done));
}

void add_line(HeaderLines& lines, const std::string& line) {
  curl_slist* const first = curl().slist_append(lines.get(), line.c_str());
  if (first == nullptr) throw std::bad_alloc();
  if (lines == nullptr) lines.reset(first);
}

/// Opens a socket that processes of pipelines do not inherit.
curl_socket_t open_socket(const curl_sockaddr& address) {
  return ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
}

/// Returns the number and the port of an address; an empty number for a family that is not known.
PeerAddress peer_of(const curl_sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::uint16_t port = 0;
  const void* number = nullptr;
  if (address.family == AF_INET) {
    const auto& of_4 = reinterpret_cast<const sockaddr_in&>(address.addr);
    number = &of_4.sin_addr;
    port = of_4.sin_port;
  } else if (address.family == AF_INET6) {
    const auto& of_6 = reinterpret_cast<const sockaddr_in6&>(address.addr);
    number = &of_6.sin6_addr;
    port = of_6.sin6_port;
  }
  if (number == nullptr || ::inet_ntop(address.family, number, text.data(), text.size()) == nullptr) return {};
  return {.address = text.data(), .port = ntohs(port)};
}

void set_tls(CURL* easy, const TlsFiles& files) {
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!files.ca.empty()) {
    set(easy, CURLOPT_CAINFO, files.ca.c_str());
    set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr));  // otherwise the system's authorities are accepted, too
  }
  if (files.certificate.empty()) return;
  set(easy, CURLOPT_SSLCERT, files.certificate.c_str());
  set(easy, CURLOPT_SSLKEY, files.key.c_str());
  set(easy, CURLOPT_KEYPASSWD, "");  // otherwise OpenSSL asks for a password on the terminal
}

/// Returns a transfer with all options that requests share.
Easy make_easy(const std::string& url, const TlsFiles& tls) {
  Easy made(curl().easy_init());
  CURL* const easy = made.get();
  if (easy == nullptr) throw std::bad_alloc();
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_URL, url.c_str());
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_POST, 1L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a pending name look-up must not block the thread
  set_tls(easy, tls);
  return made;
}

HttpFault left() { return {HttpFault::Kind::cancelled, "the caller has disconnected"}; }

/// Returns how a fault of this code begins, and its kind.
std::pair<HttpFault::Kind, const char*> fault_begin(CURLcode code) {
  using enum HttpFault::Kind;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return {late, "the other server does not answer in time"};
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY: return {refused, "the other server cannot be reached: "};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return {refused, "TLS with the other server cannot be set up: "};
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE: return {broken, "the connection to the other server has ended: "};
    case CURLE_FAILED_INIT: return {refused, "the other server cannot be asked: "};
    case CURLE_OUT_OF_MEMORY: return {wrong, "the other server's answer cannot be read: "};  // also for long headers
    default: return {wrong, "the other server's answer is no HTTP: "};
  }
}

}  // namespace

HttpUrl HttpUrl::parse(const std::string& text) {
  const auto url = UrlParts::parse(text);
  if (url && (url->scheme == "http" || url->scheme == "https")) return {.text = text, .shown = url->shown()};
  const std::string got = text.contains('@') ? "" : ", got '" + text + "'";
  throw std::invalid_argument("expected http://HOST:PORT/PATH or https://HOST:PORT/PATH" + got);
}

struct HttpClient::Impl {
  class Running;
  /// A start() or cancel() for the client's thread.
  struct Order {
    std::shared_ptr<Running> exchange;
    bool start;
  };

  Impl(HttpUrl url_, HttpClientOptions options_);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void give(Order order);
  void run();
  bool follow_orders();
  void end_finished();

  const HttpUrl url;
  const HttpClientOptions options;
  Multi multi;
  std::unordered_map<CURL*, std::shared_ptr<Running>> running;  // used by the client's thread only
  std::mutex mutex;                                             // guards the members below
  std::vector<Order> orders;
  bool ending = false;
  std::thread thread;  // last: it uses all others
};

/// Used by the client's thread, except start() and cancel().
class HttpClient::Impl::Running : public Exchange, public std::enable_shared_from_this<Running> {
 public:
  Running(Impl& client, ClientRequest request, Clock::time_point until, Done done)
      : client_(client),
        body_(std::move(request.body)),
        until_(until),
        may_use_(std::move(request.may_use)),
        done_(std::move(done)),
        easy_(make_easy(client.url.text, client.options.tls)) {
    add_line(lines_, "Content-Type: " + request.type);
    add_line(lines_, "Expect:");  // libcurl would wait for "100 Continue" before a long body
    for (const auto& [name, value] : request.headers) add_line(lines_, std::string(name).append(": ").append(value));
    CURL* const easy = easy_.get();
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
    set(easy, CURLOPT_POSTFIELDS, body_.data());
    set(easy, CURLOPT_HTTPHEADER, lines_.get());
    set(easy, CURLOPT_WRITEDATA, this);
    set(easy, CURLOPT_WRITEFUNCTION, &Running::receive);
    set(easy, CURLOPT_ERRORBUFFER, error_.data());
    set(easy, CURLOPT_OPENSOCKETDATA, this);
    set(easy, CURLOPT_OPENSOCKETFUNCTION, &Running::connect);
    if (may_use_ == nullptr) return;
    set(easy, CURLOPT_PREREQDATA, this);
    set(easy, CURLOPT_PREREQFUNCTION, &Running::begin_use);
  }

  void start() override { client_.give({.exchange = shared_from_this(), .start = true}); }
  void cancel() override { client_.give({.exchange = shared_from_this(), .start = false}); }

  void begin() {
    if (cancelled_) return end(std::unexpected(left()));
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    set(easy_.get(), CURLOPT_TIMEOUT_MS, std::clamp<long>(ms, 1, kMaxTimeMs));
    client_.running.emplace(easy_.get(), shared_from_this());
    if (curl().multi_add_handle(client_.multi.get(), easy_.get()) != CURLM_OK) finish(CURLE_FAILED_INIT);
  }
  void stop() {
    cancelled_ = true;
    if (client_.running.contains(easy_.get())) end(std::unexpected(left()));
  }
  void finish(CURLcode code) {
    if (code != CURLE_OK) return end(std::unexpected(fault_of(code)));
    long status = 0;
    curl().easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    end(HttpAnswer{.status = static_cast<unsigned>(status), .body = std::move(answer_)});
  }
  /// Ends the transfer without an answer.
  void leave() { curl().multi_remove_handle(client_.multi.get(), easy_.get()); }

 private:
  static std::size_t receive(const char* bytes, std::size_t, std::size_t count, void* self) noexcept {
    auto& running = *static_cast<Running*>(self);
    try {
      running.too_large_ = count > running.client_.options.max_bytes - running.answer_.size();
      if (running.too_large_) return 0;
      running.answer_.append(bytes, count);
      return count;
    } catch (const std::bad_alloc&) {
      return 0;
    }
  }

  static curl_socket_t connect(void* self, curlsocktype, curl_sockaddr* address) noexcept {
    auto& running = *static_cast<Running*>(self);
    return running.permits(peer_of(*address)) ? open_socket(*address) : CURL_SOCKET_BAD;
  }
  /// Called before the request is sent, also over a connection of another request.
  static int begin_use(void* self, char* address, char*, int port, int) noexcept {
    auto& running = *static_cast<Running*>(self);
    const bool permitted = running.permits({.address = address, .port = static_cast<std::uint16_t>(port)});
    return permitted ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
  }
  bool permits(const PeerAddress& peer) noexcept {
    if (may_use_ == nullptr || permitted_ == peer) return true;
    rejection_ = rejection_by(may_use_, peer);
    if (!rejection_) permitted_ = peer;
    return !rejection_;
  }

  HttpFault fault_of(CURLcode code) const {
    if (rejection_) return {HttpFault::Kind::forbidden, *rejection_, client_.url.shown + ": " + *rejection_};
    const std::string message = error_.front() != '\0' ? error_.data() : curl().easy_strerror(code),
                      detail = client_.url.shown + ": " + message;
    if (too_large_) {
      return {HttpFault::Kind::wrong,
              "the other server's answer has more than " + std::to_string(client_.options.max_bytes) + " bytes",
              detail};
    }
    const auto [kind, what] = fault_begin(code);
    return {kind, kind == HttpFault::Kind::late ? what : what + reason_of(code), detail};
  }
  /// Returns the reason without addresses.
  std::string reason_of(CURLcode code) const {
    long error = 0;
    curl().easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
    const bool of_system = code == CURLE_COULDNT_CONNECT || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
    if (of_system && error != 0) return text_of_errno(static_cast<int>(error));
    return code == CURLE_PEER_FAILED_VERIFICATION ? "its certificate is not accepted" : curl().easy_strerror(code);
  }

  /// Removes the transfer; keeps this object alive until `done` has returned.
  void end(std::expected<HttpAnswer, HttpFault> result) {
    const auto self = shared_from_this();
    if (client_.running.erase(easy_.get()) != 0) leave();
    if (done_ != nullptr) std::exchange(done_, nullptr)(std::move(result));
  }

  Impl& client_;
  const std::string body_;
  const Clock::time_point until_;
  const MayUse may_use_;
  std::optional<PeerAddress> permitted_;  ///< the latest address that may_use_ permitted
  std::optional<std::string> rejection_;  ///< of the latest address that may_use_ rejected
  Done done_;                             ///< null after the end
  HeaderLines lines_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string answer_;
  bool cancelled_ = false, too_large_ = false;
  const Easy easy_;  // last: it refers to the others
};

HttpClient::Impl::Impl(HttpUrl url_, HttpClientOptions options_) : url(std::move(url_)), options(std::move(options_)) {
  (void)tls_client_context(options.tls, "");  // throws for unusable files
  multi.reset(curl().multi_init());
  if (multi == nullptr) throw std::bad_alloc();
  curl().multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kMaxIdle);
  thread = std::thread([this] { run(); });
}

HttpClient::Impl::~Impl() {
  {
    const std::scoped_lock lock(mutex);
    ending = true;
  }
  curl().multi_wakeup(multi.get());
  thread.join();
}

void HttpClient::Impl::give(Order order) {
  {
    const std::scoped_lock lock(mutex);
    orders.push_back(std::move(order));
  }
  curl().multi_wakeup(multi.get());
}

void HttpClient::Impl::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (follow_orders()) {
    int count = 0;
    curl().multi_perform(multi.get(), &count);
    end_finished();
    curl().multi_poll(multi.get(), nullptr, 0, kMaxWaitMs, nullptr);
  }
  for (const auto& [easy, exchange] : running) exchange->leave();
  running.clear();
}

/// Returns false if the client ends.
bool HttpClient::Impl::follow_orders() {
  std::vector<Order> taken;
  {
    const std::scoped_lock lock(mutex);
    if (ending) return false;
    taken.swap(orders);
  }
  for (const Order& order : taken) order.start ? order.exchange->begin() : order.exchange->stop();
  return true;
}

void HttpClient::Impl::end_finished() {
  int left = 0;
  while (const CURLMsg* const message = curl().multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    const auto at = running.find(message->easy_handle);
    if (at != running.end()) std::shared_ptr(at->second)->finish(result);
  }
}

HttpClient::HttpClient(HttpUrl url, HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(url), std::move(options))) {}
HttpClient::~HttpClient() = default;

std::shared_ptr<HttpClient::Exchange> HttpClient::post(ClientRequest request, Clock::time_point until, Done done) {
  return std::make_shared<Impl::Running>(*impl_, std::move(request), until, std::move(done));
}

HttpAnswer HttpClient::post_and_wait(ClientRequest request, Clock::time_point until) {
  const auto promise = std::make_shared<std::promise<std::expected<HttpAnswer, HttpFault>>>();
  auto result = promise->get_future();
  post(std::move(request), until, [promise](auto answer) { promise->set_value(std::move(answer)); })->start();
  auto answer = result.get();
  if (!answer) throw HttpFault(answer.error());
  return std::move(*answer);
}

}  // namespace frazil::server
