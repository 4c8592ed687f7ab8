#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/value/elem.h"
#include "base/value/error.h"
#include "base/value/scalar_op.h"

namespace frazil::jit {

/// The vector functions of one instruction set, as calls in generated code. They are compiled from the sources of the
/// tile kernels. They take and return values through memory, which disappears when they are inlined.
class Lanes {
 public:
  /// Loads the functions for `module`, whose own functions get the library's instruction set. Fails with
  /// Code::unsupported for an instruction set that this build has no functions for.
  static Result<std::unique_ptr<Lanes>> make(llvm::Module& module, std::string_view isa);

  /// Returns the number of lanes of every vector.
  unsigned width() const { return width_; }
  llvm::Type* scalar(Elem elem) const;
  llvm::Type* vector(Elem elem) const { return llvm::FixedVectorType::get(scalar(elem), width_); }
  /// Gives `function` the target attributes of the library's functions.
  void adopt(llvm::Function& function) const;

  /// Calls a primitive on operands of type `elem`, all of which are vectors, or all scalars.
  llvm::Value* apply(llvm::IRBuilder<>& b, ScalarOp op, Elem elem, Elem result,
                     std::initializer_list<llvm::Value*> args);
  llvm::Value* cast(llvm::IRBuilder<>& b, Elem from, Elem to, llvm::Value* x);
  /// Returns x itself if the types are equal, else its cast.
  llvm::Value* converted(llvm::IRBuilder<>& b, Elem from, Elem to, llvm::Value* x) {
    return from == to ? x : cast(b, from, to, x);
  }
  /// Divides f32 by one divisor, given as a vector.
  llvm::Value* quotient(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* divisor);
  /// Quantises one or kGroup vectors of f32 to `to`, u8 or i8. Scale and zero point are given as vectors. Returns an
  /// array of vectors of f32, or with `bytes` one vector of `to`.
  llvm::Value* quantised(llvm::IRBuilder<>& b, Elem to, bool bytes, llvm::ArrayRef<llvm::Value*> x, llvm::Value* scale,
                         llvm::Value* zero);
  static constexpr unsigned kGroup = 4;
  /// Returns x * y + sum of vectors of f32, rounded as in the kernels of the instruction set: once if it has FMA.
  llvm::Value* multiply_add(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* sum) const;
  /// Folds the row of `n` elements at `from`. `name` is that of frazil::name_of(RowOp).
  llvm::Value* fold(llvm::IRBuilder<>& b, std::string_view name, Elem elem, llvm::Value* from, llvm::Value* n);

  /// Links the bodies of the functions that were called. Nothing may be added to the module afterwards.
  Status link();

 private:
  Lanes(llvm::Module& module, std::string_view isa) : module_(module), isa_(isa) {}
  llvm::Value* call(llvm::IRBuilder<>& b, const std::string& name, llvm::Type* result,
                    std::initializer_list<llvm::Value*> args);
  llvm::AllocaInst* space(llvm::IRBuilder<>& b, llvm::Type* type) const;

  llvm::Module& module_;
  std::string isa_;
  unsigned width_ = 4;
  std::vector<std::unique_ptr<llvm::Module>> library_;
  llvm::AttributeList target_;
};

}  // namespace frazil::jit
