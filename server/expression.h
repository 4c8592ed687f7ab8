#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <frazil/array.h>

#include "server/request.h"

namespace frazil::server {

/// A number, a truth value as 0 or 1, or a text.
using Scalar = std::variant<double, std::string>;
std::string text_of(const Scalar& scalar);

/// A formula over tensors and the request's parameters, as pipelines have them for their branches:
///   max(easy.p) >= 0.9 and param("tier", "free") != "free"
/// Operators by rising precedence: or, and, not, == != < <= > >=, + -, * /, and -. Functions of a tensor: max, min,
/// mean, sum, argmax, count, any, all, item (its only element), size(x, AXIS). param(NAME, DEFAULT) is the request's
/// parameter. Immutable; threads may share it.
class Expression {
 public:
  using Find = std::function<std::optional<std::size_t>(std::string_view name)>;
  /// What a formula is computed from.
  struct Values {
    std::function<const api::Array&(std::size_t)> tensor;
    const std::map<std::string, Parameter>* parameters;
  };

  /// `find` tells the number of a tensor; a name is letters, digits, '_' and '.'. Throws std::invalid_argument that
  /// names the column for what is no formula, and for a name that is not known.
  static Expression parse(std::string_view text, const Find& find);

  /// Throws Refusal (bad_request) where a value does not fit: an empty tensor has no max, a text no sum.
  Scalar value(const Values& values) const;
  /// Whether it is neither 0 nor an empty text.
  bool truth(const Values& values) const;
  /// What it decides on: of a comparison the left side's value, of others their own.
  Scalar subject(const Values& values) const;
  const std::string& text() const { return text_; }

  struct Term;

 private:
  Expression(std::string text, std::shared_ptr<const Term> root) : text_(std::move(text)), root_(std::move(root)) {}
  std::string text_;
  std::shared_ptr<const Term> root_;
};

}  // namespace frazil::server
