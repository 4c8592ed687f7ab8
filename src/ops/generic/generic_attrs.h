#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/text.h"
#include "ir/graph/attr.h"
#include "ir/op/space.h"
#include "ops/generic/extent_expr.h"

// The attributes of operators whose maps are attributes: values that are parsed once, when a node gets them.
namespace frazil::ops {

/// An enumerator as an attribute. Its text is its name; kNames has the names in the order of E.
template <class E, const auto& kNames>
struct NamedEnum {
  E value{};

  NamedEnum(E enumerator = {}) : value(enumerator) {}
  static Result<NamedEnum> parse(std::string_view text) {
    const auto at = std::ranges::find(kNames, text);
    if (at != kNames.end()) return NamedEnum(static_cast<E>(at - kNames.begin()));
    return fail(Code::bad_model, "'{}' is none of {}", printable(text, 60), fmt::join(kNames, ", "));
  }
  std::string_view name() const { return kNames[static_cast<std::size_t>(value)]; }
  std::string text() const { return std::string(name()); }
};

/// An axis of an iteration space: "i", whose extent operands give, or "j = d0_1 - 2".
struct AxisDecl {
  std::string name;
  std::optional<ExtentExpr> extent;

  static Result<AxisDecl> parse(std::string_view text);
  std::string text() const { return extent ? name + " = " + extent->text() : name; }
};

/// A term of an index: "i", "2*i" or "{d0_1}*i"; without an axis a part of the offset: "3" or "{d0_1}".
struct IndexTerm {
  bool negative = false;
  ExtentExpr factor = 1;
  std::string axis;
};

/// An affine index over named axes: "2*i + j - 1".
struct IndexExpr {
  std::vector<IndexTerm> terms;

  static Result<IndexExpr> parse(std::string_view text);
  std::string text() const;
};

/// The indices of an operand, one per axis: "i + 1, k". `indices` is absent if the operand is not read: "-".
struct ReadExpr {
  std::optional<std::vector<IndexExpr>> indices;

  static Result<ReadExpr> parse(std::string_view text);
  std::string text() const;
};

/// The axes of a result: "i, k"; "_" is a kept extent of 1.
struct AxisNames {
  std::vector<std::string> names;

  static Result<AxisNames> parse(std::string_view text);
  std::string text() const { return fmt::format("{}", fmt::join(names, ", ")); }
};

/// Straight-line code over scalars, an instruction per string: 'f32 load 0', 'f32 mul %0 %0'.
struct ScalarBody {
  ScalarTape tape;

  static Result<ScalarBody> parse(const Strings& lines);
  Strings text() const;
};

}  // namespace frazil::ops
