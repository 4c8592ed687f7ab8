#include "tool/carry.h"

#include <algorithm>

namespace frazil::tool {

namespace {

/// Returns false if no value of type `from` can have type `to`. Symbols are not compared, as they belong to different
/// requests.
bool may_become(const Port& from, const Port& to) {
  if (from.kind != to.kind || from.dtype != to.dtype) return false;
  if (to.item != nullptr) return may_become(*from.item, *to.item);
  if (!from.ranked || !to.ranked) return true;
  return std::ranges::equal(from.extents, to.extents,
                            [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; });
}

void check_types(const Port& from, const Port& to) {
  if (may_become(from, to)) return;
  fail(Code::bad_input, "--carry: output '{}' is {}, input '{}' takes {}", from.name, from.full_type, to.name,
       to.full_type);
}

}  // namespace

Carry Carry::make(const ValueSource& source, const std::vector<std::string>& pairs) {
  Carry carry;
  for (const std::string& pair : pairs) {
    const auto split = split_pair(pair, "--carry");
    const std::size_t output = source.find_output(split.first);
    const std::size_t input = source.find_input(split.second);
    if (std::ranges::any_of(carry.pairs_, [&](const auto& known) { return known.second == input; })) {
      fail(Code::bad_input, "--carry: two outputs go to input '{}'", split.second);
    }
    check_types(source.model().outputs()[output], source.model().inputs()[input]);
    carry.pairs_.emplace_back(output, input);
  }
  return carry;
}

void Carry::put(std::vector<Array>& inputs) const {
  for (std::size_t i = 0; i < held_.size(); ++i) inputs[pairs_[i].second] = held_[i];
}

void Carry::take(std::span<const Array> outputs) {
  held_.resize(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) held_[i] = outputs[pairs_[i].first];
}

}  // namespace frazil::tool
