// What no server can be faster than, on the same two cores as the benchmark's server and client:
//
//   serve_floor MODEL.onnx [--server-cpu C] [--cpu C] [--bytes N] [--rounds N]
//
// The time of Session::run alone, and of a message over TCP to a thread that waits for it and back. Prints medians in
// microseconds, as JSON.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <frazil/model.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/arguments.h"
#include "bench/serve_net.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

struct FloorArguments {
  std::string model, json;
  int server_cpu = 0, cpu = 1, rounds = 20000;
  std::size_t bytes = 400;
};

template <class F>
double median_us(int rounds, F f) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds) / 2];
}

double run_us(const FloorArguments& arguments) {
  pin_to(arguments.server_cpu);
  auto session = frazil::api::Model::load(arguments.model).open({.threads = 1});
  const std::vector<frazil::api::Array> inputs = {frazil::api::Array(frazil::api::Dtype::f32, {1, 4})};
  return median_us(arguments.rounds, [&] { session.run(inputs); });
}

/// Answers each message with as many bytes.
void echo(int socket, int cpu) {
  pin_to(cpu);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  char buffer[64 * 1024];
  while (epoll_wait(epoll, &event, 1, -1) == 1) {
    const ssize_t size = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size <= 0 || ::send(socket, buffer, static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) break;
  }
  ::close(epoll);
}

/// The client polls, as the benchmark's does.
void ask(int socket, const std::string& message) {
  char buffer[64 * 1024];
  std::size_t left = message.size();
  ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
  while (left > 0) {
    const ssize_t size = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) left -= static_cast<std::size_t>(size);
  }
}

double echo_us(const FloorArguments& arguments) {
  const Loopback loopback;
  std::jthread server([&] { echo(loopback.far(), arguments.server_cpu); });
  pin_to(arguments.cpu);
  const std::string message(arguments.bytes, 'x');
  const double us = median_us(arguments.rounds, [&] { ask(loopback.near(), message); });
  ::shutdown(loopback.near(), SHUT_RDWR);
  return us;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::FloorArguments arguments;
  CLI::App app("What no server can be faster than", "serve_floor");
  app.add_option("MODEL", arguments.model, "of one input f32[N,4]")->required();
  app.add_option("--server-cpu", arguments.server_cpu);
  app.add_option("--cpu", arguments.cpu);
  app.add_option("--bytes", arguments.bytes, "of a message");
  app.add_option("--rounds", arguments.rounds)->check(CLI::PositiveNumber);
  app.add_option("--json", arguments.json);
  return bench::run_program(app, argc, argv, [&] {
    const nlohmann::json json = {{"run_us", bench::run_us(arguments)}, {"echo_us", bench::echo_us(arguments)}};
    std::printf("%s\n", json.dump().c_str());
    bench::write_json(arguments.json, json);
    return true;
  });
}
