#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value/error.h"
#include "code/tile/tile_code.h"

// Machine code that is made at run time: what a code generator is asked for, and how the code is called. Plain data:
// who asks knows no generator, who generates knows no session.
namespace frazil::code {

/// How an operand or result lies along the innermost loop.
enum class InnerStep : std::uint8_t {
  one,      ///< one element stands for all
  dense,    ///< side by side
  strided,  ///< any bytes apart
};
std::string_view name_of(InnerStep step);

/// Rows of a tile program. `at`: its operands and then its results, at the first element of the first row; `row_steps`:
/// for each of them the bytes from one row to the next; `steps`: those between elements of a row, read where these are
/// strided; `scratch`: TileCode::buffers and one more, `stride` bytes apart, where the program works on rows;
/// `parameters`: the f32 of its parameters() in order, kParameterStep bytes apart.
using NativeLoop = void (*)(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n,
                            const std::int64_t* steps, std::byte* scratch, std::int64_t stride, const void* parameters);
inline constexpr std::size_t kParameterStep = 16;

/// A form of a tile program for which there is machine code: what it takes for granted.
struct LoopForm {
  std::vector<InnerStep> steps;  ///< of operands, then of results
  auto operator<=>(const LoopForm&) const = default;
  std::string str() const;
};

/// Who has machine code for tile programs. Thread-safe.
class NativeSource {
 public:
  virtual ~NativeSource() = default;
  /// The code for a form, valid while the source lives; null where there is none, so that the tile program runs.
  virtual NativeLoop find(const TileCode& code, const LoopForm& form) = 0;
  /// Changes when there is code where there was none before: a state that has none asks again.
  virtual std::uint64_t generation() const = 0;
};

/// Per instruction: whether one element stands for a whole row.
std::vector<bool> single_values(const TileCode& code, const LoopForm& form);

/// Per instruction: whether it is a constant of f32 that code reads when it is called. Programs that differ in nothing
/// else share their code: scales and zero points, and other factors and summands.
std::vector<bool> parameters(const TileCode& code);

/// Why a form of a tile program has no machine code; empty where it can have some.
std::string why_not_native(const TileCode& code, const LoopForm& form);

/// Equal for tile programs that have equal code: what they compute, without the nodes that it came from. `numbers`: of
/// code that has the parameters written in.
std::string key_of(const TileCode& code, bool numbers = false);

/// What a code generator is asked for.
struct NativeRequest {
  std::string isa;   ///< name of an Isa: the instructions that may be used, and whose vector functions
  std::string name;  ///< of the function that the object defines
  const TileCode* loop = nullptr;
  LoopForm form;
  bool text = false;  ///< LLVM IR instead of an object
};

struct NativePlan;

/// As NativeRequest, of the steps of a plan.
struct NativePlanRequest {
  std::string isa, name;
  const NativePlan* plan = nullptr;
  bool text = false;
};

/// The door of a code generator that is a module of its own: its symbol FRAZIL_NATIVE_MODULE is one. The symbol's name
/// has the version of generated code (code/code_version.cmake), so that only modules of the same sources are found.
struct NativeModule {
  const char* version = nullptr;
  /// A relocatable object for this machine, as the loader in exec/native/native_code.h takes it. Thread-safe.
  Result<std::string> (*compile)(const NativeRequest& request) = nullptr;
  /// The same: a NativeSteps.
  Result<std::string> (*compile_plan)(const NativePlanRequest& request) = nullptr;
};
}  // namespace frazil::code
