#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace frazil::govern {

/// A selection of entries. Empty members select all.
struct ReadFilter {
  std::vector<std::string> kinds;
  std::string tenant;
  std::optional<std::int64_t> from, to;  ///< milliseconds since 1970; `to` is excluded
};

/// Calls `found` with the index and the text of each entry that the filter selects, in order. Covers the entries of the
/// checkpoint that were not pruned; does not verify them. Throws Code::bad_input for a damaged file.
void read_log(const std::string& folder, const ReadFilter& filter,
              const std::function<void(std::uint64_t index, const std::string& entry)>& found);

}  // namespace frazil::govern
