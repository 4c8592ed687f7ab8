#include "bench/lazy/levels.h"

#include <algorithm>

namespace bench::lazy {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::int64_t Levels::max_rows() const {
  std::int32_t most = 0;
  for (std::size_t h = 0; h + 1 < begin.size(); ++h) most = std::max(most, begin[h + 1] - begin[h]);
  return most;
}

void Levels::assign(std::span<const Tree> trees) {
  heights_.clear();
  begin.clear();
  for (const Tree& tree : trees) {
    const auto base = static_cast<std::int32_t>(heights_.size());
    for (const Tree::Node& node : tree.nodes) {
      const std::int32_t height =
          node.is_leaf() ? 0 : 1 + std::max(heights_[at(base + node.left)], heights_[at(base + node.right)]);
      heights_.push_back(height);
      if (begin.size() < at(height) + 1) begin.resize(at(height) + 1);
      if (height > 0) ++begin[at(height)];
    }
  }
  for (std::size_t h = 1; h < begin.size(); ++h) begin[h] += begin[h - 1];
  const std::int32_t rows = begin.back();

  leaf_word.clear();
  leaf_place.clear();
  row_place.resize(at(rows));
  places_.resize(heights_.size());
  // begin[h] is the end of height h, and becomes its begin while its rows are given out from the last one down.
  std::int32_t base = static_cast<std::int32_t>(heights_.size());
  for (std::size_t t = trees.size(); t-- > 0;) {
    const auto& nodes = trees[t].nodes;
    base -= static_cast<std::int32_t>(nodes.size());
    places_[at(base) + nodes.size() - 1] = 2 * rows + static_cast<std::int32_t>(t);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const std::int32_t place = places_[at(base) + i];
      if (nodes[i].is_leaf()) {
        leaf_word.push_back(nodes[i].word);
        leaf_place.push_back(place);
        continue;
      }
      const std::int32_t row = --begin[at(heights_[at(base) + i])];
      row_place[at(row)] = place;
      places_[at(base + nodes[i].left)] = 2 * row;
      places_[at(base + nodes[i].right)] = 2 * row + 1;
    }
  }
  begin.erase(begin.begin());
  begin.push_back(rows);
}

}  // namespace bench::lazy
