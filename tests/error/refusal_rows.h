#pragma once

#include "error/refusals.h"

#define LOW "-9223372036854775808"
#define HIGH "9223372036854775807"

// Tables of calls that work with good attributes or operands and are refused with bad ones.
namespace frazil::test {

struct Bad {
  std::string_view what;     ///< attributes or bindings, in place of the good ones
  std::string_view reasons;  ///< one of these parts must be in every message
  bool or_limit = false;     ///< so large that a limit may speak first
};

/// Operands of a call.
struct IndexRow {
  Call call;
  std::vector<Bad> bad;
};

inline void expect_bad_indices(const IndexRow& row) {
  for (const Delivery& how : kDeliveries) {
    SCOPED_TRACE(fmt::format("{}: good {}, {}", row.call.text, row.call.index, how.str()));
    expect_served(attempt(row.call, how));
  }
  for (const Bad& bad : row.bad) {
    for (const Delivery& how : kDeliveries) {
      Call call = row.call;
      call.index = bad.what;
      SCOPED_TRACE(fmt::format("{}: {}, {}", call.text, call.index, how.str()));
      expect_refused(attempt(call, how), bad.reasons, bad.or_limit);
    }
  }
}

/// "Uniform" of "frazil::Uniform(%s)".
inline std::string_view op_in(std::string_view call) {
  const std::string_view name = call.substr(0, call.find('('));
  const std::size_t domain = name.rfind("::");
  return domain == name.npos ? name : name.substr(domain + 2);
}

/// A name for a parameterised test.
inline std::string name_of_row(std::string_view call, std::size_t index) {
  std::string name(call.substr(0, call.find('(')));
  std::erase_if(name, [](char c) { return c == ':' || c == '.'; });
  return fmt::format("{}_{}", name, index);
}

}  // namespace frazil::test
