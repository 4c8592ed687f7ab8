#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "suite/subjects.h"

// Many sessions on shared executables while models are loaded and dropped, runs are cancelled and limits are exceeded.
// The results of successful runs must equal the reference executor's.
namespace frazil::test {

/// A model, requests, and the expected results.
struct Workload {
  std::string name;
  std::function<Result<Graph>()> load;
  std::vector<Request> requests;
  std::vector<std::vector<Datum>> answers;  ///< empty: the model runs until it is stopped
};

namespace mix {

inline Workload of_subject(Subject subject, std::vector<Request> more = {}) {
  Workload workload;
  workload.name = subject.name;
  workload.requests = std::move(more);
  workload.requests.push_back(subject.first);
  workload.requests.push_back(subject.second);
  auto bytes = std::make_shared<const Message>(std::move(subject.bytes));
  workload.load = [bytes] { return import_onnx_bytes(std::as_bytes(std::span(*bytes)), bytes); };
  return workload;
}

inline Workload of_text(std::string name, const char* text, std::vector<Request> requests, WeightSource weights = {}) {
  return {std::move(name), [=] { return parse(text, weights); }, std::move(requests), {}};
}

/// Three branches of different ranks: eight specialisations of one graph.
inline constexpr const char* kBranches = R"(graph branches(%x: f32[N,2]) {
    %s = Shape(%x)
    %n = Gather(%s, i64[] 0)
    %a = Less(%n, i64[] 3)
    %b = Less(%n, i64[] 5)
    %c = Less(%n, i64[] 7)
    %p = If(%a) then_branch() { %f = Reshape(%x, i64[1] [-1]) yield %f } else_branch() { yield %x } "first"
    %q = If(%b) then_branch() { %f = Reshape(%x, i64[1] [-1]) yield %f } else_branch() { yield %x } "second"
    %r = If(%c) then_branch() { %f = Reshape(%x, i64[1] [-1]) yield %f } else_branch() { yield %x } "third"
    %u = Exp(%p)
    %v = Tanh(%q)
    %w = Neg(%r)
    return u = %u, v = %v, w = %w
  })";

/// Constant operands of every kind that is packed.
inline constexpr const char* kPacked = R"(
  weight @product: f32[32,48]
  weight @transposed: f32[32,48]
  weight @filter: f32[8,2,3,3]
  graph packed(%x: f32[N,32]) {
    %p = MatMul(%x, @product)
    %q = Gemm(%p, @transposed, f32[32] 1) {transB = 1}
    %i = Reshape(%q, i64[4] [-1, 2, 4, 4])
    %c = Conv(%i, @filter) {pads = [1, 1, 1, 1]}
    %y = Relu(%c)
    return y = %y
  })";
/// Elements that differ, so that one in the wrong place shows.
inline Tensor packed_weight(std::string_view name) {
  if (name == "filter") return uneven({8, 2, 3, 3}, 3, 0.25f);
  return uneven({32, 48}, name == "product" ? 1 : 2, 0.25f);
}

inline constexpr const char* kEndless = R"(graph endless(%x: f32[64]) {
    %y = Loop(_, _, %x) body(%i, %on, %v) {
      %w = Tanh(%v)
      yield %on, %w
    }
    return y = %y
  })";

/// Doubles its value until the memory limit is exceeded.
inline constexpr const char* kGreedy = R"(graph greedy(%x: f32[8]) {
    %y = Loop(_, _, %x) body(%i, %on, %v) {
      %w = Concat(%v, %v) {axis = 0}
      yield %on, %w
    }
    return y = %y
  })";

inline Request rows(std::int64_t n, std::int64_t width) { return {ramp({n, width}, 0.01f * static_cast<float>(n))}; }

inline std::vector<Workload> workloads() {
  link_operators();
  std::vector<Request> branches, packed, loops;
  for (std::int64_t n = 1; n <= 9; ++n) branches.push_back(rows(n, 2));
  for (std::int64_t n : {1, 3, 7, 20, 64}) packed.push_back({uneven({n, 32}, static_cast<int>(n))});
  for (std::int64_t n : {1, 3, 6}) loops.push_back({Tensor::scalar(n), ramp({n + 1, 2}, 0.1f)});
  std::vector<Workload> all{of_subject(control_flow(), loops), of_subject(collections()), of_subject(digits()),
                            of_text("branches", kBranches, branches),
                            of_text("packed", kPacked, packed, packed_weight)};
  for (Workload& workload : all) {
    const Graph graph = workload.load().value();
    const Tier0 tier(graph);
    for (const Request& request : workload.requests) {
      workload.answers.push_back(run_on_reference(graph, request).value());
      expect_equal(graph, tier.session->run(request).value(), workload.answers.back(), {.rtol = 1e-4, .atol = 1e-5});
    }
  }
  all.push_back(of_text("endless", kEndless, {{ramp({64}, 0.1f)}}));
  all.push_back(of_text("greedy", kGreedy, {{ramp({8}, 0.1f)}}));
  return all;
}

}  // namespace mix

class Mix {
 public:
  static constexpr int kThreads = 4, kSessions = 16;
  enum Count { runs, right, cancelled, limited, loads, opens, observed, kCounts };

  explicit Mix(std::vector<Workload> workloads, unsigned seed) : workloads_(std::move(workloads)), seed_(seed) {
    for (const Workload& workload : workloads_) shared_.push_back(load(workload));
    for (Seat& seat : seats_) reopen(seat, static_cast<std::size_t>(&seat - seats_.data()) % workloads_.size());
  }

  /// Each thread uses its own sessions while `more` returns true; `more` takes the number of its calls.
  void run(const std::function<bool(std::uint64_t)>& more) {
    std::atomic<bool> ended{false};
    std::jthread canceller([&] { cancel_until(ended); });
    {
      std::vector<std::jthread> workers;
      for (int t = 0; t < kThreads; ++t) workers.emplace_back([this, t, &more] { work(t, more); });
    }
    ended = true;
  }

  std::uint64_t count(Count c) const { return counts_[c].load(); }
  std::vector<std::string> errors() const {
    const std::scoped_lock lock(errors_mutex_);
    return errors_;
  }

 private:
  using Random = std::mt19937;

  struct Steps : exec::Observer {
    std::uint64_t steps = 0;
    void step_begin(const Step&, NodeId) override { ++steps; }
  };
  /// Holds a session. Only its thread replaces it; the cancelling thread reads it.
  struct Seat {
    std::mutex mutex;
    std::unique_ptr<Session> session;
    std::size_t workload = 0;
    std::vector<Datum> results;
    Steps observer;
    bool observed = false;
  };

  static int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  static std::shared_ptr<Executable> load(const Workload& workload) {
    return Executable::make(std::make_shared<const Graph>(workload.load().value()), {.tier = exec::Tier::adaptive})
        .value();
  }

  void reopen(Seat& seat, std::size_t workload) {
    std::shared_ptr<Executable> executable;
    {
      const std::scoped_lock lock(shared_mutex_);
      executable = shared_[workload];
    }
    auto session = executable->open();
    executable.reset();
    const std::scoped_lock lock(seat.mutex);
    seat.session = std::move(session);
    seat.workload = workload;
    seat.observed = false;
    seat.results.clear();
    ++counts_[opens];
  }

  /// Sessions of the replaced model remain in use.
  void reload(std::size_t workload) {
    auto executable = load(workloads_[workload]);
    const std::scoped_lock lock(shared_mutex_);
    std::swap(shared_[workload], executable);
    ++counts_[loads];
  }

  void work(int thread, const std::function<bool(std::uint64_t)>& more) {
    Random random(seed_ + static_cast<unsigned>(thread));
    for (std::uint64_t k = 0; more(k); ++k) {
      Seat& seat = seats_[static_cast<std::size_t>(below(random, kSessions / kThreads) * kThreads + thread)];
      const int dice = below(random, 100);
      if (dice < 4) {
        reload(static_cast<std::size_t>(below(random, static_cast<int>(workloads_.size()))));
      } else if (dice < 10) {
        reopen(seat, static_cast<std::size_t>(below(random, static_cast<int>(workloads_.size()))));
      } else if (dice < 15) {
        seat.observed = !seat.observed;
        seat.session->set_observer(seat.observed ? &seat.observer : nullptr);
      } else {
        serve(seat, random);
      }
    }
  }

  static Limits some_limits(Random& random, bool stops) {
    Limits limits;
    limits.memory_bytes = std::uint64_t{1} << 20;
    switch (below(random, stops ? 8 : 5)) {
      case 0: limits.time = std::chrono::microseconds(below(random, 500)); break;
      case 1: limits.steps = static_cast<std::uint64_t>(below(random, 60)); break;
      case 2: limits.memory_bytes = static_cast<std::uint64_t>(below(random, 20'000)); break;
      case 3: limits.tensor_elements = static_cast<std::uint64_t>(below(random, 200)); break;
      default: break;
    }
    return limits;
  }

  void serve(Seat& seat, Random& random) {
    const Workload& workload = workloads_[seat.workload];
    const auto request = static_cast<std::size_t>(below(random, static_cast<int>(workload.requests.size())));
    const bool endless = workload.answers.empty();
    const std::uint64_t steps_before = seat.observer.steps;
    seat.session->set_limits(some_limits(random, !endless));
    if (below(random, 3) == 0) seat.results.clear();
    ++counts_[runs];
    const Status status = seat.session->run(workload.requests[request], seat.results);
    if (seat.observed && seat.observer.steps > steps_before) ++counts_[observed];
    if (!status) {
      if (status.error().code == Code::cancelled)
        ++counts_[cancelled];
      else if (status.error().code == Code::limit)
        ++counts_[limited];
      else
        complain(workload.name + ": " + status.error().text());
    } else if (endless) {
      complain(workload.name + " ended");
    } else {
      compare(workload, workload.answers[request], seat.results);
    }
  }

  void compare(const Workload& workload, const std::vector<Datum>& want, const std::vector<Datum>& got) {
    ++counts_[right];
    for (std::size_t k = 0; k < want.size(); ++k) {
      const auto what = difference(got[k], want[k], {.rtol = 1e-4, .atol = 1e-5});
      if (!what) continue;
      complain(fmt::format("{}: output {}: {}", workload.name, k, *what));
      --counts_[right];
      return;
    }
  }

  void cancel_until(const std::atomic<bool>& ended) {
    Random random(seed_ + 1000);
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::microseconds(below(random, 300)));
      Seat& seat = seats_[static_cast<std::size_t>(below(random, kSessions))];
      const std::scoped_lock lock(seat.mutex);
      seat.session->cancel();
    }
  }

  void complain(std::string what) {
    const std::scoped_lock lock(errors_mutex_);
    if (errors_.size() < 20) errors_.push_back(std::move(what));
  }

  std::vector<Workload> workloads_;
  unsigned seed_;
  std::mutex shared_mutex_;
  std::vector<std::shared_ptr<Executable>> shared_;  ///< per workload
  std::array<Seat, kSessions> seats_;
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
  mutable std::mutex errors_mutex_;
  std::vector<std::string> errors_;
};

}  // namespace frazil::test
