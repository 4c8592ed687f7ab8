#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "govern/policy/syntax.h"
#include "govern/policy/type.h"

namespace frazil::govern {

/// Operations of nodes. In the comments, a, b and c are the operands of the node: nodes, unless they are called
/// something else.
enum class Op : std::uint8_t {
  constant,    ///< the constant a
  slot,        ///< the input's slot a
  variable,    ///< the macro's variable a
  select,      ///< field b of the record a
  key,         ///< the entry of the map a with the key that is constant b
  index_list,  ///< element b of the list a
  index_map,   ///< the entry of the map a with the key b
  has_slot,    ///< whether slot a is present; error if slot b, the record around it, is absent
  has_select,  ///< whether field b of the record a is present
  has_key,     ///< whether the map a has the key that is constant b
  invert,
  negate,
  both,    ///< a && b
  either,  ///< a || b
  choose,  ///< a ? b : c
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  in_list,
  in_map,
  in_set,     ///< whether the text a is in the sorted list that is constant b
  make_list,  ///< of b nodes from arguments[a]
  make_map,   ///< of b pairs of nodes from arguments[a]
  all,        ///< the list or map a, the condition b, the variable c
  exists,
  exists_one,
  size,
  starts_with,
  ends_with,
  contains,
  matches,  ///< the text a, the pattern b
  to_integer,
  to_real,
  to_text,
};

struct PolicyNode {
  Op op = Op::constant;
  ValueKind kind = ValueKind::absent;  ///< of the result
  std::uint32_t a = 0, b = 0, c = 0;
  Place at;
};

/// The most macros inside of each other.
inline constexpr std::uint32_t kMaxVariables = 8;

/// A compiled regular expression.
class Pattern {
 public:
  /// Throws Code::bad_input with the reason for a text that is not a pattern of RE2, and Code::unsupported in a build
  /// without RE2.
  explicit Pattern(std::string_view text);
  ~Pattern();
  /// Returns whether a part of the text matches, in time linear in the text's size.
  bool matches(std::string_view text) const;
  /// Returns the number of instructions, a measure of the cost of a byte.
  std::uint32_t size() const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// The expressions of a policy in one table. Immutable once they are compiled; threads may share it.
struct PolicyProgram {
  std::vector<PolicyNode> nodes;
  std::vector<Value> constants;
  std::vector<std::uint32_t> arguments;
  std::vector<std::unique_ptr<Pattern>> patterns;
  std::deque<std::string> texts;            ///< memory of constants
  std::deque<std::vector<Value>> elements;  ///< memory of constants
  std::deque<ValueType> types;              ///< memory of element types
  std::map<std::string, std::uint32_t, std::less<>> pattern_index;
  std::map<const Value*, std::uint32_t> sorted_index;
  double fold_budget = 20'000'000;        ///< cost of constant expressions that may still be evaluated
  std::size_t keep_budget = 64ull << 20;  ///< bytes that constants may still take

  std::uint32_t add(const PolicyNode& node);
  std::uint32_t add_constant(const Value& value);
  /// Copies a value, with all texts and elements, into the memory of constants. Throws Code::limit beyond the budget.
  Value keep(const Value& value);
  /// Returns the constant that has the elements of a list of texts in ascending order.
  std::uint32_t sorted(const Value& list);
  /// Returns the index of a compiled pattern. Throws as Pattern's constructor, and Code::limit beyond 100 patterns.
  std::uint32_t pattern(std::string_view text);
};

}  // namespace frazil::govern
