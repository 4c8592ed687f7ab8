#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/pipeline/formula.h"

// The syntax tree of a formula.
namespace frazil::server {

struct BinaryOperator {
  enum class Group : std::uint8_t { logic, comparison, arithmetic };
  std::string_view text;
  int level;  ///< precedence; higher levels bind more tightly
  Group group;
  std::string_view op;       ///< operator of the graph
  bool takes_texts = false;  ///< a comparison of texts, too
  bool inverted = false;     ///< the result of `op` is inverted
};
/// Returns the operators in the order in which the parser tries them.
const std::vector<BinaryOperator>& binary_operators();

struct Formula::Part {
  enum class Kind : std::uint8_t { number, text, parameter, reduction, size, negate, invert, binary };
  enum class Type : std::uint8_t { number, truth, text };
  Kind kind = Kind::number;
  Type type = Type::number;
  std::vector<std::shared_ptr<const Part>> operands = {};  ///< a parameter's default; the axis of a size
  double number = 0;
  std::string text = {};  ///< a text, or the name of a parameter or function
  std::string of = {};    ///< name of the tensor
  Slot slot = {};         ///< the tensor
  const BinaryOperator* by = nullptr;
};

/// Returns true for the name of a function from a tensor to a number.
bool is_reduction(std::string_view name);

}  // namespace frazil::server
