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

/// An operation along a whole row, the last axis of the domain, rather than at each element.
enum class RowOp : std::uint8_t {
  none,  ///< a scalar primitive
  sum,   ///< folds, in the order of kernel::Reduce: one element per row
  mean,
  max,
  min,
  prod,
  sum_square,
  sum_abs,
  softmax,  ///< the softmax of row a
  log_softmax,
  layer_norm,       ///< the norm of row a, with scale b; `scalar.real` is epsilon
  layer_norm_bias,  ///< layer_norm with bias c
  standardize,      ///< layer_norm without a scale
};
std::string_view name_of(RowOp op);
constexpr bool is_fold(RowOp op) { return op != RowOp::none && op < RowOp::softmax; }

/// The limits of one fused kernel.
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

/// One instruction: a scalar primitive at each element or, if `row` is set, an operation along each row. A row
/// operation reads rows `scalar.a`, `b` and `c`, and its results have `scalar.type`. If `scalar.op` is load, the
/// instruction reads operand `scalar.operand`.
struct FusedIns {
  ScalarIns scalar{};
  RowOp row = RowOp::none;
  std::vector<Origin> origins;  ///< in the order in which nodes were fused
  bool is(ScalarOp op) const { return row == RowOp::none && scalar.op == op; }
};

/// The `operand` of a load that reads the producer's result.
inline constexpr std::uint32_t kProduced = ~0u;
/// The `into` of a producer whose result only the body reads.
inline constexpr std::uint32_t kNotStored = ~0u;

/// The mapping of a tensor's axes to axes of the domain. An axis with kFixed has index 0 everywhere. A mapped axis
/// whose extent is 1 at run time is broadcast.
struct Access {
  static constexpr std::uint16_t kFixed = 0xffff;
  std::vector<std::uint16_t> axes;
  bool operator==(const Access&) const = default;

  /// Aligns the axes with the last axes of the domain, as in broadcasting.
  static Access broadcast(std::size_t rank, std::size_t domain_rank);
  /// Maps to the leading axes of the domain.
  static Access leading(std::size_t rank);
};

struct FusedOperand {
  Elem elem = Elem::f32;
  Access access;  ///< empty for operands that only the producer reads
  bool operator==(const FusedOperand&) const = default;
};

/// Writes the result of instruction `value`, converted to `elem`.
struct FusedStore {
  std::uint32_t value = 0;
  Elem elem = Elem::f32;
  Access access;
  bool operator==(const FusedStore&) const = default;
};

/// A range of consecutive operands.
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

/// A product or convolution whose result the body reads tile by tile, as soon as each tile is final.
struct Producer {
  KernelParams params;    ///< MatMul, Gemm or Conv
  OperandRange operands;  ///< the producer's own, in the order that the kernel family expects
  /// The store whose memory the kernel writes to; the body overwrites what is there. Its access is the whole domain.
  /// kNotStored if the result is not stored.
  std::uint32_t into = 0;
  /// The element type of the result if `into` is kNotStored. Each tile then exists only while the body reads it.
  Elem unstored_elem = Elem::i32;
  /// The nodes that the kernel computes, in order: the product, then those for rows, addend and slope, as far as there
  /// are any.
  std::vector<Origin> origins;
  /// Makes operand 0, some rows at a time, as its only store. It reads operands `prologue_operands` of the whole
  /// kernel.
  std::shared_ptr<const FusedKernel> prologue;
  OperandRange prologue_operands;
};

/// A kernel that computes several nodes in one pass over a domain of elements. It is plain data without registers,
/// slots or buffers, so that equal layers of a model have equal kernels.
/// Tier 0 lowers it to bytecode; a code generator takes it as it is. Instructions run in order on each element. If one
/// of them works along rows, they run on whole rows of the last axis.
struct FusedKernel {
  std::vector<DomainAxis> domain;
  std::vector<FusedOperand> operands;
  std::optional<Producer> producer;
  std::vector<FusedIns> body;
  std::vector<FusedStore> stores;

  /// Returns true if an instruction works along rows.
  bool works_on_rows() const;
  /// Returns text such as "fused (d0, d1 = 64) { ... }", which parse_fused() reads.
  std::string str() const;
};

/// Returns how many operands of the instruction are results of other instructions.
std::size_t operand_count(const FusedIns& ins);
/// Calls f(index) for each of these instructions.
template <class F>
void for_operands(const FusedIns& ins, F f) {
  const std::uint32_t all[] = {ins.scalar.a, ins.scalar.b, ins.scalar.c};
  for (const std::uint32_t i : std::span(all).first(operand_count(ins))) f(i);
}

/// Returns the element type of the producer's result.
Elem produced_elem(const FusedKernel& kernel);
/// Returns the last instruction that reads the result of instruction `i`; `i` itself if none does.
std::uint32_t last_use(const FusedKernel& kernel, std::uint32_t i);
/// Returns the instruction that loads operand `k`; the body's length if none does.
std::uint32_t load_of(const FusedKernel& kernel, std::uint32_t k);

/// Checks that the kernel can be run: indices, types, limits, an order in which instructions read only earlier ones,
/// and stores that cover the domain or its rows.
/// A run of an accepted kernel reads and writes only elements inside its operands, provided that extents fit. A fault
/// is Code::internal and names the instruction, operand or store.
Status verify(const FusedKernel& kernel);

/// Reads the text that FusedKernel::str() prints. Returns Code::bad_input with the line for other text.
Result<FusedKernel> parse_fused(std::string_view text);

/// Returns how a value of `rank` axes that a kernel computes follows a domain of `domain_rank` axes. A value of lower
/// rank follows the leading axes.
Access access_of(std::size_t rank, std::size_t domain_rank);

/// Returns the kernel cut off after the instruction of `store`, which becomes its first store. It computes an inner
/// value with the same bits as the whole kernel.
/// If the producer's result cannot lie in that store, the kernel gets a second store for the result, over the whole
/// domain. A producer on which the instruction does not depend is left out. Operands keep their numbers.
FusedKernel cut(const FusedKernel& kernel, FusedStore store);
/// Returns a kernel that stores the producer's result after its first `stages` origins, over the whole domain. Rows,
/// addends and slopes of later origins are left out.
FusedKernel cut_producer(const FusedKernel& kernel, std::size_t stages);

/// Writes the body of a FusedKernel. Equal instructions are written once.
class BodyBuilder {
 public:
  std::uint32_t load(std::uint32_t operand, Elem stored);
  std::uint32_t constant(Elem type, double real, std::int64_t integer);
  std::uint32_t row(RowOp op, Elem type, std::uint32_t a, std::uint32_t b, std::uint32_t c, double real,
                    const Origin& origin);
  /// Adds a scalar primitive on two instructions of the same type, which is also the type of the result.
  std::uint32_t scalar(ScalarOp op, std::uint32_t a, std::uint32_t b, const Origin& origin);
  std::uint32_t cast(std::uint32_t value, Elem type);
  /// Returns the value as it is after a store of type `elem` and a load.
  std::uint32_t rounded(std::uint32_t value, Elem elem);
  /// Adds `tape` with its loads replaced by instructions of this body. Returns the instruction of its result, whose
  /// origin is exact.
  std::uint32_t inline_tape(const ScalarTape& tape, const std::vector<std::uint32_t>& operands, Origin origin);
  std::vector<FusedIns> finish() && { return std::move(body_); }

 private:
  std::uint32_t add(const ScalarIns& scalar, RowOp row, const Origin* origin);
  void add_origin(std::uint32_t instruction, const Origin& origin);
  bool holds(std::uint32_t value, Elem elem) const;
  std::vector<FusedIns> body_;
  std::map<std::uint32_t, Elem> stored_;  ///< per load: the operand's type
  std::map<std::pair<ScalarIns, RowOp>, std::uint32_t> known_;
};

}  // namespace frazil
