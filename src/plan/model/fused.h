#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value/error.h"
#include "ir/op/scalar.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// What an instruction does along a whole row, the last axis of the domain, instead of at each element.
enum class RowOp : std::uint8_t {
  none,  ///< a scalar primitive
  sum,   ///< folds give one element for the row; as kernel::Reduce, in its order
  mean,
  max,
  min,
  prod,
  sum_square,
  sum_abs,
  softmax,  ///< a row of a
  log_softmax,
  layer_norm,       ///< of a, with scale b; `scalar.real` is epsilon
  layer_norm_bias,  ///< and bias c
  standardize,      ///< layer_norm without a scale
};
std::string_view name_of(RowOp op);
constexpr bool is_fold(RowOp op) { return op != RowOp::none && op < RowOp::softmax; }

/// What one fused kernel can hold.
inline constexpr std::size_t kMaxFusedOperands = 16;
inline constexpr std::size_t kMaxFusedStores = 16;
inline constexpr std::size_t kMaxFusedInstructions = 128;

/// The node whose work an instruction does, by its stable id.
struct Origin {
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  bool exact = false;  ///< the instruction's result is that output, converted to its element type
  bool operator==(const Origin&) const = default;
};

/// One instruction: a scalar primitive at each element, or with `row` set an operation along each row of `scalar.a`,
/// `b`, `c` with results of `scalar.type`. `scalar.op == load` reads operand `scalar.operand`.
struct FusedIns {
  ScalarIns scalar{};
  RowOp row = RowOp::none;
  std::vector<Origin> origins;  ///< in the order in which nodes were fused
  bool is(ScalarOp op) const { return row == RowOp::none && scalar.op == op; }
};

/// The `operand` of a load that reads the producer's result.
inline constexpr std::uint32_t kProduced = ~0u;
/// The `into` of a producer whose result only the body reads.
inline constexpr std::uint32_t kPassing = ~0u;

/// How a tensor follows the domain: for each of its axes the axis of the domain, or kFixed where its index is always
/// 0. An axis that follows one, and whose extent at run time is 1, repeats.
struct Access {
  static constexpr std::uint16_t kFixed = 0xffff;
  std::vector<std::uint16_t> axes;
  bool operator==(const Access&) const = default;

  /// Right-aligned with the domain, as in broadcasting.
  static Access broadcast(std::size_t rank, std::size_t domain_rank);
  /// The leading axes of the domain.
  static Access leading(std::size_t rank);
};

struct FusedOperand {
  Elem elem = Elem::f32;
  Access access;  ///< of operands that the producer alone reads: empty
  bool operator==(const FusedOperand&) const = default;
};

/// Writes the result of instruction `value`, converted to `elem`.
struct FusedStore {
  std::uint32_t value = 0;
  Elem elem = Elem::f32;
  Access access;
  bool operator==(const FusedStore&) const = default;
};

/// A run of consecutive operands.
struct OperandRange {
  std::uint32_t first = 0, count = 0;
  std::uint32_t end() const { return first + count; }
  bool operator==(const OperandRange&) const = default;
};

struct DomainAxis {
  std::int64_t extent = -1;  ///< -1: known at run time only
  bool operator==(const DomainAxis&) const = default;
};

struct FusedKernel;

/// A product or convolution whose result the body reads, a tile at a time, as soon as the tile is final.
struct Producer {
  KernelParams params;    ///< MatMul, Gemm or Conv
  OperandRange operands;  ///< its own, in the order that the family has
  /// The store whose memory the kernel writes to; the body replaces what is there. Its access is the whole domain.
  std::uint32_t into = 0;
  /// Of a result that goes nowhere: with into == kPassing a tile of it is there only while the body reads it.
  Elem passed = Elem::i32;
  /// The product, what it does with rows, the slope: as many of them as it does.
  std::vector<Origin> origins;
  /// Makes operand 0 some rows at a time: its only store. Its operands are operands `prologue_operands` of the whole.
  std::shared_ptr<const FusedKernel> prologue;
  OperandRange prologue_operands;
};

/// What several nodes compute in one pass over a domain of elements: plain data without registers, slots or buffers,
/// so that equal layers of a model have equal kernels. Tier 0 lowers it to bytecode; a code generator takes it as it
/// is. Instructions run in order on each element or, where one of them works along rows, on whole rows of the last
/// axis.
struct FusedKernel {
  std::vector<DomainAxis> domain;
  std::vector<FusedOperand> operands;
  std::optional<Producer> producer;
  std::vector<FusedIns> body;
  std::vector<FusedStore> stores;

  /// True when an instruction works along rows.
  bool works_on_rows() const;
  /// "fused (d0, d1 = 64) { ... }", as parse_fused reads it.
  std::string str() const;
};

/// How many operands of the instruction are other instructions' results.
std::size_t operand_count(const FusedIns& ins);
/// Calls f(index of an instruction) for each of these.
template <class F>
void for_operands(const FusedIns& ins, F f) {
  const std::uint32_t all[] = {ins.scalar.a, ins.scalar.b, ins.scalar.c};
  for (const std::uint32_t i : std::span(all).first(operand_count(ins))) f(i);
}

/// The element type of what the producer makes.
Elem produced_elem(const FusedKernel& kernel);
/// The last instruction that reads the result of instruction `i`; `i` itself if none does.
std::uint32_t last_use(const FusedKernel& kernel, std::uint32_t i);
/// The instruction that loads operand `k`; the body's length if none does.
std::uint32_t load_of(const FusedKernel& kernel, std::uint32_t k);

/// Checks that the kernel can be run: indices, types, the one order of instructions, stores that cover the domain or
/// its rows, limits. Accepted means that no element outside of an operand is read or written when extents fit; a fault
/// is Code::internal and names the instruction, operand or store.
Status verify(const FusedKernel& kernel);

/// Reads what FusedKernel::str() prints; Code::bad_input with the line otherwise.
Result<FusedKernel> parse_fused(std::string_view text);

/// How a value of `rank` axes that a kernel computes follows a domain of `domain_rank` axes: rows lose the last axis.
Access access_of(std::size_t rank, std::size_t domain_rank);

/// The kernel cut off behind the instruction of `store`, with that as its first store: computes an inner value with the
/// bits that it has in the whole. A producer whose result cannot lie there gets a second store, the whole domain;
/// one whose result the instruction does not depend on is left out. Operands stay numbered as they are.
FusedKernel cut(const FusedKernel& kernel, FusedStore store);
/// The same for what the producer makes in its first `stages` origins, the whole domain: without the row that it
/// adds, or its slope, where these come later.
FusedKernel cut_producer(const FusedKernel& kernel, std::size_t stages);

/// Writes the body of a FusedKernel, each instruction once.
class BodyBuilder {
 public:
  std::uint32_t load(std::uint32_t operand, Elem stored);
  std::uint32_t constant(Elem type, double real, std::int64_t integer);
  std::uint32_t row(RowOp op, Elem type, std::uint32_t a, std::uint32_t b, std::uint32_t c, double real,
                    const Origin& origin);
  /// A scalar primitive on two instructions of the same type, which is its own.
  std::uint32_t scalar(ScalarOp op, std::uint32_t a, std::uint32_t b, const Origin& origin);
  std::uint32_t cast(std::uint32_t value, Elem type);
  /// The value as a store of type `elem` and a load would give it.
  std::uint32_t rounded(std::uint32_t value, Elem elem);
  /// `tape` with its loads replaced by instructions of this body; the instruction of its result, whose origin is exact.
  std::uint32_t inline_tape(const ScalarTape& tape, const std::vector<std::uint32_t>& operands, Origin origin);
  std::vector<FusedIns> finish() && { return std::move(body_); }

 private:
  std::uint32_t add(const ScalarIns& scalar, RowOp row, const Origin* origin);
  void add_origin(std::uint32_t instruction, const Origin& origin);
  bool holds(std::uint32_t value, Elem elem) const;
  std::vector<FusedIns> body_;
  std::map<std::uint32_t, Elem> stored_;  ///< of loads
  std::map<std::pair<ScalarIns, RowOp>, std::uint32_t> known_;
};

}  // namespace frazil
