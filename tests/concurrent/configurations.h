#pragma once

#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "code/entries.h"
#include "exec/native/backend.h"
#include "exec/native/compile_thread.h"
#include "exec/native/native_compiler.h"
#include "random_program.h"
#include "suite/workers.h"

// Random programs in all configurations: tiers, numbers of threads, observers, limits, cancellations and edits. Results
// have the bits of tier 0 on one thread, whose values are those of the reference executor. With several plans, which
// guards choose from, they are equal but for rounding.
namespace frazil::test {

/// Shares ranges with other threads. The session is cancelled in the middle of a step when `ranges` have begun.
class Cancelling : public Scheduler {
 public:
  explicit Cancelling(unsigned threads) : of_(scheduler(threads)) {}
  void cancel_at(Session* session, int ranges) { session_ = session, left_ = ranges; }
  unsigned workers() const noexcept override { return of_->workers(); }
  bool has_idle() const noexcept override { return true; }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) override {
    of_->parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      if (session_ != nullptr && --left_ == 0) session_->cancel();
      body(begin, end, worker);
    });
  }

 private:
  std::shared_ptr<Scheduler> of_;
  Session* session_ = nullptr;
  std::atomic<int> left_ = 0;
};

class Configurations {
 public:
  using Tiers = std::vector<exec::Tier>;
  static inline const Tiers kAllTiers{exec::Tier::interpreted, exec::Tier::compiled, exec::Tier::specialised,
                                      exec::Tier::adaptive};
  explicit Configurations(Tiers tiers = kAllTiers, unsigned most_threads = 4, const fuzz::ProgramSizes& sizes = {})
      : tiers_(std::move(tiers)), most_threads_(most_threads), sizes_(sizes) {}

  struct Done {
    std::uint64_t programs = 0, runs = 0, stopped = 0, together = 0, entered = 0, missed = 0, resumed = 0,
                  restarted = 0;
  };

  /// The first thing that is wrong with the program of this seed, and the program; nothing where all is as it should
  /// be.
  std::optional<std::string> check(std::uint64_t seed) {
    return with_program(seed, [&](const fuzz::RandomProgram& program) {
      const auto kept = check(program.text, program.requests, most_threads_);
      if (wrong_.empty()) check(program.edited, program.requests, std::min(most_threads_, 2U));
    });
  }
  /// The same for tier 0 whose requests are stopped after each number of steps, each followed by one that is not.
  std::optional<std::string> check_stops(std::uint64_t seed) {
    return with_program(seed, [&](const fuzz::RandomProgram& program) {
      text_ = program.text;
      requests_ = &program.requests;
      const auto graph = parsed();
      if (graph != nullptr) answer(graph);
      if (wrong_.empty()) stop_after_each_step(graph);
    });
  }
  const Done& done() const { return done_; }

 private:
  using Answers = std::vector<std::vector<Datum>>;
  using Executables = std::vector<std::shared_ptr<Executable>>;

  template <class F>
  std::optional<std::string> with_program(std::uint64_t seed, F use) {
    const auto bytes = std::bit_cast<std::array<std::uint8_t, 8>>(seed);
    fuzz::Choices choices(bytes);
    const fuzz::RandomProgram program = fuzz::random_program(choices, sizes_);
    ++done_.programs;
    wrong_.clear();
    choices_ = &choices;
    use(program);
    if (wrong_.empty()) return std::nullopt;
    return fmt::format("seed {}: {}\n{}", seed, wrong_, text_);
  }

  template <class... A>
  void fail(fmt::format_string<A...> format, A&&... args) {
    if (wrong_.empty()) wrong_ = where_ + ": " + fmt::format(format, std::forward<A>(args)...);
  }

  /// Returns what has been in use, so that the sections of its plan stay.
  Executables check(const std::string& text, const std::vector<std::vector<Datum>>& requests, unsigned most_threads) {
    text_ = text;
    requests_ = &requests;
    const auto graph = parsed();
    if (graph == nullptr) return {};
    answer(graph);
    Executables all;
    for (const exec::Tier tier : tiers_) {
      if (tier != exec::Tier::interpreted && !exec::native_module()) break;
      auto made = Executable::make(graph, {.verify = 3, .tier = tier});
      if (!made) fail("{}", made.error().text());
      if (!wrong_.empty()) return all;
      all.push_back(*made);
      for (unsigned threads = 1; threads <= most_threads; ++threads) {
        where_ = fmt::format("tier {}, {} threads", static_cast<int>(tier), threads);
        use(*all.back(), threads);
      }
    }
    return all;
  }

  /// Null where the text is wrong.
  std::shared_ptr<const Graph> parsed() {
    where_ = "parsing";
    auto graph = parse(text_, [this](std::string_view name) { return fuzz::program_weight(name, sizes_); });
    if (!graph) return fail("{}", graph.error().text()), nullptr;
    return std::make_shared<const Graph>(std::move(*graph));
  }

  void stop_after_each_step(const std::shared_ptr<const Graph>& graph) {
    constexpr std::uint64_t kEnough = 1U << 28U;  ///< bytes: what a session keeps must not grow with its requests
    const auto session = Executable::make(graph, {}).value()->open();
    bool stopped = true;
    for (Limits limits{.steps = 1}; stopped && wrong_.empty(); ++limits.steps) {
      where_ = fmt::format("after {} steps", limits.steps);
      session->set_limits(limits);
      const std::uint64_t before = done_.stopped;
      run(*session, steps, "steps");
      stopped = done_.stopped != before;
      session->set_limits({.memory_bytes = kEnough});
      run(*session, plain, "plain");
    }
    done_.resumed += session->counters().resumed;
  }

  void answer(const std::shared_ptr<const Graph>& graph) {
    answers_.clear();
    where_ = "tier 0 on one thread";
    const auto made = Executable::make(graph, {.verify = 3});
    if (!made) return fail("{}", made.error().text());
    for (const auto& request : *requests_) {
      auto got = (*made)->open()->run(request);
      const auto want = run_on_reference(*graph, request);
      if (!got || !want) return fail("{}", got ? want.error().text() : got.error().text());
      for (std::size_t k = 0; k < want->size(); ++k) {
        const auto what = difference((*got)[k], (*want)[k], {.rtol = 0, .atol = 0.02});
        if (what) fail("output {}: {}", k, *what);
      }
      answers_.push_back(std::move(*got));
    }
  }

  // ---- one session ----

  struct Watching : exec::Observer {
    std::uint64_t begun = 0;
    std::vector<exec::WatchedValue> values;
    void step_begin(const Step&, NodeId) override { ++begun; }
    std::span<const exec::WatchedValue> watched() const override { return values; }
    bool without(std::size_t, std::string_view) override { return true; }
  };
  enum Action : std::uint8_t { plain, observed, watched, memory, arena, steps, deadline, cancelled, swapped, kActions };

  void use(Executable& executable, unsigned threads) {
    constexpr int kTurns = 6;
    const auto session = executable.open();
    const auto cancelling = threads == 1 ? nullptr : std::make_shared<Cancelling>(threads);
    session->set_scheduler(cancelling);
    for (int turn = 0; turn < kTurns && wrong_.empty(); ++turn) {
      act(*session, executable, cancelling.get(), static_cast<Action>(choices_->below(kActions)));
      run(*session, plain, "plain");
      if (executable.options().tier == exec::Tier::adaptive) exec::CompileThread::instance().wait_until_idle();
    }
    const exec::Counters& c = session->counters();
    done_.together += c.concurrent, done_.entered += c.entered, done_.missed += c.missed, done_.resumed += c.resumed,
        done_.restarted += c.restarted;
  }

  void act(Session& session, Executable& executable, Cancelling* cancelling, Action action) {
    Watching watching;
    Limits limits;
    const std::uint64_t some = choices_->random();
    switch (action) {
      case watched:
        for (int k = 0; k < 3; ++k) watching.values.push_back({.name = fmt::format("v{}", some >> (8 * k) & 63)});
        [[fallthrough]];
      case observed: session.set_observer(&watching); break;
      case memory: limits.memory_bytes = 4096 + some % (std::uint64_t{4096} << (some >> 60 & 7)); break;
      case arena: limits.arena_bytes = 1024 + some % (std::uint64_t{4096} << (some >> 60 & 7)); break;
      case steps: limits.steps = some % 400; break;
      case deadline: limits.time = std::chrono::microseconds(some % (std::uint64_t{2} << (some >> 60 & 11))); break;
      case cancelled:
        if (cancelling != nullptr) cancelling->cancel_at(&session, 1 + static_cast<int>(some % 100));
        break;
      case swapped: swap(executable, some); break;
      default: break;
    }
    session.set_limits(limits);
    static constexpr std::array<std::string_view, kActions> kNames = {
        "plain", "observed", "watched", "memory", "arena", "steps", "deadline", "cancelled", "swapped"};
    run(session, action, kNames[action]);
    if ((action == observed || action == watched) && watching.begun == 0) fail("an observer saw no step");
    session.set_observer(nullptr);
    session.set_limits({});
    if (cancelling != nullptr) cancelling->cancel_at(nullptr, 0);
  }

  /// Another entry that does the same.
  static void swap(Executable& executable, std::uint64_t some) {
    const Plan& plan = executable.plan();
    for (StepIndex i = 0; i < plan.steps.size(); ++i) {
      const auto* launch = plan.steps[i].as<step::Launch>();
      if (launch == nullptr || some % 4 == i % 4) continue;
      auto entry = code::hand_entry(launch->params, launch->fused == kNone ? nullptr : plan.fused[launch->fused],
                                    static_cast<std::uint32_t>(launch->in.size()), executable.machine_code().bodies());
      if (entry != nullptr) executable.compiled().swap_entry(i, std::move(entry));
    }
  }

  void run(Session& session, Action action, std::string_view name) {
    const std::size_t which = choices_->below(requests_->size());
    const auto got = session.run((*requests_)[which]);
    ++done_.runs;
    if (!got) {
      const Code expected = action == cancelled ? Code::cancelled : Code::limit;
      const bool may_stop = action >= memory && action <= cancelled;
      if (!may_stop || got.error().code != expected) fail("{}, request {}: {}", name, which, got.error().text());
      ++done_.stopped;
      return;
    }
    for (std::size_t k = 0; k < got->size(); ++k) {
      const auto what = difference((*got)[k], answers_[which][k], allowed());
      if (what) fail("{}, request {}, output {}: {}", name, which, k, *what);
    }
  }

  /// A session begins with the plan that its last request ended in. Plans of two branches may sum in another order.
  Tolerance allowed() const { return text_.contains("NonZero") ? Tolerance{.rtol = 0, .atol = 0.002} : kExact; }

  const Tiers tiers_;
  const unsigned most_threads_;
  const fuzz::ProgramSizes sizes_;
  fuzz::Choices* choices_ = nullptr;
  const std::vector<std::vector<Datum>>* requests_ = nullptr;
  Answers answers_;
  std::string text_, where_, wrong_;
  Done done_;
};

}  // namespace frazil::test
