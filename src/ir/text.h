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

/// A graph as text (docs/text-form.md). Deterministic: equal structures with equal names give equal text, however values
/// and data-dependent symbols are numbered. Constants of at most 16 elements stand inline, others as @name.
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

/// "%x = f32[2] [1, 2], y = i64[] 3, s = seq(f32[] 1, f32[] 2), o = none": names with values.
using Bindings = std::vector<std::pair<std::string, Datum>>;
Result<Bindings> parse_bindings(std::string_view text);

}  // namespace frazil
