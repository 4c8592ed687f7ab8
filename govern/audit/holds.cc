#include "govern/audit/holds.h"

#include <limits>

#include "govern/audit/entry_scan.h"
#include "govern/audit/tiles.h"
#include "govern/base/error.h"

namespace frazil::govern {

Holds Holds::read(const std::string& folder, std::uint64_t size) {
  Holds holds;
  EntryScan scan;
  for (std::uint64_t bundle = 0; bundle * kTileWidth < size; ++bundle) {
    const Bundle read = read_bundle(folder, bundle, size);
    for (const auto& [position, entry] : read.entries) {
      const std::uint64_t index = bundle * kTileWidth + position;
      if (!scan.read(entry)) fail(Code::bad_input, "entry {}: expected an object in canonical JSON", index);
      const std::string_view kind = scan.member("kind");
      if (kind == "\"hold\"" || kind == "\"release\"") holds.add(index, parse_json(entry, "the entry"));
    }
  }
  return holds;
}

void Holds::add(std::uint64_t index, const Json& event) {
  const std::string kind = event.value("kind", "");
  if (kind == "release") cases_.erase(event.at("case").get<std::string>());
  if (kind != "hold") return;
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  cases_.insert_or_assign(event.at("case").get<std::string>(), Hold{.event = index,
                                                                    .subject = event.value("subject", ""),
                                                                    .from = event.value("from", std::uint64_t{0}),
                                                                    .to = event.value("to", kEnd)});
}

std::optional<std::uint64_t> Holds::of_subject(std::string_view id) const {
  for (const auto& [name, hold] : cases_) {
    if (hold.subject.empty() || hold.subject == id) return hold.event;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Holds::of_entry(std::uint64_t index, std::string_view subject) const {
  for (const auto& [name, hold] : cases_) {
    const bool inside = index >= hold.from && index < hold.to;
    if (inside && (hold.subject.empty() || hold.subject == subject)) return hold.event;
  }
  return std::nullopt;
}

}  // namespace frazil::govern
