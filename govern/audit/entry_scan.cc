#include "govern/audit/entry_scan.h"

#include <algorithm>

namespace frazil::govern {
namespace {

constexpr int kMaxScanDepth = 64;

unsigned char byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

}  // namespace

bool EntryScan::read(std::string_view entry) {
  text_ = entry;
  at_ = 0;
  certain_ = true;
  members_.clear();
  return byte_at(text_, 0) == '{' && object(0) && at_ == text_.size();
}

std::string_view EntryScan::member(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, [](const auto& m) { return m.first; });
  return found == members_.end() ? std::string_view() : found->second;
}

bool EntryScan::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool EntryScan::word(std::string_view text) {
  if (!text_.substr(at_).starts_with(text)) return false;
  at_ += text.size();
  return true;
}

bool EntryScan::value(int depth) {
  if (depth > kMaxScanDepth) return false;
  switch (byte_at(text_, at_)) {
    case '{': return object(depth);
    case '[': return list(depth);
    case '"': return string();
    case 't': return word("true");
    case 'f': return word("false");
    case 'n': return word("null");
    default: return number();
  }
}

bool EntryScan::object(int depth) {
  ++at_;
  if (take('}')) return true;
  std::string_view before;
  for (bool first = true;; first = false) {
    const std::size_t begin = at_;
    if (byte_at(text_, at_) != '"' || !string()) return false;
    const std::string_view name = text_.substr(begin + 1, at_ - begin - 2);
    const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != '\\'; };
    certain_ = certain_ && std::ranges::all_of(name, plain);
    if (certain_ && !first && name <= before) return false;
    before = name;
    const std::size_t from = at_ + 1;
    if (!take(':') || !value(depth + 1)) return false;
    if (depth == 0) members_.emplace_back(name, text_.substr(from, at_ - from));
    if (take('}')) return true;
    if (!take(',')) return false;
  }
}

bool EntryScan::list(int depth) {
  ++at_;
  if (take(']')) return true;
  while (value(depth + 1)) {
    if (take(']')) return true;
    if (!take(',')) return false;
  }
  return false;
}

bool EntryScan::string() {
  for (++at_; at_ < text_.size();) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') return ++at_, true;
    if (c < 0x20) return false;
    if (c == '\\') {
      if (!escape()) return false;
    } else if (c < 0x80) {
      ++at_;
    } else if (!utf8()) {
      return false;
    }
  }
  return false;
}

bool EntryScan::escape() {
  const unsigned char c = byte_at(text_, ++at_);
  if (std::string_view("\"\\bfnrt").find(static_cast<char>(c)) != std::string_view::npos) return ++at_, true;
  if (c != 'u' || !text_.substr(at_).starts_with("u00")) return false;
  const unsigned char high = byte_at(text_, at_ + 3), low = byte_at(text_, at_ + 4);
  const bool hex = (low >= '0' && low <= '9') || (low >= 'a' && low <= 'f');
  // The short escapes have no long form.
  const bool has_short =
      high == '0' && std::string_view("89acd").find(static_cast<char>(low)) != std::string_view::npos;
  at_ += 5;
  return (high == '0' || high == '1') && hex && !has_short;
}

bool EntryScan::utf8() {
  const unsigned char lead = byte_at(text_, at_), second = byte_at(text_, at_ + 1);
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0) return false;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text_, at_ + i) & 0xc0) != 0x80) return false;
  }
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0, beyond = lead == 0xf4 && second >= 0x90;
  at_ += length;
  return !overlong && !surrogate && !beyond;
}

bool EntryScan::digits() {
  const std::size_t begin = at_;
  while (byte_at(text_, at_) >= '0' && byte_at(text_, at_) <= '9') ++at_;
  return at_ > begin;
}

bool EntryScan::number() {
  take('-');
  const bool zero = byte_at(text_, at_) == '0';
  const std::size_t begin = at_;
  if (!digits() || (zero && at_ > begin + 1)) return false;
  if (take('.') && !digits()) return false;
  if (take('e')) {
    if (!take('+') && !take('-')) return false;
    return digits();
  }
  return true;
}

}  // namespace frazil::govern
