#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govern/audit/tree.h"

// The files of a tiled log (C2SP tlog-tiles): hashes of the tree and bundles of entries.
namespace frazil::govern {

inline constexpr unsigned kTileWidth = 256;
inline constexpr std::size_t kMaxEntryBytes = 65535;
inline constexpr std::uint64_t kMaxTileBytes = kTileWidth * std::uint64_t{kMaxEntryBytes + 2};

/// The folders of files that have an index and a width below "tile/".
enum class TileKind : std::uint8_t {
  hashes,   ///< "tile/L/N": hashes at a level
  entries,  ///< "tile/entries/N": a bundle
  kept,     ///< "tile/kept/N": the entries that remain of a pruned bundle; see format_kept()
};

/// The name of a tile.
struct TileName {
  TileKind kind = TileKind::hashes;
  unsigned level = 0;
  std::uint64_t index = 0;
  unsigned width = kTileWidth;

  /// Returns the path below the log's folder: "tile/0/x001/234.p/17".
  std::string path() const;
  /// Returns the name that a path has, or nullopt for another path.
  static std::optional<TileName> parse(std::string_view path);
};

/// Returns the width of the tile with this index at a level of a tree of `size` leaves: 256, or less for the last one.
unsigned tile_width(std::uint64_t size, unsigned level, std::uint64_t index);

/// Appends an entry in the form of a bundle: a big-endian u16 length, and the bytes.
void append_entry(std::string& bundle, std::string_view entry);
/// Returns the entries of a bundle, which point into it. Throws Code::bad_input unless it has exactly `count`.
std::vector<std::string_view> parse_bundle(std::string_view bundle, std::size_t count, std::string_view what);

/// Entries that remain of a bundle, by their position in it.
using KeptEntries = std::map<unsigned, std::string_view>;
/// Returns the form of "tile/kept/N": for each entry its position (u8), then its form in a bundle.
std::string format_kept(const KeptEntries& entries);
/// Returns entries that point into the text. Throws Code::bad_input for another text, and for positions that do not
/// ascend.
KeptEntries parse_kept(std::string_view text, std::string_view what);

/// The entries that a bundle still has, in order: their positions in it, and their texts, which point into `bytes`.
struct Bundle {
  std::unique_ptr<const std::string> bytes;
  std::vector<std::pair<unsigned, std::string_view>> entries;
};
/// Reads a bundle of a log of `size` entries, which may have been pruned. Throws Code::bad_input.
Bundle read_bundle(const std::string& folder, std::uint64_t bundle, std::uint64_t size);

/// Returns the hashes of a tile. Throws Code::bad_input unless it has exactly `width`.
std::vector<Digest> parse_hashes(std::string_view bytes, unsigned width, std::string_view what);

/// Reads the tiles of a log whose tree has a certain size. Keeps the tiles that were read last. Not thread-safe.
class TileReader {
 public:
  TileReader(std::string folder, std::uint64_t size) : folder_(std::move(folder)), size_(size) {}
  std::uint64_t size() const { return size_; }
  /// Returns the hashes of a tile. Throws Code::bad_input if the file is missing or damaged.
  const std::vector<Digest>& hashes(unsigned level, std::uint64_t index);
  Digest subtree(unsigned height, std::uint64_t index);
  /// Returns subtree() as a function, which must not outlive the reader.
  SubtreeHash subtrees() {
    return [this](unsigned height, std::uint64_t index) { return subtree(height, index); };
  }
  /// Returns an entry, or nullopt if it was pruned. Throws Code::bad_input.
  std::optional<std::string> entry(std::uint64_t index);

 private:
  struct Tile {
    unsigned level;
    std::uint64_t index;
    std::vector<Digest> hashes;
  };
  std::string folder_;
  std::uint64_t size_;
  std::list<Tile> tiles_;  ///< the tile used last comes first
};

}  // namespace frazil::govern
