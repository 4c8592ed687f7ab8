#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <frazil/profile.h>

#include "exec/run/executable.h"
#include "profile/recorder.h"

namespace frazil::api {

struct ProfilerImpl {
  explicit ProfilerImpl(std::size_t events) : recorder(events) {}
  profile::Recorder recorder;
  std::atomic<bool> used = false;                               ///< by a session
  std::vector<std::shared_ptr<const exec::Executable>> owners;  ///< owners of the recorded plans

  void keep_alive(std::shared_ptr<const exec::Executable> owner) {
    if (owners.empty() || owners.back() != owner) owners.push_back(std::move(owner));
  }
};

/// Forwards the events of a session to two observers. The second one measures times, which exclude the first one.
/// Values are reported to the first one.
class BothObservers : public exec::Observer {
 public:
  BothObservers(exec::Observer& first, exec::Observer& timing) : first_(first), timing_(timing) {}

  void run_begin(const Plan& plan, std::span<const std::int64_t> registers) override {
    first_.run_begin(plan, registers);
    timing_.run_begin(plan, registers);
  }
  void run_end() override {
    timing_.run_end();
    first_.run_end();
  }
  void step_begin(const Step& step, NodeId node) override {
    first_.step_begin(step, node);
    timing_.step_begin(step, node);
  }
  void step_end(const Step& step, NodeId node) override {
    timing_.step_end(step, node);
    first_.step_end(step, node);
  }
  void branch(const Step& step, NodeId node, bool taken) override {
    timing_.branch(step, node, taken);
    first_.branch(step, node, taken);
  }
  void iteration(const Step& step, NodeId node) override {
    timing_.iteration(step, node);
    first_.iteration(step, node);
  }
  void count_reached(const Step& step, NodeId node) override {
    timing_.count_reached(step, node);
    first_.count_reached(step, node);
  }
  void shapes_changed(std::uint32_t group) override {
    timing_.shapes_changed(group);
    first_.shapes_changed(group);
  }
  std::span<const exec::WatchedValue> watched() const override { return first_.watched(); }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override {
    first_.value(index, value, iterations);
  }
  bool without(std::size_t index, std::string_view why) override { return first_.without(index, why); }

 private:
  exec::Observer &first_, &timing_;
};

}  // namespace frazil::api
