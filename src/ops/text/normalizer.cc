#include <algorithm>
#include <clocale>
#include <cwctype>
#include <memory>
#include <unordered_set>

#include "base/value/text.h"
#include "ops/core/move.h"
#include "ops/text/text.h"

namespace frazil::ops {
namespace {

enum class Letters : std::uint8_t { kept, lower, upper };

std::optional<Letters> letters_of(std::string_view action) {
  if (action == "NONE") return Letters::kept;
  if (action == "LOWER") return Letters::lower;
  if (action == "UPPER") return Letters::upper;
  return std::nullopt;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

char ascii_case(char c, Letters letters) {
  const bool turns = letters == Letters::lower ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
  return turns ? static_cast<char>(c ^ 0x20) : c;
}

struct FreeLocale {
  void operator()(locale_t l) const { freelocale(l); }
};
using Locale = std::unique_ptr<std::remove_pointer_t<locale_t>, FreeLocale>;

Locale open_locale(const std::string& name) {
  return Locale(newlocale(LC_CTYPE_MASK, name.c_str(), static_cast<locale_t>(nullptr)));
}

/// Returns whether the locale's case mapping of letters differs from the general one.
bool has_own_case(std::string_view name) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"az", "lt", "tr"},
                             [&](std::string_view language) { return name.starts_with(language); });
}

Result<Locale> locale_for(const std::string& name) {
  for (const std::string& full : {name + ".UTF-8", name}) {
    Locale found = name.empty() || (full == name && !name.contains('.')) ? nullptr : open_locale(full);
    if (found) return found;
  }
  Locale plain = has_own_case(name) ? nullptr : open_locale("C.UTF-8");
  if (plain) return plain;
  return fail(Code::unsupported, "the system has no locale '{}' for letters outside ASCII",
              name.empty() ? "C.UTF-8" : printable(name));
}

/// A converter of the case of letters. It opens the locale at the first letter outside ASCII.
class CaseChange {
 public:
  explicit CaseChange(const std::string& locale) : name_(locale) {}

  Result<std::string> operator()(const std::string& text, Letters letters) {
    if (letters == Letters::kept || !is_utf8(text)) return text;
    std::string out;
    if (is_ascii(text)) {
      for (char c : text) out += ascii_case(c, letters);
      return out;
    }
    if (!locale_) {
      FRAZIL_TRY(locale_, locale_for(name_));
    }
    for (std::size_t at = 0; at < text.size();) {
      const auto code = static_cast<wint_t>(*next_code_point(text, at));
      append_utf8(out, static_cast<char32_t>(letters == Letters::lower ? towlower_l(code, locale_.get())
                                                                       : towupper_l(code, locale_.get())));
    }
    return out;
  }

 private:
  const std::string& name_;
  Locale locale_;
};

}  // namespace

Status string_normalizer_types(InferCx& cx) {
  const auto& a = cx.attrs<StringNormalizerAttrs>();
  if (!letters_of(a.case_change_action)) {
    return cx.error("case_change_action '{}' is not one of NONE, LOWER, UPPER", printable(a.case_change_action));
  }
  Shape shape = cx.shape(0);
  if (shape.size() == 2) {
    FRAZIL_TRY(shape[0], cx.require_equal(shape[0], 1, "rows of input 'X'"));
  } else if (shape.size() != 1) {
    return cx.error("input 'X' must be [C] or [1, C], got {}", cx.type_str(0));
  }
  const Dim most = cx.scope().max(shape.back(), 1);
  shape.back() = cx.data_extent(0, static_cast<int>(shape.size()) - 1, {1, cx.scope().bounds(most).max});
  cx.out(0, Type::tensor(Elem::string, std::move(shape)));
  return {};
}

Status string_normalizer_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<StringNormalizerAttrs>();
  if (x.rank() == 2 && x.sizes[0] != 1) return fail(Code::bad_input, "input 'X' must have 1 row, got {}", x.sizes[0]);
  CaseChange change(a.locale);
  const Letters folded = a.is_case_sensitive != 0 ? Letters::kept : Letters::lower;
  std::unordered_set<std::string> stops;
  for (const std::string& word : a.stopwords) {
    FRAZIL_TRY(std::string stop, change(word, folded));
    stops.insert(std::move(stop));
  }
  std::vector<std::string> kept;
  PollThrottle throttle;
  for (const std::string& text : x.as<std::string>()) {
    if (throttle.stop(16 + static_cast<std::int64_t>(text.size()))) return {};
    FRAZIL_TRY(const std::string word, change(text, folded));
    if (stops.contains(word)) continue;
    FRAZIL_TRY(std::string changed, change(text, *letters_of(a.case_change_action)));
    kept.push_back(std::move(changed));
  }
  if (kept.empty()) kept.emplace_back();
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes.back() = static_cast<std::int64_t>(kept.size());
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  for (std::size_t i = 0; i < kept.size(); ++i) assign_text(reinterpret_cast<std::string*>(out)[i], kept[i]);
  return {};
}

}  // namespace frazil::ops
