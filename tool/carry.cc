#include "tool/carry.h"

#include <algorithm>

namespace frazil::tool {

Result<Carry> Carry::make(const ValueSource& source, const std::vector<std::string>& pairs) {
  Carry carry;
  for (const std::string& pair : pairs) {
    FRAZIL_TRY(const auto split, split_pair(pair, "--carry"));
    FRAZIL_TRY(const std::size_t output, source.find_output(split.first));
    FRAZIL_TRY(const std::size_t input, source.find_input(split.second));
    if (std::ranges::any_of(carry.pairs_, [&](const auto& known) { return known.second == input; })) {
      return fail(Code::bad_input, "--carry: two outputs go to input '{}'", split.second);
    }
    carry.pairs_.emplace_back(output, input);
  }
  return carry;
}

void Carry::put(std::vector<Datum>& inputs) const {
  for (std::size_t i = 0; i < held_.size(); ++i) inputs[pairs_[i].second] = held_[i];
}

void Carry::take(std::span<const Datum> outputs) {
  held_.resize(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) held_[i] = outputs[pairs_[i].first];
}

}  // namespace frazil::tool
