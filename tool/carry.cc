#include "tool/carry.h"

#include <algorithm>

namespace frazil::tool {

namespace {

/// Returns false if no value of type `from` can have type `to`. Symbols are not compared, as they belong to different
/// requests.
bool may_become(const Type& from, const Type& to) {
  if (to.kind == Type::Kind::optional && from.kind != to.kind) return may_become(from, *to.item);
  if (from.kind == Type::Kind::optional && from.kind != to.kind) return may_become(*from.item, to);
  if (from.kind != to.kind || from.elem != to.elem) return false;
  if (to.item) return may_become(*from.item, *to.item);
  if (!from.ranked || !to.ranked) return true;
  return std::ranges::equal(from.shape, to.shape,
                            [](Dim a, Dim b) { return !a.is_const() || !b.is_const() || a == b; });
}

Status check_types(const Graph& graph, std::size_t output, std::size_t input) {
  const Type& from = graph.type(graph.main().results[output]);
  const Type& to = graph.type(graph.main().params[input]);
  if (may_become(from, to)) return {};
  return fail(Code::bad_input, "--carry: output '{}' is {}, input '{}' takes {}", graph.output_names()[output],
              str(from, graph.scope()), graph.input_names()[input], str(to, graph.scope()));
}

}  // namespace

Result<Carry> Carry::make(const ValueSource& source, const std::vector<std::string>& pairs) {
  Carry carry;
  for (const std::string& pair : pairs) {
    FRAZIL_TRY(const auto split, split_pair(pair, "--carry"));
    FRAZIL_TRY(const std::size_t output, source.find_output(split.first));
    FRAZIL_TRY(const std::size_t input, source.find_input(split.second));
    if (std::ranges::any_of(carry.pairs_, [&](const auto& known) { return known.second == input; })) {
      return fail(Code::bad_input, "--carry: two outputs go to input '{}'", split.second);
    }
    FRAZIL_CHECK(check_types(source.graph(), output, input));
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
