#include "ops/generic/generic_attrs.h"

#include <charconv>

#include "ir/text/scalar_text.h"
#include "ops/generic/generic.h"

namespace frazil::ops {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text[0]) && text != "_" && std::ranges::all_of(text, fits);
}

/// Returns the parts between commas outside of braces. An empty text has no parts.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  int open = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (i < text.size() && (text[i] != ',' || open > 0)) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return parts;
}

/// Removes a number at the start of `text`: digits, or an expression in braces. Returns nullopt if there is none.
Result<std::optional<ExtentExpr>> take_number(std::string_view& text) {
  if (text.starts_with('{')) {
    const std::size_t close = text.find('}');
    if (close == text.npos) return fail(Code::bad_model, "a '{{' without '}}'");
    FRAZIL_TRY(ExtentExpr number, ExtentExpr::parse(text.substr(1, close - 1)));
    text = trimmed(text.substr(close + 1));
    return number;
  }
  std::int64_t value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || text.starts_with('-')) return std::nullopt;
  if (error != std::errc{} || value > Dim::kMax) return fail(Code::bad_model, "a number out of range");
  text = trimmed(text.substr(static_cast<std::size_t>(next - text.data())));
  return ExtentExpr(value);
}

/// Removes one term at the start of `text`: a number, an axis, or the product of both.
Result<IndexTerm> take_term(std::string_view& text) {
  IndexTerm term;
  FRAZIL_TRY(std::optional<ExtentExpr> number, take_number(text));
  if (number) {
    term.factor = *std::move(number);
    if (!text.starts_with('*')) return term;
    text = trimmed(text.substr(1));
  }
  const std::size_t end = std::min(text.find_first_of(" +-*,{}"), text.size());
  term.axis = text.substr(0, end);
  if (!is_name(term.axis)) return fail(Code::bad_model, "'{}' is not a name of an axis", printable(term.axis, 60));
  text = trimmed(text.substr(end));
  return term;
}

std::string text_of(const IndexTerm& term) {
  const std::string& factor = term.factor.text();
  std::string number = parse_integer(factor).value_or(-1) >= 0 ? factor : "{" + factor + "}";
  if (term.axis.empty()) return number;
  return number == "1" ? term.axis : number + "*" + term.axis;
}

}  // namespace

Result<AxisDecl> AxisDecl::parse(std::string_view text) {
  const std::size_t equal = text.find('=');
  AxisDecl axis{.name = std::string(trimmed(text.substr(0, equal))), .extent = {}};
  if (!is_name(axis.name)) return fail(Code::bad_model, "'{}' is not a name of an axis", printable(axis.name, 60));
  if (equal == text.npos) return axis;
  FRAZIL_TRY(axis.extent, ExtentExpr::parse(text.substr(equal + 1)));
  return axis;
}

Result<IndexExpr> IndexExpr::parse(std::string_view text) {
  IndexExpr index;
  text = trimmed(text);
  while (!text.empty()) {
    const bool first = index.terms.empty(), negative = text.starts_with('-');
    if (negative || (!first && text.starts_with('+'))) {
      text = trimmed(text.substr(1));
    } else if (!first) {
      return fail(Code::bad_model, "expected '+' or '-' at '{}'", printable(text, 60));
    }
    FRAZIL_TRY(IndexTerm term, take_term(text));
    term.negative = negative;
    index.terms.push_back(std::move(term));
  }
  return index;
}

std::string IndexExpr::text() const {
  std::string text;
  for (const IndexTerm& term : terms) {
    if (text.empty()) {
      text = term.negative ? "-" : "";
    } else {
      text += term.negative ? " - " : " + ";
    }
    text += text_of(term);
  }
  return text;
}

Result<ReadExpr> ReadExpr::parse(std::string_view text) {
  if (trimmed(text) == "-") return ReadExpr{};
  ReadExpr read{.indices = std::vector<IndexExpr>()};
  for (const std::string_view part : parts_of(text)) {
    if (part.empty()) return fail(Code::bad_model, "an index is empty");
    FRAZIL_TRY(IndexExpr index, IndexExpr::parse(part));
    read.indices->push_back(std::move(index));
  }
  return read;
}

std::string ReadExpr::text() const {
  if (!indices) return "-";
  std::string text;
  for (const IndexExpr& index : *indices) text += (text.empty() ? "" : ", ") + index.text();
  return text;
}

Result<AxisNames> AxisNames::parse(std::string_view text) {
  AxisNames axes;
  for (const std::string_view name : parts_of(text)) {
    if (name != "_" && !is_name(name))
      return fail(Code::bad_model, "'{}' is not a name of an axis", printable(name, 60));
    axes.names.emplace_back(name);
  }
  return axes;
}

Result<ScalarBody> ScalarBody::parse(const Strings& lines) {
  if (lines.size() > kMaxGenericInstructions) {
    return fail(Code::bad_model, "{} instructions, at most {} are taken", lines.size(), kMaxGenericInstructions);
  }
  FRAZIL_TRY(ScalarTape tape, parse_tape(lines));
  return ScalarBody{std::move(tape)};
}

Strings ScalarBody::text() const { return lines_of(tape); }

}  // namespace frazil::ops
