#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/value/error.h"
#include "lazy/batch/fiber.h"
#include "lazy/program/run.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

struct BatchOptions {
  std::size_t at_once = 1024;             ///< most instances in progress at a time
  std::size_t stack_bytes = 256U << 10U;  ///< size of each instance's stack
  /// Called in an instance that is about to wait. If it returns a fault, the instance gets it instead of waiting. May
  /// be empty.
  std::function<Status(std::size_t instance)> check = {};
};

/// Counters of batches.
struct BatchCounts {
  std::uint64_t instances = 0;
  std::uint64_t waits = 0;     ///< times that an instance waited for a value
  std::uint64_t rounds = 0;    ///< times that all instances waited and their values were computed
  std::uint64_t runs = 0;      ///< programs run
  std::uint64_t nodes = 0;     ///< recorded operators and calls that these runs computed
  std::uint64_t recalled = 0;  ///< calls whose results came from a table
};

/// A scheduler that runs a function once per instance, on fibers of the calling thread. An instance that reads a value
/// waits. As soon as all wait, their values are computed together: equal work is one run on stacked inputs. The next
/// instance starts after one has ended.
class Batch : public Instances {
 public:
  Batch(const BatchOptions& options, BatchCounts& counts);
  /// Calls `body` with the number of each instance. `body` must not throw. Throws std::bad_alloc.
  void run(std::size_t count, const std::function<void(std::size_t)>& body);
  Status await(std::span<const Ref> wanted) override;

 private:
  struct Instance {
    std::size_t number = 0;
    std::unique_ptr<Fiber> fiber;
    std::span<const Ref> wanted;  // the values that it waits for
    Status status;                // returned to it when it continues
  };

  void start(std::size_t number, const std::function<void(std::size_t)>& body);
  bool resume(Instance& instance);

  BatchOptions options_;
  BatchCounts& counts_;
  Stacks& stacks_;
  std::vector<std::unique_ptr<Instance>> running_;
  Instance* now_ = nullptr;
};

}  // namespace frazil::lazy
