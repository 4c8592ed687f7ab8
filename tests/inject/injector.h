#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/value/error.h"
#include "inject/heap.h"

// Runs a piece of work repeatedly, each time with another allocation failing.
namespace frazil::test {

/// One attempt, without lasting effects: the heap is compared before `before` and after `after`.
struct Attempt {
  std::function<void()> before = [] {};  ///< allocations succeed
  std::function<Status()> act;           ///< one allocation fails; may throw bad_alloc
  /// Allocations succeed. `done`: act succeeded. Returns a description of an error, or an empty text.
  std::function<std::string(bool done)> after = [](bool) { return std::string(); };
};

struct Outcomes {
  std::uint64_t injected = 0;  ///< attempts in which an allocation failed
  std::uint64_t faults = 0;    ///< those that ended with Code::out_of_memory
  std::uint64_t thrown = 0;    ///< those that ended with std::bad_alloc
  std::uint64_t absorbed = 0;  ///< those that succeeded without the memory
};

enum class Coverage : std::uint8_t {
  every_allocation,
  every_site,  ///< the first allocation of each place in the program
};

class Injector {
 public:
  /// `may_throw`: the contract of act allows std::bad_alloc.
  Injector(std::string name, Attempt attempt, bool may_throw = false)
      : name_(std::move(name)), attempt_(std::move(attempt)), may_throw_(may_throw) {}

  /// Runs both kinds of failure. Errors are reported as failures of the current test.
  void run(Coverage coverage) {
    warm_up();
    for (const Refusal refusal : {Refusal::once, Refusal::from_there_on}) {
      if (coverage == Coverage::every_site) {
        for (const std::uint64_t at : sites()) try_at(refusal, at);
      } else {
        for (std::uint64_t at = 0; try_at(refusal, at); ++at) {
        }
      }
    }
    try_at(Refusal::never, 0);
    EXPECT_GT(outcomes_.injected, 0u) << name_;
    report(coverage);
  }
  const Outcomes& outcomes() const { return outcomes_; }

 private:
  static constexpr int kMaxComplaints = 5;

  /// Creates data that are made once and kept.
  void warm_up() {
    for (int k = 0; k < 2; ++k) {
      attempt_.before();
      const bool done = attempt_.act().has_value();
      complain_of(0, done ? attempt_.after(true) : "fails by itself");
    }
  }

  std::vector<std::uint64_t> sites() {
    std::vector<std::uint64_t> all(std::size_t{1} << 16);
    attempt_.before();
    {
      const Sites sites;
      if (!attempt_.act()) ADD_FAILURE() << name_ << ": fails by itself";
      all.assign(sites.first_allocations().begin(), sites.first_allocations().end());
    }
    complain_of(0, attempt_.after(true));
    return all;
  }

  /// Whether an allocation failed; false also after enough errors.
  bool try_at(Refusal refusal, std::uint64_t at) {
    if (complaints_ >= kMaxComplaints) return false;
    const Live before = live_now();
    attempt_.before();
    bool fired = false, done = false;
    std::string wrong;
    {
      Status status;
      bool thrown = false;
      {
        const Refusing refusing(refusal, at);
        try {
          status = attempt_.act();
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        fired = refusing.refused() > 0;
      }
      done = status && !thrown;
      wrong = judge(status, thrown, fired);
    }
    if (wrong.empty()) wrong = attempt_.after(done);
    if (wrong.empty()) wrong = leak_since(before);
    complain_of(at, wrong);
    return fired;
  }

  static std::string leak_since(const Live& before) {
    constexpr std::int64_t kRounding = 64;  // the size of a kept block depends on the free blocks beside it
    const Live now = live_now();
    const std::int64_t blocks = now.blocks - before.blocks, bytes = now.bytes - before.bytes;
    if (blocks == 0 && std::abs(bytes) <= kRounding) return {};
    return fmt::format("{} blocks, {} bytes leak", blocks, bytes);
  }

  std::string judge(const Status& status, bool thrown, bool fired) {
    outcomes_.injected += fired;
    if (!fired)
      return thrown ? "bad_alloc without a refusal" : status ? "" : "fails by itself: " + status.error().text();
    if (thrown) {
      ++outcomes_.thrown;
      return may_throw_ ? "" : "throws bad_alloc";
    }
    if (status) {
      ++outcomes_.absorbed;
      return {};
    }
    ++outcomes_.faults;
    const Fault& fault = status.error();
    if (fault.code != Code::out_of_memory) return fmt::format("{}: {}", name_of(fault.code), fault.text());
    if (fault.message.empty() || fault.message.contains('\n')) return "not one line: '" + fault.text() + "'";
    return {};
  }

  void complain_of(std::uint64_t at, const std::string& wrong) {
    if (wrong.empty()) return;
    ++complaints_;
    ADD_FAILURE() << name_ << ", allocation " << at << ": " << wrong;
  }

  void report(Coverage coverage) const {
    const std::string text =
        fmt::format("{} failures injected ({}): {} faults, {} bad_alloc, {} done without", outcomes_.injected,
                    coverage == Coverage::every_site ? "each site" : "each allocation", outcomes_.faults,
                    outcomes_.thrown, outcomes_.absorbed);
    fmt::print("{}: {}\n", name_, text);
    ::testing::Test::RecordProperty(key(), text);
  }
  std::string key() const {
    std::string key = name_;
    std::ranges::replace_if(key, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return key;
  }

  std::string name_;
  Attempt attempt_;
  bool may_throw_;
  Outcomes outcomes_;
  int complaints_ = 0;
};

}  // namespace frazil::test
