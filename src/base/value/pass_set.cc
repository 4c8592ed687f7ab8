#include "base/value/pass_set.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace frazil {
namespace {

constexpr std::array kNames{
#define FRAZIL_X(name) std::string_view(#name),
    FRAZIL_PASSES(FRAZIL_X)
#undef FRAZIL_X
};

/// Applies one word of the list. Returns false if it is invalid.
bool apply(PassSet& set, std::string_view word) {
  if (word == "all" || word == "none") {
    set = word == "all" ? PassSet{} : PassSet::none();
    return true;
  }
  if (word.empty() || (word[0] != '-' && word[0] != '+')) return false;
  const auto at = std::ranges::find(kNames, word.substr(1));
  if (at == kNames.end()) return false;
  const std::uint32_t bit = 1u << (at - kNames.begin());
  set.off = word[0] == '-' ? set.off | bit : set.off & ~bit;
  return true;
}

}  // namespace

std::span<const std::string_view> pass_names() { return kNames; }

Result<PassSet> parse_pass_set(std::string_view text) {
  PassSet set;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (!apply(set, rest.substr(0, comma))) {
      return fail(Code::bad_input, "expected all, none, and -NAME or +NAME of {}, got '{}'", fmt::join(kNames, ", "),
                  text);
    }
    if (comma == rest.npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

std::string str(PassSet set) {
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!set.has(static_cast<Pass>(i))) text += (text.empty() ? "-" : ",-") + std::string(kNames[i]);
  }
  return text.empty() ? "all" : text;
}

}  // namespace frazil
