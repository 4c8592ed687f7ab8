#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/thread/mutex.h"
#include "code/native/native.h"
#include "exec/native/native_code.h"

namespace frazil::exec {

/// When machine code is made.
enum class Compiling : std::uint8_t {
  at_once,  ///< on the first use, by the thread that needs it
  later,    ///< by the compile thread, once enough time was spent without it
};

/// A compiler for the tile programs of one executable. All executables of the process share the code of equal programs
/// while one of them lives. Thread-safe.
class NativeCompiler : public code::NativeSource {
 public:
  explicit NativeCompiler(Compiling when) : when_(when) {}

  code::NativeLoop find(const code::TileCode& code, const code::LoopForm& form) override;
  std::uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }
  /// Returns whether find() was called for code that compile_missing() has not yet made.
  bool has_missing() const { return missing_.load(std::memory_order_relaxed); }
  /// Takes missing code from other executables or from the cache. Changes the generation if it found any. Precondition
  /// of this and compile_missing(): the tile programs are alive.
  void find_missing();
  /// Makes the missing code, then changes the generation. Skips a `needless` program the first time; makes it if a
  /// later call finds it missing again.
  void compile_missing(const std::function<bool(const code::TileCode&)>& needless);
  /// Returns why no form of the program has code; empty if one has.
  std::string why_not(const code::TileCode& code) const;
  /// Describes each form that was requested, one line each: its code, or why there is none.
  std::string explain() const;

  struct Made {
    std::shared_ptr<const NativeCode> code;
    std::string why_not;  ///< if there is no code
    double milliseconds = 0;
  };

 private:
  using Place = std::pair<const code::TileCode*, code::LoopForm>;
  std::vector<Place> missing() const;
  void fill(const Place& place, std::shared_ptr<const Made> made);
  std::shared_ptr<const Made> make(const code::TileCode& code, const code::LoopForm& form) const;
  std::shared_ptr<const Made> known(const code::TileCode& code, const code::LoopForm& form) const;

  const Compiling when_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> missing_{false};
  mutable Mutex mutex_;
  std::map<Place, std::shared_ptr<const Made>> made_;  // null: not yet made
  std::set<Place> left_out_;                           // used by the compile thread only
};

}  // namespace frazil::exec
