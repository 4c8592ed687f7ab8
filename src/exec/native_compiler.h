#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "code/native.h"
#include "exec/native_code.h"

namespace frazil::exec {

/// Compiles the tile programs of one executable when they are prepared, on the thread that prepares. Equal programs of
/// all executables of the process share their code while one of them lives.
class NativeCompiler : public NativeSource {
 public:
  /// Code::unsupported where this build or installation has no code generator.
  static Result<std::shared_ptr<NativeCompiler>> make();

  NativeLoop find(const TileCode& code, const LoopForm& form) override;
  /// A line for each form that was asked for: its code, or why there is none.
  std::string explain() const;

  struct Made {
    std::shared_ptr<const NativeCode> code;
    std::string why_not;  ///< where there is none
    double milliseconds = 0;
  };

 private:
  explicit NativeCompiler(const NativeModule& module) : module_(module) {}

  const NativeModule& module_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Made>> made_;
};

}  // namespace frazil::exec
