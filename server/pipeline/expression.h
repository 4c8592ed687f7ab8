#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <frazil/array.h>

#include "server/request/request.h"

namespace frazil::server {

/// A number, a boolean as 0 or 1, or a text.
using Scalar = std::variant<double, std::string>;
std::string text_of(const Scalar& scalar);

/// A formula over tensors and request parameters, used for the branches of pipelines:
///   max(easy.p) >= 0.9 and param("tier", "free") != "free"
/// Operators by rising precedence: or, and, not, == != < <= > >=, + -, * /, unary -. Functions of a tensor: max, min,
/// mean, sum, argmax, count, any, all, item (the only element), size(x, AXIS). param(NAME, DEFAULT) is a parameter of
/// the request. Immutable; threads may share it.
class Expression {
 public:
  using Find = std::function<std::optional<std::size_t>(std::string_view name)>;
  /// The tensors and parameters that a formula is evaluated on.
  struct Values {
    std::function<const api::Array&(std::size_t)> tensor;
    const std::map<std::string, Parameter>* parameters;
  };

  /// `find` returns the number of a tensor. A name consists of letters, digits, '_' and '.'. Throws
  /// std::invalid_argument, which names the column, for a syntax error or an unknown name.
  static Expression parse(std::string_view text, const Find& find);

  /// Throws Refusal (bad_request) if a value does not fit: max of an empty tensor, sum of a text.
  Scalar value(const Values& values) const;
  /// Returns true if the value is neither 0 nor an empty text.
  bool is_true_for(const Values& values) const;
  /// Returns the value that a decision is based on: the left side of a comparison, or the formula's value otherwise.
  Scalar subject(const Values& values) const;
  const std::string& text() const { return text_; }

  struct Term;

 private:
  Expression(std::string text, std::shared_ptr<const Term> root) : text_(std::move(text)), root_(std::move(root)) {}
  std::string text_;
  std::shared_ptr<const Term> root_;
};

}  // namespace frazil::server
