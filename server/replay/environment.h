#pragma once

#include <map>
#include <string>

namespace frazil::server {

/// The properties of a process that decide the bits of results, besides a definition and its inputs: the build, the
/// instruction set, the table of costs that chooses algorithms, settings. Empty: unknown.
struct Environment {
  std::map<std::string, std::string> parts;

  /// Returns the parts as canonical JSON, or "" if they are unknown.
  std::string text() const;
  /// Returns "sha256:..." of text(), or "".
  std::string digest() const;
};

/// Reads the result of Environment::text().
Environment environment_of(const std::string& text);
/// Returns the parts that differ: "isa: avx512 there, avx2 here; ...". Empty if there are none.
std::string differences(const Environment& there, const Environment& here);

}  // namespace frazil::server
