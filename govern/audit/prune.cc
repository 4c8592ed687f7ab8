#include "govern/audit/prune.h"

#include <filesystem>

#include "govern/audit/blobs.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

namespace fs = std::filesystem;

/// Returns whether the time of an event is over.
bool is_over(const Json& event, const KeepTimes& keep, std::int64_t now_ms) {
  const std::string& kind = text_member(event, "kind", "an entry");
  const KindRow* row = find_kind(kind);
  const auto at = parse_time(text_member(event, "at", "an entry"));
  if (row == nullptr || row->retention == Retention::always || !at) return false;
  auto found = keep.find(kind);
  if (found == keep.end()) found = keep.find(name_of(row->retention));
  return found != keep.end() && *at < now_ms - std::chrono::milliseconds(found->second).count();
}

void add_blobs(const Json& event, std::set<std::string>& to) {
  for (const Json& blob : event.value("blobs", Json::array())) {
    if (blob.is_string()) to.insert(blob.get<std::string>());
  }
}

}  // namespace

PrunePlan::PrunePlan(std::string folder, std::uint64_t size, const KeepTimes& keep, std::int64_t now_ms)
    : folder_(std::move(folder)), size_(size) {
  const auto request = keep.find("request");
  const std::int64_t kept_ms = request == keep.end() ? now_ms : std::chrono::milliseconds(request->second).count();
  before_ = format_time(now_ms - kept_ms);
  for (std::uint64_t bundle = 0; bundle < size_ / kTileWidth; ++bundle) read_bundle(bundle, keep, now_ms);
}

void PrunePlan::read_bundle(std::uint64_t bundle, const KeepTimes& keep, std::int64_t now_ms) {
  KeptEntries entries = govern::read_bundle(folder_, bundle, size_);
  const std::size_t before = entries.size();
  for (auto at = entries.begin(); at != entries.end();) {
    const Json event = parse_json(at->second, fmt::format("entry {}", bundle * kTileWidth + at->first));
    if (!is_over(event, keep, now_ms)) {
      ++at;
      continue;
    }
    ++result_.dropped[event["kind"]];
    add_blobs(event, blobs_);
    at = entries.erase(at);
  }
  if (entries.size() == before) return;
  if (changes_.empty()) result_.from = bundle * kTileWidth;
  result_.to = (bundle + 1) * kTileWidth;
  changes_.push_back({bundle, std::move(entries)});
}

std::set<std::string> PrunePlan::named_blobs() const {
  std::set<std::string> named;
  for (std::uint64_t bundle = 0; bundle * kTileWidth < size_; ++bundle) {
    for (const auto& [position, entry] : govern::read_bundle(folder_, bundle, size_)) {
      add_blobs(parse_json(entry, "an entry"), named);
    }
  }
  return named;
}

void PrunePlan::apply() const {
  for (const auto& [bundle, kept] : changes_) {
    const std::string old = folder_ + "/" + TileName{.kind = TileKind::entries, .index = bundle}.path();
    const fs::path path = folder_ + "/" + TileName{.kind = TileKind::kept, .index = bundle}.path();
    make_folder(path.parent_path());
    if (kept.empty()) {
      fs::remove(path);
    } else {
      write_file(path, format_kept(kept));
    }
    fs::remove(old);
  }
  if (blobs_.empty()) return;
  const std::set<std::string> named = named_blobs();
  for (const std::string& blob : blobs_) {
    if (!named.contains(blob) && is_digest_text(blob)) remove_blob(folder_, blob);
  }
}

}  // namespace frazil::govern
