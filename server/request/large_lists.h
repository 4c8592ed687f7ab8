#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>

namespace frazil::server {

/// The lists of numbers and truth values in the text of a JSON document that have many bytes, nested or flat. A model
/// of the document would need several times their memory, so it has placeholders instead. See docs/decisions/0209.
///
/// The constructor finds only where each list begins and ends. fill() checks the items.
class LargeLists {
 public:
  struct List {
    std::string_view text;    ///< from its first to its last bracket
    std::uint64_t count = 0;  ///< items, including those of inner lists, if the list is valid
  };

  /// Finds the lists of a text, which outlives the object. Finds none in a text with unusual strings.
  explicit LargeLists(std::string_view text);

  bool empty() const { return lists_.empty(); }
  std::size_t size() const { return lists_.size(); }
  const List& at(std::size_t index) const { return lists_[index]; }
  /// Returns the document with [kMark, INDEX] for each list. No other list begins with kMark.
  const std::string& shortened() const { return shortened_; }

  static constexpr std::string_view kMark = "\x01";

 private:
  class Finder;
  std::string shortened_;
  std::vector<List> lists_;
};

/// Fills a tensor with the same number of items, in row-major order. Returns false for a list that is not valid JSON,
/// an item that does not fit the tensor, and rare forms of numbers; the tensor is then partly filled.
bool fill(api::Array& to, const LargeLists::List& list);

}  // namespace frazil::server
