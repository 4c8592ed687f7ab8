#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frazil::govern {

/// The members of an entry, as parts of its text. A faster reader than parse_json(), for verifying millions of entries.
class EntryScan {
 public:
  /// Scans an entry. Returns false if the text is not one JSON object in canonical form: with spaces, keys out of
  /// order, other escapes than RFC 8785 has, or bytes after the object. Numbers are checked by JSON's grammar only.
  bool read(std::string_view entry);
  /// Returns false if the order of keys depends on characters beyond ASCII, which this reader does not compare.
  bool is_certain() const { return certain_; }
  /// Returns the text of a member's value: "\"a\"", "12", "[1]"; empty if there is none.
  std::string_view member(std::string_view name) const;
  std::size_t size() const { return members_.size(); }

 private:
  bool value(int depth);
  bool object(int depth);
  bool list(int depth);
  bool string();
  bool escape();
  bool utf8();
  bool number();
  bool digits();
  bool take(char c);
  bool word(std::string_view text);

  std::string_view text_;
  std::size_t at_ = 0;
  bool certain_ = true;
  std::vector<std::pair<std::string_view, std::string_view>> members_;  ///< of the outer object; names without quotes
};

}  // namespace frazil::govern
