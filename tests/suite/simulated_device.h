#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "code/entries.h"
#include "exec/device/device.h"

namespace frazil::test {

/// A device of the host's own kernels: a thread with a queue, a clock, and memory of its own. Its addresses lie where
/// the host may neither read nor write, so that a host that takes one for its own ends at once.
class SimulatedDevice : public exec::Device {
 public:
  struct Options {
    std::set<Kernel> kernels{Kernel::fused, Kernel::matmul, Kernel::gemm, Kernel::conv, Kernel::softmax};
    std::size_t capacity = std::size_t{1} << 26;
  };

  SimulatedDevice() : SimulatedDevice(Options{}) {}
  explicit SimulatedDevice(Options options) : options_(std::move(options)) {
    void* const reserved =
        mmap(nullptr, options_.capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    addresses_ = static_cast<std::byte*>(reserved);
    thread_ = std::thread([this] { work(); });
  }
  SimulatedDevice(const SimulatedDevice&) = delete;
  SimulatedDevice& operator=(const SimulatedDevice&) = delete;
  ~SimulatedDevice() override {
    put([this] { ends_ = true; }, 0);
    thread_.join();
    munmap(addresses_, options_.capacity);
  }

  std::string_view name() const override { return "sim"; }

  std::shared_ptr<const code::CompiledStep> compile(const KernelParams& params,
                                                    const std::shared_ptr<const FusedKernel>& fused,
                                                    std::uint32_t inputs) const override {
    auto entry = options_.kernels.contains(kernel_of(params)) ? code::hand_entry(params, fused, inputs) : nullptr;
    if (entry == nullptr) return nullptr;
    const auto prepare = [](code::Prepare& cx, const void* memory, void* state) {
      const code::CompiledStep& step = static_cast<const code::KernelEntry*>(memory)->step;
      return step.prepare(cx, step.code.get(), state);
    };
    const std::size_t bytes = entry->step.state_bytes;
    return std::make_shared<const code::CompiledStep>(bytes, prepare, std::move(entry));
  }

  Result<std::byte*> allocate(std::size_t bytes) override {
    const std::scoped_lock lock(mutex_);
    const std::size_t size = aligned(std::max<std::size_t>(bytes, 1));
    std::size_t at = 0;
    for (const auto& [begin, block] : blocks_) {
      if (begin - at >= size) break;
      at = begin + block.size();
    }
    if (at + size > options_.capacity) {
      return fail(Code::out_of_memory, "device 'sim' has no {} bytes left", bytes);
    }
    FRAZIL_TRY(Buffer memory, Buffer::allocate(size));
    std::memset(memory.data(), 0xff, size);
    blocks_.emplace(at, std::move(memory));
    return addresses_ + at;
  }
  void release(std::byte* memory) noexcept override {
    const std::scoped_lock lock(mutex_);
    blocks_.erase(static_cast<std::size_t>(memory - addresses_));
  }

  Event copy_in(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return put([=, this] { std::memcpy(real(to), from, bytes); }, bytes);
  }
  Event copy_out(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return put([=, this] { std::memcpy(to, real(const_cast<std::byte*>(from)), bytes); }, bytes);
  }
  Event launch(exec::DeviceCall call) override {
    const auto cost = static_cast<std::uint64_t>(call.units) * 100;
    return put([call = std::move(call), this] { run(call); }, cost);
  }
  void wait(Event event) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= event; });
  }

  /// What has been done so far took so long, in the device's own time.
  std::uint64_t clock() const {
    const std::scoped_lock lock(mutex_);
    return clock_;
  }
  /// Allocations that are not released.
  std::size_t allocations() const {
    const std::scoped_lock lock(mutex_);
    return blocks_.size();
  }
  std::thread::id thread() const { return thread_.get_id(); }

 private:
  struct Command {
    std::function<void()> run;
    std::uint64_t cost;
  };
  static constexpr std::uint64_t kLatency = 1000;

  static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  Event put(std::function<void()> run, std::uint64_t cost) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back({std::move(run), cost});
    changed_.notify_all();
    return ++put_;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      changed_.wait(lock, [&] { return !queue_.empty(); });
      const Command command = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      command.run();
      lock.lock();
      clock_ += kLatency + command.cost;
      ++done_;
      changed_.notify_all();
    }
  }

  /// Where the bytes of an address really are.
  std::byte* real(std::byte* address) const {
    if (address == nullptr) return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto offset = static_cast<std::size_t>(address - addresses_);
    const auto block = std::prev(blocks_.upper_bound(offset));
    return const_cast<std::byte*>(block->second.data()) + (offset - block->first);
  }

  void run(const exec::DeviceCall& call) const {
    const LimitsScope scope(call.limits);
    std::vector<std::byte*> pointers;
    for (std::byte* p : call.pointers) pointers.push_back(real(p));
    const auto& entry = *static_cast<const code::KernelEntry*>(call.step->code.get());
    const code::Call own{pointers.data(), pointers.data() + call.inputs, entry.step.code.get(), call.state, call.fault};
    entry.run(own, {0, real(call.scratch)}, 0, call.units);
  }

  const Options options_;
  std::byte* addresses_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Buffer> blocks_;  // by offset from addresses_
  std::deque<Command> queue_;
  Event put_ = 0, done_ = 0;
  std::uint64_t clock_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace frazil::test
