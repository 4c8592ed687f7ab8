#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/build.h>

#include "server/pipeline/node.h"

namespace frazil::server {

/// A formula over tensors and request parameters, used for the branches of pipelines:
///   max(easy.p) >= 0.9 and param("tier", "free") != "free"
/// Operators by rising precedence: or, and, not, == != < <= > >=, + -, * /, unary -. Functions of a tensor: max, min,
/// mean, sum, argmax, count, any, all, item (the only element), size(x, AXIS). param(NAME, DEFAULT) is a parameter of
/// the request, of the default's type. Immutable; threads may share it.
class Formula {
 public:
  using Find = std::function<std::optional<Slot>(std::string_view name)>;
  /// `find` returns a tensor. A name consists of letters, digits, '_' and '.'. Throws std::invalid_argument, which
  /// names the column, for a syntax error, an unknown name, or a type that does not fit: the sum of a text.
  static Formula parse(std::string_view text, const Find& find);

  /// Returns the term of a tensor.
  using Term = std::function<api::Term(const Slot&)>;
  struct Decision {
    api::Term truth;    ///< bool[]: the value is neither 0 nor an empty text
    api::Term subject;  ///< f64[] or string[]: the left side of a comparison, or the value otherwise
  };
  /// Add the formula to a graph. The right side of `and` and `or` is evaluated only where it decides. Runs fail with
  /// Code::bad_input if a value does not fit: max of an empty tensor, a text for a parameter that is a number.
  Decision decision(api::Body& body, const Term& term) const;
  api::Term value(api::Body& body, const Term& term) const;  ///< f64[] or string[]
  /// Returns the tensors that it uses.
  const std::vector<Slot>& reads() const { return reads_; }
  /// Returns the parameters of the request that it uses.
  const std::vector<std::string>& parameters() const { return parameters_; }
  /// Returns true if its value is a text.
  bool is_text() const;
  const std::string& text() const { return text_; }

  /// A value of a request that the formula uses: a function of a tensor, or a parameter.
  struct Use {
    std::string function;  ///< "max"; empty: a parameter
    std::string of;        ///< name of the tensor or the parameter
    Slot slot = {};
  };
  /// Returns the uses. The extents of tensors are not among them.
  std::vector<Use> uses() const;

  struct Part;

 private:
  std::string text_;
  std::shared_ptr<const Part> root_;
  std::vector<Slot> reads_;
  std::vector<std::string> parameters_;
};

/// Returns the text of a formula's value, f64[] or string[].
std::string value_text(const api::Array& value);

/// Registers the operators of formulas. Call it once.
void register_formula_operators();

}  // namespace frazil::server
