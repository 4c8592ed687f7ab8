#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "govern/base/json.h"

// Entries that wait to be written to an audit log.
namespace frazil::govern {

/// An event `request` with its payload: bytes that become durable with the entry, which names them in `blobs`. At most
/// kMaxPayloadBytes; empty: none. get_payload() returns them. They are not synced on their own, as put_blob() does.
struct RequestEntry {
  Json event;
  std::string payload = {};
};

struct PendingEntry {
  std::string text, payload = {};
  /// Of a request: make_entry() sets the text and the payload by it.
  std::function<RequestEntry()> make = {};
  std::int64_t at_ms = 0;                    ///< time of that request
  std::size_t bytes = 0, payload_bytes = 0;  ///< about the sizes of what it holds
};

/// Returns the entry of an event: canonical JSON. Throws Code::bad_input for an event that the table does not allow or
/// that has more than 65,535 bytes.
std::string entry_of(const Json& event);

/// Returns an entry `gap`. Times are milliseconds since 1970. `text` is cut to 1,000 bytes, and left out if it is empty
/// or not UTF-8.
std::string gap_entry(std::int64_t at_ms, std::uint64_t lost, std::int64_t since_ms, std::string_view reason,
                      std::string_view text = {});

/// Calls PendingEntry::make if it is there, and removes it. If it throws or makes an event that entry_of() does not
/// take, the entry is an event `gap` of reason "fault".
void make_entry(PendingEntry& pending);

}  // namespace frazil::govern
