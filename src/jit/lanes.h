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

/// The vector functions of one instruction set, made from the sources of the tile kernels, as calls in generated code.
/// They take and return values through memory, which goes away when they are inlined.
class Lanes {
 public:
  /// Into `module`, whose functions get the instruction set of the library's. Code::unsupported for an instruction set
  /// that this build has no functions for.
  static Result<std::unique_ptr<Lanes>> make(llvm::Module& module, std::string_view isa);

  /// Lanes of every vector.
  unsigned width() const { return width_; }
  llvm::Type* scalar(Elem elem) const;
  llvm::Type* vector(Elem elem) const { return llvm::FixedVectorType::get(scalar(elem), width_); }
  /// Gives `function` what the library's functions are compiled for.
  void adopt(llvm::Function& function) const;

  /// A primitive of operands of type `elem`, of which all are vectors or all are scalars.
  llvm::Value* apply(llvm::IRBuilder<>& b, ScalarOp op, Elem elem, Elem result,
                     std::initializer_list<llvm::Value*> args);
  llvm::Value* cast(llvm::IRBuilder<>& b, Elem from, Elem to, llvm::Value* x);
  /// f32 divided by one divisor, given as a vector.
  llvm::Value* quotient(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* divisor);
  /// One or kGroup vectors of f32, quantised to `to`, u8 or i8, with a scale and a zero point that are given as
  /// vectors: as an array of vectors of f32, or with `bytes` as one vector of `to`.
  llvm::Value* quantised(llvm::IRBuilder<>& b, Elem to, bool bytes, llvm::ArrayRef<llvm::Value*> x, llvm::Value* scale,
                         llvm::Value* zero);
  static constexpr unsigned kGroup = 4;
  /// x * y + sum of vectors of f32, rounded as kernels for the instruction set do: once where it has such instructions.
  llvm::Value* multiply_add(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* sum) const;
  /// A fold of the row of `n` elements at `from`; `name` as frazil::name_of(RowOp).
  llvm::Value* fold(llvm::IRBuilder<>& b, std::string_view name, Elem elem, llvm::Value* from, llvm::Value* n);

  /// Brings in the bodies of what was called. The module must not be added to afterwards.
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
