#include "base/value/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

namespace frazil {
namespace {

bool is_code_point(char32_t code) { return code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000); }

void put_escaped(std::string& out, char c) {
  switch (c) {
    case '\n': out += "\\n"; break;
    case '\t': out += "\\t"; break;
    case '\r': out += "\\r"; break;
    default: out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at) {
  if (at >= text.size()) return std::nullopt;
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || text.size() - at <= more) return std::nullopt;
  char32_t code = more == 0 ? lead : lead & (0x3fu >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xc0u) != 0x80) return std::nullopt;
    code = code << 6 | (byte & 0x3fu);
  }
  constexpr char32_t kMin[] = {0, 0x80, 0x800, 0x10000};
  if (code < kMin[more] || !is_code_point(code)) return std::nullopt;
  at += 1 + more;
  return code;
}

void append_utf8(std::string& out, char32_t code) {
  if (!is_code_point(code)) code = 0xfffd;
  const std::size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[more] | code >> (6 * more));
  for (std::size_t i = more; i-- > 0;) out += static_cast<char>(0x80u | (code >> (6 * i) & 0x3fu));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!next_code_point(text, at)) return false;
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const auto code = next_code_point(text, at);
    if (code && *code >= 0x20 && *code != 0x7f) {
      out += text.substr(from, at - from);
    } else {
      put_escaped(out, text[from]);
      at = from + 1;
    }
  }
  return out;
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  std::size_t end = 0;
  for (std::size_t at = 0; at <= most; at = std::max(at, end + 1)) {
    end = at;
    next_code_point(text, at);
  }
  return printable(text.substr(0, end)) + "...";
}

std::optional<std::size_t> similarity(std::string_view a, std::string_view b) {
  constexpr std::size_t kMaxSize = 64, kMaxDistance = 2;
  if (a.size() > kMaxSize || b.size() > kMaxSize) return std::nullopt;
  std::array<std::size_t, kMaxSize + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  if (row[b.size()] > kMaxDistance) return std::nullopt;
  return row[b.size()];
}

bool is_similar(std::string_view a, std::string_view b) { return similarity(a, b).has_value(); }

}  // namespace frazil
