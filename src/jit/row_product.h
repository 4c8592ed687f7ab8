#pragma once

#include <cstdint>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "code/native/native_plan.h"
#include "jit/lanes.h"
#include "kernel/contract/gemm_row.h"

namespace frazil::jit {

/// The addresses of the operands of a product of one row, as values of generated code.
struct RowProductPlace {
  llvm::Value *a = nullptr, *b = nullptr, *c = nullptr;
  llvm::Value *bias = nullptr, *addend = nullptr;  ///< null: none
};

/// The emitter of a product of one row, tile of columns by tile. It writes at the builder's position, which moves past
/// it.
class RowProduct {
 public:
  RowProduct(Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativeProduct& product)
      : lanes_(lanes),
        b_(builder),
        product_(product),
        chains_(kernel::row_chains(product.n, static_cast<int>(lanes.width()))) {}
  /// `again`: the code is reached repeatedly, so that the part of B that was read last may be in the cache.
  void write(const RowProductPlace& place, bool again);

 private:
  /// Adjacent vectors of columns, per chain.
  using Sums = std::vector<std::vector<llvm::Value*>>;

  void in_turns(llvm::function_ref<void()> one, llvm::function_ref<void()> other);
  void tile(std::int64_t column, unsigned vectors);
  Sums sums(std::int64_t column, unsigned vectors);
  void step(Sums& sums, std::size_t chain, llvm::Value* i, std::int64_t column);
  llvm::Value* finished(llvm::Value* sum, std::int64_t column);
  llvm::Value* leaky_relu(llvm::Value* x);
  llvm::Value* load(llvm::Value* from, std::int64_t column);
  llvm::Value* mask(std::int64_t column);
  llvm::Value* element(llvm::Value* base, llvm::Value* index) { return b_.CreateGEP(b_.getFloatTy(), base, index); }
  llvm::Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const code::NativeProduct& product_;
  const int chains_;
  RowProductPlace place_;
};

}  // namespace frazil::jit
