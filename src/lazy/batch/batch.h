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
  std::size_t at_once = 1024;             ///< instances that have begun and not ended
  std::size_t stack_bytes = 256U << 10U;  ///< of each
  /// Called in an instance that is about to wait; it is told a fault instead of waiting. May be empty.
  std::function<Status(std::size_t instance)> check = {};
};

/// What batches have done.
struct BatchCounts {
  std::uint64_t instances = 0;
  std::uint64_t waits = 0;     ///< times that an instance waited for a value
  std::uint64_t rounds = 0;    ///< times that all had to wait, and what they waited for ran
  std::uint64_t runs = 0;      ///< programs run
  std::uint64_t nodes = 0;     ///< recorded operators and calls that these served
  std::uint64_t recalled = 0;  ///< calls whose results were in a table
};

/// Runs a function once per instance, on fibers of the calling thread. An instance that reads a value waits; when all
/// wait, what they wait for runs together: equal pieces of work are one run on stacked inputs. An instance that ends
/// makes place for the next one.
class Batch : public Instances {
 public:
  Batch(const BatchOptions& options, BatchCounts& counts);
  /// `body` gets the number of the instance. Must not throw. Throws std::bad_alloc.
  void run(std::size_t count, const std::function<void(std::size_t)>& body);
  Status await(std::span<const Ref> wanted) override;

 private:
  struct Instance {
    std::size_t number = 0;
    std::unique_ptr<Fiber> fiber;
    std::span<const Ref> wanted;  // what it waits for
    Status status;                // what it is told when it goes on
  };

  void start(std::size_t number, const std::function<void(std::size_t)>& body);
  bool go_on(Instance& instance);

  BatchOptions options_;
  BatchCounts& counts_;
  Stacks& stacks_;
  std::vector<std::unique_ptr<Instance>> running_;
  Instance* now_ = nullptr;
};

}  // namespace frazil::lazy
