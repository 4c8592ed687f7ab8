#include "govern/audit/pending_entry.h"

#include <exception>
#include <utility>

#include "govern/audit/event.h"
#include "govern/audit/payloads.h"
#include "govern/audit/tiles.h"
#include "govern/base/digest.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMaxGapText = 1000;

std::string kind_of(const Json& event) { return event.is_object() ? event.value("kind", Json()).dump() : ""; }

/// Returns the entry of a request, which names the payload.
std::string entry_of_request(Json& event, const std::string& payload, std::int64_t at_ms) {
  if (!event.is_object() || event.value("kind", Json()) != "request") {
    fail(Code::bad_input, "expected an event of kind 'request', got {}", kind_of(event));
  }
  if (payload.size() > kMaxPayloadBytes) fail(Code::bad_input, "a payload has {} bytes", payload.size());
  if (!payload.empty()) event["blobs"].push_back(digest_text(sha256(payload)));
  if (!event.contains("at")) event["at"] = format_time(at_ms);
  return entry_of(event);
}

}  // namespace

std::string entry_of(const Json& event) {
  if (const std::string fault = fault_of_event(event); !fault.empty()) {
    fail(Code::bad_input, "audit event '{}': {}", kind_of(event), fault);
  }
  std::string entry = canonical(event);
  if (entry.size() > kMaxEntryBytes) {
    fail(Code::bad_input, "audit event '{}': expected at most {} bytes, got {}: store parts as blobs",
         event["kind"].get<std::string>(), kMaxEntryBytes, entry.size());
  }
  return entry;
}

std::string gap_entry(std::int64_t at_ms, std::uint64_t lost, std::int64_t since_ms, std::string_view reason,
                      std::string_view text) {
  const Json gap = {{"at", format_time(at_ms)},
                    {"kind", "gap"},
                    {"lost", lost},
                    {"since", format_time(since_ms)},
                    {"reason", reason}};
  if (text.empty()) return canonical(gap);
  Json with_text = gap;
  with_text["text"] = text.substr(0, kMaxGapText);
  try {
    return canonical(with_text);
  } catch (const Error&) {  // the text is not UTF-8
    return canonical(gap);
  }
}

void make_entry(PendingEntry& pending) {
  if (!pending.make) return;
  try {
    RequestEntry made = std::exchange(pending.make, {})();
    pending.text = entry_of_request(made.event, made.payload, pending.at_ms);
    pending.payload = std::move(made.payload);
  } catch (const std::exception& error) {
    pending.text = gap_entry(pending.at_ms, 1, pending.at_ms, "fault", error.what());
  }
}

}  // namespace frazil::govern
