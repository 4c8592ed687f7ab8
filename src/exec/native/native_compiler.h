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
  at_once,  ///< where it is asked for, by who asks
  later,    ///< by the thread that compiles, once the time spent without it pays for it
};

/// Compiles the tile programs of one executable. Equal programs of all executables of the process share their code
/// while one of them lives. Thread-safe.
class NativeCompiler : public code::NativeSource {
 public:
  explicit NativeCompiler(Compiling when) : when_(when) {}

  code::NativeLoop find(const code::TileCode& code, const code::LoopForm& form) override;
  std::uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }
  /// Whether find() was asked for code that compile_missing() has not yet made.
  bool has_missing() const { return missing_.load(std::memory_order_relaxed); }
  /// Takes what other executables or the cache have of it; changes the generation where there was some. Precondition of
  /// both: the tile programs live.
  void find_missing();
  /// Makes it, and then changes the generation. Leaves out what is `needless` when it comes to it; what is missing
  /// again behind that is made.
  void compile_missing(const std::function<bool(const code::TileCode&)>& needless);
  /// Why no form of it has code so far; empty where one has.
  std::string why_not(const code::TileCode& code) const;
  /// A line for each form that was asked for: its code, or why there is none.
  std::string explain() const;

  struct Made {
    std::shared_ptr<const NativeCode> code;
    std::string why_not;  ///< where there is none
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
  std::map<Place, std::shared_ptr<const Made>> made_;  // null: not yet
  std::set<Place> left_out_;                           // of the thread that compiles
};

}  // namespace frazil::exec
