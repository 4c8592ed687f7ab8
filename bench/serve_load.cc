// Load on a server of the Open Inference Protocol on this machine, and how long it takes to answer:
//
//   serve_load MODEL --port P [--grpc] [--connections N] [--streams N] [--rate R] [--seconds S] [--warm S]
//   [--timeout-us T] [--drop] [--even] [--cpu C] [--images FILE] [--length L] [--seed N] [--json FILE]
//
// Without --rate every stream sends its next request when its last is answered (closed loop). With it requests are due
// at the times of a Poisson process of that rate (open loop), or with --even at equal distances: one that no stream is
// free for waits here, and its time counts from when it was due; with --drop it is never sent. MODEL is one of
// bench/serve_requests.cc. The thread polls: give it a core of its own.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <stdexcept>

#include <sys/epoll.h>
#include <unistd.h>

#include "bench/arguments.h"
#include "bench/random.h"
#include "bench/serve_client.h"
#include "bench/serve_net.h"
#include "bench/serve_requests.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct LoadArguments {
  std::string model, json;
  std::uint16_t port = 0;
  bool grpc = false, drop = false, even = false;
  std::size_t connections = 1, streams = 1;
  double rate = 0, seconds = 3, warm = 0.5;
  ServeRequestOptions requests;
  int cpu = -1;
  std::uint64_t seed = 1;
};

/// Times of answers with one status, in microseconds.
struct Answers {
  std::vector<float> from_due, from_sent;
};

double quantile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

nlohmann::json times_of(std::vector<float>& values) {
  return {{"p50", quantile(values, 0.5)},
          {"p90", quantile(values, 0.9)},
          {"p99", quantile(values, 0.99)},
          {"p999", quantile(values, 0.999)},
          {"max", quantile(values, 1)}};
}

class Load {
 public:
  explicit Load(const LoadArguments& arguments)
      : arguments_(arguments),
        random_(arguments.seed, "arrivals"),
        requests_(serve_kind(arguments.model), arguments.requests, arguments.connections) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    const auto protocol = arguments.grpc ? Protocol::grpc : Protocol::http;
    for (std::size_t i = 0; i < arguments.connections; ++i) {
      auto connection =
          ServeConnection::open(protocol, arguments.port, arguments.streams,
                                [this](std::uint64_t tag, int status) { answers_.push_back({tag, status}); });
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->socket(), &event);
      lanes_.push_back({.connection = std::move(connection)});
    }
    for (std::size_t k = 0; k < arguments.streams; ++k) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) idle_.push_back(i);
    }
  }
  ~Load() { ::close(epoll_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  nlohmann::json run() {
    begin_ = Clock::now();
    counted_from_ = begin_ + duration(arguments_.warm);
    end_ = counted_from_ + duration(arguments_.seconds);
    next_due_ = begin_;
    while (Clock::now() < end_) {
      arguments_.rate > 0 ? send_due() : send_all();
      poll();
    }
    const auto patience = Clock::now() + std::chrono::seconds(2);
    while (flying_ > 0 && Clock::now() < patience) poll();
    return figures();
  }

 private:
  struct Lane {
    std::unique_ptr<ServeConnection> connection;
    std::size_t sent = 0;
    bool started = false;  // its sequence
  };
  struct Flight {
    Clock::time_point due, sent;
    std::size_t lane;
  };
  struct Answer {
    std::uint64_t tag;
    int status;
  };

  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }

  void send_due() {
    for (const auto now = Clock::now(); next_due_ <= now;) {
      if (next_due_ >= counted_from_) ++due_;
      if (!arguments_.drop || waiting_.size() < idle_.size()) waiting_.push_back(next_due_);
      next_due_ += duration((arguments_.even ? 1 : -std::log(1 - random_.uniform())) / arguments_.rate);
    }
    while (!waiting_.empty() && !idle_.empty()) {
      send(waiting_.front());
      waiting_.pop_front();
    }
  }
  void send_all() {
    while (!idle_.empty()) send(Clock::now());
  }

  /// On the stream that has been idle for longest.
  void send(Clock::time_point due) {
    const std::size_t i = idle_.front();
    idle_.pop_front();
    Lane& lane = lanes_[i];
    const std::uint64_t tag = new_tag();
    flights_[tag] = {.due = due, .sent = Clock::now(), .lane = i};
    ++flying_;
    lane.connection->send(requests_.bytes(i, lane.sent++, !lane.started), tag);
    if (!lane.connection->flush()) unsent_.push_back(i);
  }
  std::uint64_t new_tag() {
    if (free_tags_.empty()) {
      flights_.emplace_back();
      return flights_.size() - 1;
    }
    const std::uint64_t tag = free_tags_.back();
    free_tags_.pop_back();
    return tag;
  }

  void poll() {
    epoll_event events[64];
    const int count = epoll_wait(epoll_, events, std::size(events), 0);
    for (int i = 0; i < count; ++i) {
      if (lanes_[events[i].data.u64].connection->receive()) continue;
      throw std::runtime_error("the server has closed a connection");
    }
    std::erase_if(unsent_, [&](std::size_t lane) { return lanes_[lane].connection->flush(); });
    const auto now = Clock::now();
    for (const Answer& answer : answers_) count_answer(answer, now);
    answers_.clear();
  }

  void count_answer(const Answer& answer, Clock::time_point now) {
    const Flight& flight = flights_[answer.tag];
    if (answer.status == 200) lanes_[flight.lane].started = true;
    idle_.push_back(flight.lane);
    free_tags_.push_back(answer.tag);
    --flying_;
    if (flight.due < counted_from_) return;
    Answers& answers = by_status_[answer.status];
    answers.from_due.push_back(microseconds(now - flight.due));
    answers.from_sent.push_back(microseconds(now - flight.sent));
    const double deadline = static_cast<double>(arguments_.requests.timeout_us);
    in_time_ += answer.status == 200 && (deadline == 0 || answers.from_due.back() <= deadline);
  }
  static float microseconds(Clock::duration time) { return std::chrono::duration<float, std::micro>(time).count(); }

  nlohmann::json figures() {
    nlohmann::json json = {{"model", arguments_.model},
                           {"protocol", arguments_.grpc ? "grpc" : "http"},
                           {"connections", arguments_.connections},
                           {"streams", arguments_.streams},
                           {"rate", arguments_.rate},
                           {"seconds", arguments_.seconds},
                           {"warm", arguments_.warm},
                           {"due", due_},
                           {"unsent", waiting_.size()},
                           {"unanswered", flying_},
                           {"goodput", static_cast<double>(in_time_) / arguments_.seconds},
                           {"answers", nlohmann::json::object()}};
    for (auto& [status, answers] : by_status_) {
      json["answers"][std::to_string(status)] = {
          {"count", answers.from_due.size()},
          {"per_second", static_cast<double>(answers.from_due.size()) / arguments_.seconds},
          {"us", times_of(answers.from_due)},
          {"us_from_sent", times_of(answers.from_sent)}};
    }
    return json;
  }

  const LoadArguments& arguments_;
  Random random_;
  const ServeRequests requests_;
  int epoll_ = -1;
  std::vector<Lane> lanes_;
  std::deque<std::size_t> idle_;  // a lane as often as it has free streams
  std::deque<Clock::time_point> waiting_;
  std::vector<Flight> flights_;
  std::vector<std::uint64_t> free_tags_;
  std::vector<std::size_t> unsent_;  // lanes whose socket has not taken all yet
  std::vector<Answer> answers_;
  std::size_t flying_ = 0;
  std::uint64_t in_time_ = 0, due_ = 0;
  Clock::time_point begin_, counted_from_, end_, next_due_;
  std::map<int, Answers> by_status_;
};

void print(const nlohmann::json& json) {
  std::printf("%s %s: goodput %.0f/s\n", json["model"].get<std::string>().c_str(),
              json["protocol"].get<std::string>().c_str(), json["goodput"].get<double>());
  for (const auto& [status, answers] : json["answers"].items()) {
    const auto& us = answers["us"];
    std::printf("  %s %10.0f/s  p50 %.0f  p90 %.0f  p99 %.0f  p99.9 %.0f  max %.0f us\n", status.c_str(),
                answers["per_second"].get<double>(), us["p50"].get<double>(), us["p90"].get<double>(),
                us["p99"].get<double>(), us["p999"].get<double>(), us["max"].get<double>());
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::LoadArguments arguments;
  CLI::App app("Load on a server", "serve_load");
  app.add_option("MODEL", arguments.model)->required();
  app.add_option("--port", arguments.port)->required();
  app.add_flag("--grpc", arguments.grpc);
  app.add_option("--connections", arguments.connections)->check(CLI::PositiveNumber);
  app.add_option("--streams", arguments.streams, "of each connection, with gRPC")->check(CLI::PositiveNumber);
  app.add_option("--rate", arguments.rate, "requests per second; closed loop without");
  app.add_option("--seconds", arguments.seconds);
  app.add_option("--warm", arguments.warm, "seconds before, which are not counted");
  app.add_option("--timeout-us", arguments.requests.timeout_us, "of each request");
  app.add_flag("--drop", arguments.drop, "what no stream is free for");
  app.add_flag("--even", arguments.even, "at equal distances instead of random ones");
  app.add_option("--cpu", arguments.cpu, "the core to run on");
  app.add_option("--images", arguments.requests.images, "examples/digits/images.npy");
  app.add_option("--length", arguments.requests.length, "of all requests");
  app.add_option("--seed", arguments.seed);
  app.add_option("--json", arguments.json);
  return bench::run_program(app, argc, argv, [&] {
    if (arguments.cpu >= 0) bench::pin_to(arguments.cpu);
    arguments.requests.protocol = arguments.grpc ? bench::Protocol::grpc : bench::Protocol::http;
    if (!arguments.grpc) arguments.streams = 1;
    const nlohmann::json json = bench::Load(arguments).run();
    bench::print(json);
    bench::write_json(arguments.json, json);
    return true;
  });
}
