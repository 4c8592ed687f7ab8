#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil {

class OpSet;

/// A function that returns the tensor that the text names @name, or an undefined tensor if there is none.
using WeightSource = std::function<Tensor(std::string_view name)>;

/// Returns a graph as text. Equal structures with equal names give equal text, regardless of how values and unbacked
/// symbols (?0, ?1, ...) are numbered. Constants of at most 16 elements are inline, others are @name.
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
/// Names that are not identifiers are quoted: %"in:0". A number names a value without a name. Operators of other
/// domains are domain::Op. `_` is an absent input or an unwanted output; `;` starts a comment. An If whose types
/// follow one branch (Assumption) has `assume true` or `assume false` before its blocks; another node whose types
/// assume numbers has `assume 2, 0` after its attributes. A graph has `assume none` after its inputs if its types
/// assume nothing else.
std::string print(const Graph& graph);

/// Returns the constants that print() shows as @name.
std::map<std::string, Tensor, std::less<>> weights_of(const Graph& graph);

/// Returns the names under which print() shows values: "%x", "%3", "@weight".
std::vector<std::pair<Value, std::string>> value_texts(const Graph& graph);

/// Parses the output of print(); print(parse(print(g))) == print(g). Types are inferred. Types written for results and
/// block params are optional and are checked.
/// Errors are one line: "line 3, column 5: ...". Returns Code::limit if the text is too long, nests types too deeply,
/// or exceeds what the LoadScope of this thread allows. Operators are those of `own`, which may be null, and of the
/// registry.
Result<Graph> parse(std::string_view text, const WeightSource& weights = {}, const OpSet* own = nullptr);

/// Returns a text such as "f32[2] [1, 2]", which parses back to the same bits.
std::string literal(const Tensor& tensor);
Result<Tensor> parse_literal(std::string_view text);

/// Names with values: "%x = f32[2] [1, 2], s = seq(f32[] 1, f32[] 2), m = map(i64[] 3: f32[] 1), o = none".
using Bindings = std::vector<std::pair<std::string, Datum>>;
Result<Bindings> parse_bindings(std::string_view text);

}  // namespace frazil
