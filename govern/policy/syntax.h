#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "govern/base/json.h"

// The syntax tree of a policy.
namespace frazil::govern {

/// A place in the text of a policy. Both numbers begin at 1; a column counts bytes.
struct Place {
  std::uint32_t line = 1, column = 1;
};

enum class Form : std::uint8_t {
  boolean,
  integer,
  real,
  text,
  name,    ///< `text`
  select,  ///< parts[0].text
  index,   ///< parts[0][parts[1]]
  call,    ///< text(parts...)
  method,  ///< parts[0].text(parts[1]...)
  unary,   ///< the operator in `text`
  binary,  ///< the operator in `text`
  choice,  ///< parts[0] ? parts[1] : parts[2]
  list,    ///< [parts...]
  map,     ///< {parts[0]: parts[1], ...}
};

struct Expr {
  Form form = Form::boolean;
  Place at;
  std::uint32_t depth = 1;
  std::string text;
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
  };
  std::vector<Expr> parts;
};

/// Returns a text that is equal for expressions of equal trees only.
std::string text_of(const Expr& expr);

struct SyntaxName {
  std::string text;
  Place at;
};

struct ConstantSyntax {
  SyntaxName name;
  Expr value;
};

struct RuleSyntax {
  SyntaxName name;
  bool permits = false, shadow = false;
  std::vector<SyntaxName> hooks;
  std::optional<Expr> condition;
  std::string reason;
};

/// The expected result of a case.
enum class Expectation : std::uint8_t { permit, deny, error };

struct CaseSyntax {
  std::string name;
  Place at;
  SyntaxName hook;
  Json input;
  Expectation expectation = Expectation::permit;
  std::optional<SyntaxName> rule;  ///< `by RULE`
};

struct PolicySyntax {
  std::string name;
  std::int64_t serial = 0;
  std::optional<SyntaxName> until;
  std::vector<ConstantSyntax> constants;
  std::vector<RuleSyntax> rules;
  std::vector<CaseSyntax> cases;
};

}  // namespace frazil::govern
