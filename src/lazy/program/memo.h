#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/thread/mutex.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// A table of a function's results for rows of parameters. All tables of a process share a bounded number of bytes;
/// once these are used up, new results are not kept. Thread-safe.
class Memo {
 public:
  Memo() = default;
  ~Memo();
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;

  /// Sets `outputs` to the known results. Returns false if there are none. Precondition: inputs are rows of parameters.
  bool recall(std::span<const Ref> inputs, std::span<Output> outputs) const;
  /// Copies the results of a node that has run.
  void insert(std::span<const Ref> inputs, std::span<const Output> outputs);

 private:
  struct Key {
    std::vector<std::pair<const Held*, std::uint32_t>> rows;
    bool operator==(const Key&) const = default;
  };
  struct HashOf {
    std::size_t operator()(const Key& key) const;
  };
  /// Rows of one result, of the same type, in pieces that do not move.
  struct Column {
    const KnownType* type = nullptr;
    std::vector<HeldRef> pieces;
  };
  static constexpr std::uint32_t kPieceRows = 256, kUnknown = ~0U;

  static Key key_of(std::span<const Ref> inputs);
  std::uint32_t find(std::span<const Ref> inputs) const;
  void insert(std::span<const Ref> inputs, std::uint32_t number);
  bool make_room(std::span<const Output> outputs);

  mutable Mutex mutex_;
  HeldRef only_;                       // the first parameter that was seen as a single argument
  std::vector<std::uint32_t> by_row_;  // per row of only_: number of its results
  std::unordered_map<Key, std::uint32_t, HashOf> by_key_;
  std::vector<HeldRef> parameters_;  // kept alive, because keys contain their addresses
  std::vector<Column> columns_;
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace frazil::lazy
