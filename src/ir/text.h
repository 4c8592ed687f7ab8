#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil {

/// Gives the tensor of a name that the text writes as @name; an undefined tensor where there is none.
using WeightSource = std::function<Tensor(std::string_view name)>;

/// A graph as text. Deterministic: equal structures with equal names give equal text, however values and data-dependent
/// symbols (?0, ?1, ...) are numbered. Constants of at most 16 elements stand inline, others as @name.
///
///   dim N in 1..64
///   weight @conv.weight: f32[8,1,5,5]
///   graph mnist(%image: f32[N,1,28,28], %k: i64[1] = [5]) {
///     %1: f32[N,8,28,28] = Conv(%image, @conv.weight) {pads = [2, 2, 2, 2]} "conv1"
///     %v: f32[N,8,28,?0], _ = TopK(%1, %k)
///     %r: f32[N,8,28,?0] = If(%flag) then_branch() {
///       yield %v
///     } else_branch() { ... } "exit"
///     return y = %r
///   }
///
/// Names that are no words stand in quotes: %"in:0". A plain number is a value without a name. Operators of other
/// domains are domain::Op; `_` is an absent input or an output not wanted; `;` starts a comment. A region whose types
/// follow one side (Graph::Assumption) says `assume true` or `assume false` before its blocks.
std::string print(const Graph& graph);

/// The constants that print() shows as @name.
std::map<std::string, Tensor, std::less<>> weights_of(const Graph& graph);

/// Reads what print() writes; print(parse(print(g))) == print(g). Types are inferred; those that the text gives for
/// results and block params are checked, and may be left out. Errors are one line: "line 3, column 5: ...".
/// Code::limit for a text that is too long or nests types too deep.
Result<Graph> parse(std::string_view text, const WeightSource& weights = {});

/// "f32[2] [1, 2]": reads back to the same bits.
std::string literal(const Tensor& tensor);
Result<Tensor> parse_literal(std::string_view text);

/// "%x = f32[2] [1, 2], s = seq(f32[] 1, f32[] 2), m = map(i64[] 3: f32[] 1), o = none": names with values.
using Bindings = std::vector<std::pair<std::string, Datum>>;
Result<Bindings> parse_bindings(std::string_view text);

}  // namespace frazil
