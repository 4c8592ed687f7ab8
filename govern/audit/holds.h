#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "govern/base/json.h"

namespace frazil::govern {

/// The legal holds of a log: events `hold` without a later `release` of the same case. A held entry is neither pruned
/// nor erased.
class Holds {
 public:
  /// Reads the holds in the first `size` entries of a log. Throws Code::bad_input for a damaged file.
  static Holds read(const std::string& folder, std::uint64_t size);

  /// Applies an event `hold` or `release`; ignores other kinds.
  void add(std::uint64_t index, const Json& event);
  /// Returns the event that holds a subject and thus prevents its erasure, or nullopt. A hold of a range or of the
  /// whole log holds every subject.
  std::optional<std::uint64_t> of_subject(std::string_view id) const;
  /// Returns the event that holds an entry with this subject (may be empty), or nullopt.
  std::optional<std::uint64_t> of_entry(std::uint64_t index, std::string_view subject) const;
  bool has_case(std::string_view name) const { return cases_.contains(name); }

 private:
  struct Hold {
    std::uint64_t event;
    std::string subject;             ///< empty: all
    std::uint64_t from = 0, to = 0;  ///< entries; `to` is excluded
  };
  std::map<std::string, Hold, std::less<>> cases_;
};

}  // namespace frazil::govern
