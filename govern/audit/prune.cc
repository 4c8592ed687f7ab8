#include "govern/audit/prune.h"

#include <filesystem>

#include "govern/audit/blobs.h"
#include "govern/audit/entry_scan.h"
#include "govern/audit/payloads.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

namespace fs = std::filesystem;

/// Returns the characters of a JSON string between its quotes. Names of kinds and times have no escapes.
std::string_view unquoted_text(std::string_view value) {
  return value.size() < 2 ? value : value.substr(1, value.size() - 2);
}

/// Returns the kind of an event whose time is over, or nullptr.
const KindRow* kind_if_over(const EntryScan& event, const KeepTimes& keep, std::int64_t now_ms) {
  const KindRow* row = find_kind(unquoted_text(event.member("kind")));
  const auto at = parse_time(unquoted_text(event.member("at")));
  if (row == nullptr || row->retention == Retention::always || !at) return nullptr;
  auto found = keep.find(row->name);
  if (found == keep.end()) found = keep.find(name_of(row->retention));
  const bool over = found != keep.end() && *at < now_ms - std::chrono::milliseconds(found->second).count();
  return over ? row : nullptr;
}

EntryScan scan_of(std::string_view entry, std::uint64_t index) {
  EntryScan scan;
  if (!scan.read(entry)) fail(Code::bad_input, "entry {}: expected an object in canonical JSON", index);
  return scan;
}

void add_blobs(const EntryScan& event, std::set<std::string>& to) {
  const std::string_view blobs = event.member("blobs");
  if (blobs.empty()) return;
  for (const Json& blob : parse_json(blobs, "'blobs'")) {
    if (blob.is_string()) to.insert(blob.get<std::string>());
  }
}

/// Calls f(event) for each entry of a log.
template <class F>
void for_each_event(const std::string& folder, std::uint64_t size, F f) {
  for (std::uint64_t bundle = 0; bundle * kTileWidth < size; ++bundle) {
    const Bundle read = read_bundle(folder, bundle, size);
    for (const auto& [position, entry] : read.entries) f(scan_of(entry, bundle * kTileWidth + position));
  }
}

}  // namespace

std::uint64_t remove_blobs_of(const std::string& folder, std::uint64_t size, std::string_view subject) {
  std::set<std::string> own, others;
  for_each_event(folder, size, [&](const EntryScan& event) {
    add_blobs(event, unquoted_text(event.member("subject")) == subject ? own : others);
  });
  std::uint64_t removed = 0;
  for (const std::string& blob : own) {
    if (others.contains(blob) || !is_digest_text(blob) || !fs::exists(blob_path(folder, blob))) continue;
    remove_blob(folder, blob);
    ++removed;
  }
  return removed;
}

PrunePlan::PrunePlan(std::string folder, std::uint64_t size, const KeepTimes& keep, std::int64_t now_ms)
    : folder_(std::move(folder)), size_(size), holds_(Holds::read(folder_, size_)) {
  const auto request = keep.find("request");
  const std::int64_t kept_ms = request == keep.end() ? now_ms : std::chrono::milliseconds(request->second).count();
  before_ = format_time(now_ms - kept_ms);
  for (std::uint64_t bundle = 0; bundle < size_ / kTileWidth; ++bundle) plan_bundle(bundle, keep, now_ms);
}

void PrunePlan::plan_bundle(std::uint64_t bundle, const KeepTimes& keep, std::int64_t now_ms) {
  const Bundle read = read_bundle(folder_, bundle, size_);
  KeptEntries kept;
  for (const auto& [position, entry] : read.entries) {
    const EntryScan event = scan_of(entry, bundle * kTileWidth + position);
    const bool held =
        holds_.of_entry(bundle * kTileWidth + position, unquoted_text(event.member("subject"))).has_value();
    if (const KindRow* kind = held ? nullptr : kind_if_over(event, keep, now_ms)) {
      ++result_.dropped[std::string(kind->name)];
      add_blobs(event, blobs_);
    } else {
      kept.emplace_hint(kept.end(), position, entry);
    }
  }
  if (kept.size() == read.entries.size()) return;
  if (changes_.empty()) result_.from = bundle * kTileWidth;
  result_.to = (bundle + 1) * kTileWidth;
  changes_.push_back({bundle, format_kept(kept)});
}

std::set<std::string> PrunePlan::named_blobs() const {
  std::set<std::string> named;
  for_each_event(folder_, size_, [&](const EntryScan& event) { add_blobs(event, named); });
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
      write_file(path, kept);
    }
    fs::remove(old);
  }
  if (blobs_.empty()) return;
  const std::set<std::string> named = named_blobs();
  remove_payloads(folder_, size_,
                  [&](const std::string& digest) { return blobs_.contains(digest) && !named.contains(digest); });
  for (const std::string& blob : blobs_) {
    if (!named.contains(blob) && is_digest_text(blob)) remove_blob(folder_, blob);
  }
}

}  // namespace frazil::govern
