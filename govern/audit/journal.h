#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/file.h"

// The journal of a log: entries that are durable, and may not be in tiles yet. The file begins with the line
// "frazil-journal START", where START is the index of its first entry. A record is the length of an entry (u16,
// big-endian), the entry, and the first 8 bytes of its leaf hash.
namespace frazil::govern {

inline constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{1} << 30;

std::string journal_header(std::uint64_t start);
void append_record(std::string& journal, std::string_view entry);

struct Journal {
  std::uint64_t start = 0;
  std::vector<std::string_view> entries;  ///< they point into the text
  std::size_t bytes = 0;                  ///< of the header and of complete records
};
/// Reads the records up to the first that is incomplete. Throws Code::bad_input if the header is damaged.
Journal parse_journal(std::string_view text, std::string_view what);

/// Removes a last line without its end from the file `history` of a log. Throws Code::bad_input.
void cut_history(const std::string& folder);

/// Writes all bytes at the file's position. Returns false, with errno, if it could not.
bool write_bytes(const File& file, std::string_view bytes);

}  // namespace frazil::govern
