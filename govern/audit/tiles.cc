#include "govern/audit/tiles.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kCachedTiles = 64;
constexpr unsigned kMaxLevel = 7;  // 256^8 leaves

std::string folder_of(const TileName& name) {
  switch (name.kind) {
    case TileKind::hashes: return fmt::format("tile/{}/", name.level);
    case TileKind::entries: return "tile/entries/";
    case TileKind::kept: return "tile/kept/";
  }
  return {};
}

/// Returns a decimal number without leading zeros.
std::optional<std::uint64_t> plain_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return number;
}

std::uint64_t u16_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at])) << 8 |
         static_cast<unsigned char>(bytes[at + 1]);
}

/// Removes one entry from the front of a bundle's bytes.
std::string_view take_entry(std::string_view& bytes, std::string_view what) {
  if (bytes.size() < 2 || bytes.size() < 2 + u16_at(bytes, 0)) fail(Code::bad_input, "{}: an entry is cut off", what);
  const std::string_view entry = bytes.substr(2, u16_at(bytes, 0));
  bytes.remove_prefix(2 + entry.size());
  return entry;
}

}  // namespace

std::string TileName::path() const {
  std::string groups = fmt::format("{:03}", index % 1000);
  for (std::uint64_t rest = index / 1000; rest > 0; rest /= 1000)
    groups = fmt::format("x{:03}/{}", rest % 1000, groups);
  std::string text = folder_of(*this) + groups;
  if (width < kTileWidth) text += fmt::format(".p/{}", width);
  return text;
}

std::optional<TileName> TileName::parse(std::string_view path) {
  TileName name;
  if (!path.starts_with("tile/")) return std::nullopt;
  const std::string_view rest = path.substr(5);
  const std::string_view folder = rest.substr(0, rest.find('/'));
  if (folder == "entries") {
    name.kind = TileKind::entries;
  } else if (folder == "kept") {
    name.kind = TileKind::kept;
  } else {
    const auto level = plain_number(folder);
    if (!level || *level > kMaxLevel) return std::nullopt;
    name.level = static_cast<unsigned>(*level);
  }
  if (const auto partial = path.find(".p/"); partial != std::string_view::npos) {
    name.width =
        static_cast<unsigned>(std::min<std::uint64_t>(plain_number(path.substr(partial + 3)).value_or(0), 256));
  }
  for (const char c : rest.substr(folder.size(), rest.find(".p/") - folder.size())) {
    if (c >= '0' && c <= '9') name.index = name.index * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return name.width > 0 && name.path() == path ? std::optional(name) : std::nullopt;
}

unsigned tile_width(std::uint64_t size, unsigned level, std::uint64_t index) {
  const std::uint64_t hashes = size >> (8 * level);
  return static_cast<unsigned>(std::min<std::uint64_t>(kTileWidth, hashes - std::min(hashes, index * kTileWidth)));
}

void append_entry(std::string& bundle, std::string_view entry) {
  append_big_endian(bundle, static_cast<std::uint16_t>(entry.size()));
  bundle += entry;
}

std::vector<std::string_view> parse_bundle(std::string_view bundle, std::size_t count, std::string_view what) {
  std::vector<std::string_view> entries;
  entries.reserve(count);
  while (!bundle.empty() && entries.size() <= count) entries.push_back(take_entry(bundle, what));
  if (entries.size() != count) fail(Code::bad_input, "{}: expected {} entries, got another number", what, count);
  return entries;
}

std::string format_kept(const KeptEntries& entries) {
  std::string text;
  for (const auto& [position, entry] : entries) append_entry(text += static_cast<char>(position), entry);
  return text;
}

KeptEntries parse_kept(std::string_view text, std::string_view what) {
  KeptEntries entries;
  while (!text.empty()) {
    const unsigned position = static_cast<unsigned char>(text[0]);
    if (!entries.empty() && entries.rbegin()->first >= position) {
      fail(Code::bad_input, "{}: expected positions in ascending order, got {}", what, position);
    }
    text.remove_prefix(1);
    entries.emplace_hint(entries.end(), position, take_entry(text, what));
  }
  return entries;
}

Bundle read_bundle(const std::string& folder, std::uint64_t bundle, std::uint64_t size) {
  const auto path_of = [&](TileKind kind, unsigned w) {
    return folder + "/" + TileName{.kind = kind, .index = bundle, .width = w}.path();
  };
  const unsigned count = tile_width(size, 0, bundle);
  // If the log has grown, the complete bundle is there.
  const unsigned width = std::filesystem::exists(path_of(TileKind::entries, kTileWidth)) ? kTileWidth : count;
  const std::string path = path_of(TileKind::entries, width), kept = path_of(TileKind::kept, kTileWidth);
  Bundle result;
  if (!std::filesystem::exists(path) && count == kTileWidth) {
    if (!std::filesystem::exists(kept)) return result;
    result.bytes = std::make_unique<const std::string>(read_file(kept, kMaxTileBytes + kTileWidth));
    const KeptEntries entries = parse_kept(*result.bytes, fmt::format("file '{}'", kept));
    result.entries.assign(entries.begin(), entries.end());
    return result;
  }
  result.bytes = std::make_unique<const std::string>(read_file(path, kMaxTileBytes));
  const auto all = parse_bundle(*result.bytes, width, fmt::format("file '{}'", path));
  for (unsigned i = 0; i < count; ++i) result.entries.emplace_back(i, all[i]);
  return result;
}

std::vector<Digest> parse_hashes(std::string_view bytes, unsigned width, std::string_view what) {
  if (bytes.size() != width * sizeof(Digest)) {
    fail(Code::bad_input, "{}: expected {} bytes, got {}", what, width * sizeof(Digest), bytes.size());
  }
  std::vector<Digest> hashes(width);
  std::memcpy(hashes.data(), bytes.data(), bytes.size());
  return hashes;
}

const std::vector<Digest>& TileReader::hashes(unsigned level, std::uint64_t index) {
  const auto found = std::ranges::find_if(tiles_, [&](const Tile& t) { return t.level == level && t.index == index; });
  if (found != tiles_.end()) {
    tiles_.splice(tiles_.begin(), tiles_, found);
    return tiles_.front().hashes;
  }
  const unsigned width = tile_width(size_, level, index);
  std::string path = folder_ + "/" + TileName{.level = level, .index = index, .width = width}.path();
  const std::string full = folder_ + "/" + TileName{.level = level, .index = index}.path();
  if (width < kTileWidth && std::filesystem::exists(full)) path = full;  // the log has grown
  std::string bytes = read_file(path, kTileWidth * sizeof(Digest));
  if (path == full) bytes.resize(std::min<std::size_t>(bytes.size(), width * sizeof(Digest)));
  tiles_.push_front({level, index, parse_hashes(bytes, width, fmt::format("file '{}'", path))});
  if (tiles_.size() > kCachedTiles) tiles_.pop_back();
  return tiles_.front().hashes;
}

Digest TileReader::subtree(unsigned height, std::uint64_t index) {
  const unsigned within = height % 8;
  const std::uint64_t first = index << within;
  const auto& tile = hashes(height / 8, first / kTileWidth);
  const std::size_t begin = first % kTileWidth, count = std::size_t{1} << within;
  if (begin + count > tile.size()) fail(Code::bad_input, "log '{}': a proof needs hashes beyond its size", folder_);
  return complete_root(std::span(tile).subspan(begin, count));
}

std::optional<std::string> TileReader::entry(std::uint64_t index) {
  const Bundle bundle = read_bundle(folder_, index / kTileWidth, size_);
  const auto found = std::ranges::find(bundle.entries, index % kTileWidth, [](const auto& e) { return e.first; });
  return found == bundle.entries.end() ? std::nullopt : std::optional<std::string>(found->second);
}

}  // namespace frazil::govern
