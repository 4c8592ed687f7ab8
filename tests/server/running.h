#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "server/folder.h"
#include "server/server.h"

// A server in this process, and a socket to talk to it.
namespace frazil::test {

/// Ends on a signal.
class RunningServer {
 public:
  explicit RunningServer(server::ServiceOptions of_service, server::ServerOptions options = {})
      : service(std::move(of_service)) {
    if (const char* const threads = std::getenv("FRAZIL_TEST_IO_THREADS")) {
      options.io_threads = static_cast<unsigned>(std::atoi(threads));  // runs all tests with several threads
    }
    options.http_port = options.grpc_port = options.metrics_port = 0;
    std::promise<server::Ports> known;
    thread_ = std::thread([this, options, &known] {
      server::serve(service, options, [&](const server::Ports& listening) { known.set_value(listening); });
      over_ = true;
    });
    ports = known.get_future().get();
    port = ports.http;
  }
  explicit RunningServer(const Folder& folder, const server::ServerOptions& options = {}, std::size_t max_waiting = 256)
      : RunningServer(
            [&] {
              server::ServiceOptions of_service = options_of(folder);
              of_service.max_waiting = max_waiting;
              return of_service;
            }(),
            options) {}
  ~RunningServer() { end(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  void end() {
    if (!thread_.joinable()) return;
    if (signals_ == 0 && !over_) begin_end();
    thread_.join();
  }
  /// Once: as on SIGTERM; the second time it ends at once.
  void begin_end() {
    ++signals_;
    std::raise(SIGTERM);
  }

  /// Waits for what other threads do. A test fails instead of hanging.
  template <class Condition>
  static void wait_until(const Condition& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return void(ADD_FAILURE() << "waited for two minutes");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  /// Waits until so many requests for a model have failed.
  void wait_for_failures(const char* model, std::uint64_t count) const {
    const auto& statistics = service.models().find(model, "")->statistics();
    wait_until([&] { return statistics.fail.count() >= count; });
  }
  void wait_for_start(const char* model) const {
    const auto& statistics = service.models().find(model, "")->statistics();
    wait_until([&] { return statistics.pending != 0; });
  }

  server::Service service;
  server::Ports ports = {};
  std::uint16_t port = 0;  ///< of HTTP

 private:
  int signals_ = 0;
  std::atomic<bool> over_ = false;  // a signal would end the test
  std::thread thread_;
};

/// Reads text up to a mark, as it comes.
class TextClient {
 public:
  /// `receive_buffer`: bytes that the system takes for it; 0: the system's own choice.
  explicit TextClient(std::uint16_t port, int receive_buffer = 0) : socket_(context_) {
    socket_.open(boost::asio::ip::tcp::v4());
    if (receive_buffer != 0) socket_.set_option(boost::asio::socket_base::receive_buffer_size(receive_buffer));
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void send(std::string_view text) { boost::asio::write(socket_, boost::asio::buffer(text)); }
  void get(std::string_view target, std::string_view headers = "") {
    send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n");
  }
  /// What comes before the mark; what there was where the connection ends first.
  std::string up_to(std::string_view mark) {
    boost::system::error_code error;
    const std::size_t size = boost::asio::read_until(socket_, boost::asio::dynamic_buffer(text_), mark, error);
    std::string text = error ? text_ : text_.substr(0, size - mark.size());
    text_.erase(0, error ? text_.size() : size);
    ended = static_cast<bool>(error);
    return text;
  }
  void close() { socket_.close(); }

  bool ended = false;  ///< the server has closed the connection

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
  std::string text_;
};

}  // namespace frazil::test
