#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value/error.h"
#include "code/tile/tile_code.h"

// Machine code that is made at run time: requests to a code generator, and the interface of the code. Plain data, so
// that sessions and code generators do not depend on each other.
namespace frazil::code {

/// The layout of an operand or result along the innermost loop.
enum class InnerStep : std::uint8_t {
  one,      ///< one element is used for all
  dense,    ///< elements are adjacent
  strided,  ///< elements are any number of bytes apart
};
std::string_view name_of(InnerStep step);

/// A function that computes rows of a tile program.
///   at          its operands and then its results, at the first element of the first row
///   row_steps   for each of them, the bytes from one row to the next
///   steps       for each of them, the bytes between elements of a row; read if they are strided
///   scratch     if the program works on rows: TileCode::buffers and one more, `stride` bytes apart
///   parameters  the f32 of the program's parameters() in order, kParameterStep bytes apart
using NativeLoop = void (*)(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n,
                            const std::int64_t* steps, std::byte* scratch, std::int64_t stride, const void* parameters);
inline constexpr std::size_t kParameterStep = 16;

/// The form of a tile program that machine code assumes.
struct LoopForm {
  std::vector<InnerStep> steps;  ///< of operands, then of results
  auto operator<=>(const LoopForm&) const = default;
  std::string str() const;
};

/// A source of machine code for tile programs. Thread-safe.
class NativeSource {
 public:
  virtual ~NativeSource() = default;
  /// Returns the code for a form, valid while the source lives. Returns null if there is none; the tile program is then
  /// interpreted.
  virtual NativeLoop find(const TileCode& code, const LoopForm& form) = 0;
  /// Changes when new code has become available. A state without code then calls find() again.
  virtual std::uint64_t generation() const = 0;
};

/// Returns per instruction whether one element is used for a whole row.
std::vector<bool> single_values(const TileCode& code, const LoopForm& form);

/// Returns per instruction whether it is a constant of f32 that code reads when it is called: a scale, a zero point, or
/// another factor or summand. Programs that differ only in these share their code.
std::vector<bool> parameters(const TileCode& code);

/// Returns why a form of a tile program has no machine code; empty if it can have some.
std::string why_not_native(const TileCode& code, const LoopForm& form);

/// Returns a key that is equal for tile programs with equal code. It describes what they compute, but not the nodes
/// that it came from. If `numbers`, it includes the values of parameters.
std::string key_of(const TileCode& code, bool numbers = false);

/// A request to a code generator.
struct NativeRequest {
  std::string isa;   ///< name of an Isa, whose instructions and vector functions may be used
  std::string name;  ///< name of the function that the object defines
  const TileCode* loop = nullptr;
  LoopForm form;
  bool text = false;  ///< return LLVM IR instead of an object
};

struct NativePlan;

/// A request for the steps of a plan; fields as in NativeRequest.
struct NativePlanRequest {
  std::string isa, name;
  const NativePlan* plan = nullptr;
  bool text = false;
};

/// The entry point of a code generator in a separate module, exported as the symbol FRAZIL_NATIVE_MODULE. The symbol's
/// name has the version of generated code (code/code_version.cmake), so that only modules of the same sources are
/// found.
struct NativeModule {
  const char* version = nullptr;
  /// Returns a relocatable object for this machine, for the loader in exec/native/native_code.h. Thread-safe.
  Result<std::string> (*compile)(const NativeRequest& request) = nullptr;
  /// Does the same for the steps of a plan. The function is a NativeSteps.
  Result<std::string> (*compile_plan)(const NativePlanRequest& request) = nullptr;
};
}  // namespace frazil::code
