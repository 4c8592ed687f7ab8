#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "govern/base/json.h"
#include "govern/policy/input.h"

namespace frazil::test {

/// The record that random expressions read: fields of every type, some of them optional.
const govern::Layout& random_layout();

/// Makes random expressions of the policy language that have types, and inputs for them. Equal seeds give equal
/// results.
class RandomExpression {
 public:
  explicit RandomExpression(std::uint64_t seed) : random_(seed) {}

  /// Returns an expression of type bool, int, double or string, of at most about `size` operators.
  std::string expression(int size);
  std::string boolean(int size);
  /// Returns an object for random_layout(); optional fields may be missing.
  govern::Json input();

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  /// Splits a size between two operands.
  std::pair<int, int> split(int size);

  std::string integer(int size);
  std::string real(int size);
  std::string text(int size);
  std::string integers(int size);  ///< list<int>
  std::string texts(int size);     ///< list<string>
  std::string map(int size);       ///< map<string, int>
  std::string test(int size);
  std::string comparison(int size);
  std::string membership(int size);
  std::string macro(int size);
  std::string choice(const std::string& yes, const std::string& no, int size);
  std::string with_variable(const std::string& list, const char* function, const std::string& type, int size);
  std::string quoted();
  std::string variable_of(const std::string& type);

  std::int64_t number();
  double real_number();

  struct Variable {
    std::string name, type;
  };
  std::mt19937_64 random_;
  std::vector<Variable> variables_;
};

}  // namespace frazil::test
