#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace frazil::govern {

/// A set of small numbers that grows.
class BitSet {
 public:
  /// Adds a number. Returns whether the set grew.
  bool add(std::size_t number) {
    const std::size_t word = number / kBits;
    if (word >= words_.size()) words_.resize(word + 1);
    const std::uint64_t before = words_[word];
    words_[word] |= std::uint64_t{1} << number % kBits;
    return words_[word] != before;
  }
  /// Adds all numbers of another set. Returns whether the set grew.
  bool join(const BitSet& from) {
    if (from.words_.size() > words_.size()) words_.resize(from.words_.size());
    std::uint64_t grew = 0;
    for (std::size_t i = 0; i < from.words_.size(); ++i) {
      grew |= from.words_[i] & ~words_[i];
      words_[i] |= from.words_[i];
    }
    return grew != 0;
  }
  /// Removes the numbers that another set lacks.
  void keep_only(const BitSet& of) {
    if (words_.size() > of.words_.size()) words_.resize(of.words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= of.words_[i];
  }
  bool has(std::size_t number) const {
    return number / kBits < words_.size() && (words_[number / kBits] >> number % kBits & 1) != 0;
  }
  bool empty() const {
    for (const std::uint64_t word : words_) {
      if (word != 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<std::uint64_t> words_;
};

}  // namespace frazil::govern
