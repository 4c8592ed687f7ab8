#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// A server that this one asks, and that answers as a test wants.
namespace frazil::test {

/// Answers each request as a function says: with a text, by closing the connection (empty), or not at all ("wait").
class OtherServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  /// `closes`: after each answer.
  explicit OtherServer(Answer answer, bool closes = false)
      : answer_(std::move(answer)), closes_(closes), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    if (::bind(listener_, address, size) != 0 || ::getsockname(listener_, address, &size) != 0) abort();
    if (::listen(listener_, 16) != 0) abort();
    port_ = ntohs(here.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~OtherServer() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "http://" + address() + "/v2/models/m/infer"; }
  std::atomic<int> connections = 0, left = 0, answers = 0;

 private:
  void serve(const std::stop_token& stop) {
    std::vector<pollfd> all{{.fd = listener_, .events = POLLIN, .revents = 0}};
    std::map<int, std::string> requests;
    while (!stop.stop_requested()) {
      ::poll(all.data(), all.size(), 5);
      if (all[0].revents != 0) {
        all.push_back({.fd = ::accept(listener_, nullptr, nullptr), .events = POLLIN, .revents = 0});
        ++connections;
      }
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].fd < 0 || all[i].revents == 0 || talk(all[i].fd, requests[all[i].fd])) continue;
        requests.erase(all[i].fd);
        ::close(std::exchange(all[i].fd, -1));
      }
    }
    for (std::size_t i = 1; i < all.size(); ++i) ::close(all[i].fd);
  }

  bool talk(int fd, std::string& request) {
    char bytes[4096];
    const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0) return ++left, false;
    request.append(bytes, static_cast<std::size_t>(got));
    const std::size_t head = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
    if (head == std::string::npos || request.size() < head + 4 + std::stoul(request.substr(length + 16))) return true;
    const std::string text = answer_(std::exchange(request, ""));
    ++answers;
    return text == "wait" || (!text.empty() && ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0 && !closes_);
  }

  Answer answer_;
  const bool closes_;
  int listener_;
  unsigned short port_ = 0;
  std::jthread thread_;
};

inline std::string answered(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace frazil::test
