#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "govern/base/file.h"

// Blobs of requests, many in one file, so that they are synced together with the entries that name them. The file
// "payloads/START" has those of entries from index START (20 decimal digits) to the start of the next file. It begins
// with the line "frazil-payloads START". A record is the length of a payload (u32, big-endian), its SHA-256 and its
// bytes.
namespace frazil::govern {

inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{256} << 20;

/// Writes the payloads of one log. Not thread-safe.
class PayloadWriter {
 public:
  explicit PayloadWriter(std::string folder) : folder_(std::move(folder)) {}
  /// Appends payloads of entries from index `entry` on, and syncs them. Throws Code::bad_input; then none was added,
  /// and the call may be repeated.
  void write(std::uint64_t entry, std::span<const std::string> payloads);
  /// Removes what the last write() added, as its entries could not be written.
  void undo();
  /// Makes the next write() begin a new file.
  void begin_file() { file_ = File(); }

 private:
  void open(std::uint64_t entry);

  std::string folder_, path_;
  File file_;
  std::uint64_t bytes_ = 0, before_ = 0;  ///< length of the file now, and before the last write
};

/// Finds payloads of a log. Remembers where they are. Not thread-safe.
class PayloadIndex {
 public:
  explicit PayloadIndex(std::string folder) : folder_(std::move(folder)) {}
  /// Returns the payload of an entry. `digest`: "sha256:...". Throws Code::bad_input if it is missing or damaged.
  std::string get(std::uint64_t entry, const std::string& digest);

 private:
  using Places = std::unordered_map<std::string, std::uint64_t>;  ///< digest: where its record begins

  std::string folder_;
  std::map<std::string, Places> files_;  ///< by path
};

/// Returns one payload, as PayloadIndex::get() does.
std::string get_payload(const std::string& folder, std::uint64_t entry, const std::string& digest);
/// Calls `found` with each payload's digest as it was written, and its bytes. Ignores an incomplete record at the end
/// of a file. Throws Code::bad_input for a damaged file.
void read_payloads(const std::string& folder,
                   const std::function<void(std::string_view digest, std::string_view bytes)>& found);
/// Removes payloads from files that begin before entry `end`. `drops` selects them by their digest. These files must
/// not be written meanwhile. Throws Code::bad_input.
void remove_payloads(const std::string& folder, std::uint64_t end,
                     const std::function<bool(const std::string& digest)>& drops);

}  // namespace frazil::govern
