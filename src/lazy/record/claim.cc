#include "lazy/record/claim.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "base/thread/mutex.h"
#include "lazy/program/cone.h"
#include "lazy/record/interpreter_hooks.h"

namespace frazil::lazy {
namespace {

std::vector<const Claim*> claims;  // guarded by the interpreter's lock
Mutex claims_mutex;
Condition ended;
std::uint64_t ends = 0;  // guarded by claims_mutex

std::uint64_t count_ends() {
  const std::scoped_lock lock(claims_mutex);
  return ends;
}

void wait_for_end(std::uint64_t seen) {
  constexpr auto kLook = std::chrono::milliseconds(20);  // interval to poll for signals, whose handlers cannot notify
  std::atomic<bool> cancelled = false;
  const auto wait = [&] {
    std::unique_lock lock(claims_mutex);
    while (!cancelled && ends == seen) ended.wait_for(lock, kLook);
  };
  unlocked(wait, [&] { cancelled = true; });
}

/// Marks the pending nodes below some values. Returns true, without marking all of them, if it reaches the mark
/// `other`.
bool mark_below(std::span<const Ref> wanted, std::uint32_t mark, std::uint32_t other) {
  std::vector<Node*> stack;
  bool met = false;
  const auto visit = [&](Node* node) {
    if (node == nullptr || !node->pending() || node->mark == mark) return;
    met = met || node->mark == other;
    node->mark = mark;
    stack.push_back(node);
  };
  for (const Ref& each : wanted) visit(each.node);
  while (!stack.empty() && !met) {
    Node* const node = stack.back();
    stack.pop_back();
    for (const Ref& input : node->in()) visit(input.node);
  }
  return met;
}

}  // namespace

bool Claim::overlap(const Claim& a, const Claim& b) {
  const std::uint32_t first = next_mark();
  mark_below(a.wanted_, first, first);
  return mark_below(b.wanted_, next_mark(), first);
}

Status Claim::take(std::vector<Ref> wanted) {
  if (!locked()) return {};
  wanted_ = std::move(wanted);
  thread_ = std::this_thread::get_id();
  for (;;) {
    const auto other = std::ranges::find_if(claims, [&](const Claim* claim) { return overlap(*claim, *this); });
    if (other == claims.end()) break;
    if ((*other)->thread_ == thread_) {
      return fail(Code::bad_input, "a function that recorded operators call reads a value that they compute");
    }
    wait_for_end(count_ends());
  }
  // The child of a fork() lacks the threads that own the other claims.
  static const bool watches = [] {
    in_child_of_fork([] noexcept {
      std::erase_if(claims, [](const Claim* claim) { return claim->thread_ != std::this_thread::get_id(); });
    });
    return true;
  }();
  static_cast<void>(watches);
  claims.push_back(this);
  taken_ = true;
  return {};
}

Claim::~Claim() {
  if (!taken_) return;
  std::erase(claims, this);
  const std::scoped_lock lock(claims_mutex);
  ++ends;
  ended.notify_all();
}

}  // namespace frazil::lazy
