#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/json.h"

// Statements about artefacts: in-toto attestation framework, Statement v1.
namespace frazil::govern {

struct Subject {
  std::string name;
  std::string digest;  ///< SHA-256 in 64 hexadecimal digits
};

/// Returns a statement about subjects.
Json statement(const std::vector<Subject>& subjects, std::string_view predicate_type, Json predicate);

struct Statement {
  std::vector<Subject> subjects;  ///< at least one
  Json predicate;
};
/// Reads a statement from bytes whose signature was verified. Throws Code::bad_input, with `what`, for another type or
/// predicate type, and for a subject without a name or a SHA-256 digest.
Statement read_statement(std::string_view payload, std::string_view predicate_type, std::string_view what);

}  // namespace frazil::govern
