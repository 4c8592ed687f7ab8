#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace frazil {

/// A set of bits that only grows along a path. Paths split and meet; a bit is set at a meeting point if it was set on
/// both paths.
/// A state is a point on a path and stores the bits added since the previous state. A walk over all steps of a plan
/// thus takes time and memory proportional to what the steps add.
class PathSets {
 public:
  using State = std::uint32_t;

  /// Starts with `initial`, one flag per bit.
  explicit PathSets(std::vector<bool> initial) : bits_(std::move(initial)), marked_(bits_.size()), states_(1) {}

  bool has(std::size_t bit) const { return bits_[bit]; }
  void set(std::size_t bit) {
    if (bits_[bit]) return;
    bits_[bit] = true;
    states_[now_].added.push_back(static_cast<std::uint32_t>(bit));
  }

  /// Returns the current state. Bits set later are not part of it.
  State here() {
    const State state = now_;
    follow(state);
    return state;
  }
  void go(State to) {
    const State common = common_of(now_, to);
    for (State s = now_; s != common; s = states_[s].before) put(s, false);
    for (State s = to; s != common; s = states_[s].before) put(s, true);
    follow(to);
  }
  /// Returns a state with the bits that both states have.
  State meet(State a, State b) {
    const State common = common_of(a, b);
    if (a == common || b == common) return common;
    mark(a, common, true);
    std::vector<std::uint32_t> both;
    for (State s = b; s != common; s = states_[s].before) {
      std::ranges::copy_if(states_[s].added, std::back_inserter(both), [&](std::uint32_t bit) { return marked_[bit]; });
    }
    mark(a, common, false);
    states_.push_back({common, states_[common].depth + 1, std::move(both)});
    return static_cast<State>(states_.size() - 1);
  }
  /// Returns true if all bits of `state` are set here.
  bool covers(State state) const {
    const State common = common_of(now_, state);
    for (State s = state; s != common; s = states_[s].before) {
      if (!std::ranges::all_of(states_[s].added, [&](std::uint32_t bit) { return bits_[bit]; })) return false;
    }
    return true;
  }

 private:
  struct Data {
    State before = 0;
    std::uint32_t depth = 0;
    std::vector<std::uint32_t> added = {};
  };

  void follow(State state) {
    states_.push_back({state, states_[state].depth + 1});
    now_ = static_cast<State>(states_.size() - 1);
  }
  void put(State state, bool value) {
    for (const std::uint32_t bit : states_[state].added) bits_[bit] = value;
  }
  void mark(State from, State to, bool value) {
    for (State s = from; s != to; s = states_[s].before) {
      for (const std::uint32_t bit : states_[s].added) marked_[bit] = value;
    }
  }
  State common_of(State a, State b) const {
    while (a != b) {
      State& deeper = states_[a].depth >= states_[b].depth ? a : b;
      deeper = states_[deeper].before;
    }
    return a;
  }

  std::vector<bool> bits_, marked_;
  std::vector<Data> states_;
  State now_ = 0;
};

}  // namespace frazil
