#include "lazy/batch/batch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lazy/batch/together.h"
#include "lazy/program/run.h"

namespace frazil::lazy {
namespace {

/// Returns the thread's stacks of this size, which batches reuse.
Stacks& stacks_of(std::size_t bytes) {
  thread_local std::map<std::size_t, Stacks> stacks;
  return stacks.try_emplace(bytes, bytes).first->second;
}

}  // namespace

Batch::Batch(const BatchOptions& options, BatchCounts& counts)
    : options_(options), counts_(counts), stacks_(stacks_of(options.stack_bytes)) {}

void Batch::run(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::size_t next = 0;
  counts_.instances += count;
  const std::uint64_t recalled_before = recalled();
  std::vector<AwaitedValues> wanted;
  while (next < count || !running_.empty()) {
    while (next < count && running_.size() < options_.at_once) start(next++, body);
    if (running_.empty()) continue;
    wanted.clear();
    for (const auto& instance : running_) wanted.push_back({instance->wanted});
    ++counts_.rounds;
    run_together(wanted, counts_);
    for (std::size_t i = 0; i < wanted.size(); ++i) running_[i]->status = std::move(wanted[i].status);
    std::erase_if(running_, [&](const auto& instance) { return !resume(*instance); });
  }
  counts_.recalled += recalled() - recalled_before;
}

/// Starts an instance. Drops it if it ends without waiting.
void Batch::start(std::size_t number, const std::function<void(std::size_t)>& body) {
  auto instance = std::make_unique<Instance>();
  instance->number = number;
  instance->fiber = std::make_unique<Fiber>(stacks_, [&body, number] { body(number); });
  if (resume(*instance)) running_.push_back(std::move(instance));
}

/// Resumes an instance. Returns false if it has ended.
bool Batch::resume(Instance& instance) {
  Instances* const outer = Instances::exchange(this);
  now_ = &instance;
  instance.fiber->resume();
  now_ = nullptr;
  Instances::exchange(outer);
  return !instance.fiber->ended();
}

Status Batch::await(std::span<const Ref> wanted) {
  Instance& instance = *now_;
  if (options_.check) FRAZIL_CHECK(options_.check(instance.number));
  instance.wanted = wanted;
  ++counts_.waits;
  Fiber::suspend();
  return std::exchange(instance.status, {});
}

}  // namespace frazil::lazy
