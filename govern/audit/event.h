#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "govern/base/json.h"

// The events of the audit log: one table of kinds, which the writer, the verifier and the documentation use.
namespace frazil::govern {

/// A class of kinds whose entries are kept for the same time.
enum class Retention : std::uint8_t {
  always,      ///< never pruned: the verifier needs them
  governance,  ///< decisions and access by people
  request,     ///< what each request leaves
};
/// Returns "always", "governance" or "request".
std::string_view name_of(Retention retention);

/// The types of members in events.
enum class MemberType : std::uint8_t {
  text,
  number,  ///< an integer of at least 0
  digest,  ///< "sha256:" and 64 hexadecimal digits
  object,
  list,
};
std::string_view name_of(MemberType type);

struct MemberRow {
  std::string_view name;
  MemberType type;
  bool required;
  std::string_view text;
};

struct KindRow {
  std::string_view name;
  Retention retention;
  std::string_view text;
  std::span<const MemberRow> members;
};

/// Returns all kinds of events.
std::span<const KindRow> event_kinds();
/// Returns a kind, or nullptr if there is none of this name.
const KindRow* find_kind(std::string_view name);
/// Returns the members that each kind may have besides its own.
std::span<const MemberRow> common_members();

/// Returns why an event is not valid, such as "'definition' is missing"; empty if it is. Members that the table lacks
/// are allowed. Values are not checked beyond their types.
std::string fault_of_event(const Json& event);

/// Returns whether the text is "sha256:" and 64 lower-case hexadecimal digits.
bool is_digest_text(std::string_view text);

/// Returns the table of kinds as Markdown.
std::string event_table_markdown();

/// Returns a time in milliseconds since 1970 as "2026-11-28T14:32:34.123Z" (RFC 3339).
std::string format_time(std::int64_t milliseconds);
/// Returns the milliseconds of such a text, or nullopt for any other form.
std::optional<std::int64_t> parse_time(std::string_view text);
/// Returns the present time in milliseconds since 1970.
std::int64_t now_milliseconds();

}  // namespace frazil::govern
