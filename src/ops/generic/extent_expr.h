#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/attr.h"
#include "ir/infer/infer.h"
#include "ir/op/opaque.h"

// Extents as attributes, for operators whose maps are attributes. They are expressions over extents and elements of a
// node's operands.
//   d0_2                          extent 2 of operand 0
//   v1_0                          element 0 of the integer operand 1
//   floordiv(d0_2 - 3, 2) + 1     as Scope::str writes expressions
namespace frazil::ops {

/// The maximal length of the text of one expression, in characters.
inline constexpr std::size_t kMaxExtentText = 4096;

/// An extent or an element of an operand.
struct OperandRef {
  bool element = false;  ///< an element of an integer operand, else an extent
  std::size_t operand = 0;
  std::int64_t index = 0;
};

/// An expression over the operands of a node. Immutable.
class ExtentExpr {
 public:
  ExtentExpr(std::int64_t value = 0);
  explicit ExtentExpr(const OperandRef& ref);

  /// Parses a text of at most kMaxExtentText characters.
  static Result<ExtentExpr> parse(std::string_view text);
  /// Returns d, with each symbol replaced by what `ref_of` returns for it. Returns nullopt if `ref_of` does so for a
  /// symbol, or if the text is longer than kMaxExtentText.
  static std::optional<ExtentExpr> of(const Scope& scope, Dim d,
                                      const std::function<std::optional<OperandRef>(SymbolId)>& ref_of);

  const std::string& text() const { return text_; }

  /// Returns the value for the operands of a node. An error names the node and `what`, the attribute.
  Result<Dim> infer(InferCx& cx, std::string_view what) const;
  /// Returns the value at run time. An error names `what`, the attribute.
  Result<std::int64_t> eval(OpaqueCall& call, std::string_view what) const;

 private:
  std::string text_;
  std::vector<OperandRef> refs_;  ///< by register of the program
  DimProgram program_;
  std::uint32_t result_ = 0;  ///< a register
};

/// An equality that must hold when the node runs: "d0_1 == d1_0: inner extents".
struct ExtentCheck {
  ExtentExpr a, b;
  std::string what;

  static Result<ExtentCheck> parse(std::string_view text);
  std::string text() const { return a.text() + " == " + b.text() + ": " + what; }
};

/// Adds the equalities to the constraints of the node.
Status require(InferCx& cx, const std::vector<ExtentCheck>& checks);

}  // namespace frazil::ops
