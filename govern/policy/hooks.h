#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "govern/policy/type.h"

namespace frazil::govern {

/// A point where Frazil asks the policy.
enum class Hook : std::uint8_t {
  file,
  load,
  edit,
  publish,
  roll_back,
  register_code,
  dispatch,
  external,
  run,
  config,
  admin,
};
inline constexpr std::size_t kHooks = 11;

/// A row of the table of hooks: what the language, the reference page and the command know about a hook.
struct HookInfo {
  Hook hook;
  const char* name;   ///< in policies: "roll_back"
  const char* doc;    ///< when the hook is asked
  RecordType record;  ///< what it is asked with
  double budget;      ///< the highest worst-case cost of a rule, in units of Policy; see cost.h
};

std::span<const HookInfo> hooks();
const HookInfo& info_of(Hook hook);
std::string_view name_of(Hook hook);
std::optional<Hook> hook_named(std::string_view name);

/// Returns the table of hooks and fields in Markdown: docs/reference/policy.md.
std::string hooks_markdown();

}  // namespace frazil::govern
