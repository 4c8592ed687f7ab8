#include "govern/audit/log_reader.h"

#include <algorithm>

#include "govern/audit/entry_scan.h"
#include "govern/audit/event.h"
#include "govern/audit/note.h"
#include "govern/audit/tiles.h"
#include "govern/base/error.h"
#include "govern/base/file.h"
#include "govern/base/json.h"

namespace frazil::govern {
namespace {

bool selects(const ReadFilter& filter, std::string_view entry, std::uint64_t index) {
  EntryScan scan;
  if (!scan.read(entry)) fail(Code::bad_input, "entry {}: expected an object in canonical JSON", index);
  const auto is_member = [&](const char* name, const std::string& text) {
    return scan.member(name) == canonical(text);
  };
  const auto of_kind = [&](const std::string& kind) { return is_member("kind", kind); };
  if (!filter.kinds.empty() && std::ranges::none_of(filter.kinds, of_kind)) return false;
  if (!filter.tenant.empty() && !is_member("tenant", filter.tenant)) return false;
  if (!filter.from && !filter.to) return true;
  const std::string_view at = scan.member("at");
  const auto time = at.size() > 2 ? parse_time(at.substr(1, at.size() - 2)) : std::nullopt;
  return time && (!filter.from || *time >= *filter.from) && (!filter.to || *time < *filter.to);
}

}  // namespace

void read_log(const std::string& folder, const ReadFilter& filter,
              const std::function<void(std::uint64_t index, const std::string& entry)>& found) {
  for (const std::string& kind : filter.kinds) {
    if (find_kind(kind) == nullptr) fail(Code::bad_input, "there is no kind of events '{}'", kind);
  }
  const std::string path = folder + "/checkpoint";
  const auto head = SignedCheckpoint::parse(read_file(path, kMaxNoteBytes), fmt::format("file '{}'", path));
  const std::uint64_t size = head.checkpoint.size;
  for (std::uint64_t bundle = 0; bundle * kTileWidth < size; ++bundle) {
    const Bundle entries = read_bundle(folder, bundle, size);
    for (const auto& [position, entry] : entries.entries) {
      const std::uint64_t index = bundle * kTileWidth + position;
      if (selects(filter, entry, index)) found(index, std::string(entry));
    }
  }
}

}  // namespace frazil::govern
