#include "base/thread/fork.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace frazil {
namespace {

constexpr std::chrono::seconds kMaxWait{10};
constexpr unsigned kStripes = 64;

/// Counts of threads inside scopes, spread over several cache lines to avoid sharing one.
struct alignas(64) Stripe {
  std::atomic<unsigned> threads = 0;
};
constinit std::array<Stripe, kStripes> stripes;
constinit std::atomic<bool> forking = false;
constinit std::atomic<bool> forked_whole = true;
constinit bool in_time = true;  // the current fork() has waited for all scopes; guarded by one_fork
constinit std::atomic<std::uint64_t> generation = 0;
constinit std::mutex one_fork;  // serialises forks

constexpr std::size_t kMaxHandlers = 16;
constinit std::array<std::atomic<void (*)() noexcept>, kMaxHandlers> handlers;
constinit std::atomic<std::size_t> handler_count = 0;

constinit std::atomic<unsigned> next_stripe = 0;
/// Nesting depth of this thread's scopes. The TLS model saves a call per lock.
[[gnu::tls_model("initial-exec")]] constinit thread_local unsigned depth = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local Stripe* own_stripe = nullptr;

Stripe& stripe() noexcept {
  if (own_stripe == nullptr) own_stripe = &stripes[next_stripe.fetch_add(1, std::memory_order_relaxed) % kStripes];
  return *own_stripe;
}

bool others_are_outside() noexcept {
  for (const Stripe& s : stripes) {
    if (s.threads.load() != 0) return false;
  }
  return true;
}

void before() noexcept {
  one_fork.lock();
  if (depth > 0) stripe().threads.fetch_sub(1);
  ++depth;  // scopes of this thread must not wait
  forking.store(true);
  const auto end = std::chrono::steady_clock::now() + kMaxWait;
  in_time = others_are_outside();
  while (!in_time && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    in_time = others_are_outside();
  }
}

void in_parent() noexcept {
  --depth;
  if (depth > 0) stripe().threads.fetch_add(1);
  forking.store(false);
  forking.notify_all();
  one_fork.unlock();
}

/// Resets the counts, because the threads inside other scopes do not exist in the child. Some may have been about to
/// wait for the fork.
void in_child() noexcept {
  if (!in_time) forked_whole.store(false);
  for (Stripe& s : stripes) s.threads.store(0);
  generation.fetch_add(1);
  in_parent();
  for (std::size_t i = 0; i < handler_count.load(); ++i) {
    if (auto* const handler = handlers[i].load()) handler();
  }
}

/// Registers the fork handlers. Called before the first scope and outside of it, because glibc blocks registration
/// while another thread forks. The code generator has a copy of this function, which must not register while it is
/// opened, because that happens inside a scope.
void watch_forks() noexcept {
  static const int registered = ::pthread_atfork(before, in_parent, in_child);
  static_cast<void>(registered);
}

}  // namespace

void NoFork::enter() noexcept {
  if (depth > 0) {
    ++depth;
    return;
  }
  watch_forks();
  ++depth;
  for (;;) {
    stripe().threads.fetch_add(1);
    if (!forking.load()) return;
    stripe().threads.fetch_sub(1);
    forking.wait(true);
  }
}

void NoFork::leave() noexcept {
  if (--depth == 0) stripe().threads.fetch_sub(1);
}

void in_child_of_fork(void (*handler)() noexcept) noexcept {
  watch_forks();
  const std::size_t place = handler_count.fetch_add(1);
  if (place >= kMaxHandlers) std::abort();
  handlers[place].store(handler);
}

std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

bool forks_whole() noexcept { return forked_whole.load(std::memory_order_relaxed); }

}  // namespace frazil
