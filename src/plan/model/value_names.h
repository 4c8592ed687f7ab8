#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/key.h"

namespace frazil {

/// Numbers for keys: equal keys have one number, other keys have another one. 0 is no number.
class KeyNumbers {
 public:
  std::uint64_t of(const Key& key) { return numbers_.try_emplace(key.bytes(), numbers_.size() + 1).first->second; }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

/// Names the values of a graph by what computes them: operators, attributes, weights, inputs. Names are numbers of
/// `numbers`: where two graphs were made from one model and share it, values of equal names are equal in the same
/// request. A value that draws random numbers is named after its node as well, a param of a region after the region's
/// node and inputs.
class ValueNames {
 public:
  ValueNames(const Graph& graph, KeyNumbers& numbers);
  std::uint64_t of(Value v) const { return names_[v.id]; }
  /// Of a symbol that is read from a value or from its extents.
  std::optional<std::uint64_t> of_symbol(SymbolId symbol) const;
  /// Of the capacity along `axis` of a value that a loop makes longer.
  std::uint64_t of_capacity(Value v, std::size_t axis) const;
  /// Of extent `axis` of input `index`.
  std::uint64_t of_input(std::size_t index, std::size_t axis) const;
  /// Of what an operation of a DimProgram makes from a and b.
  std::uint64_t of_operation(DimProgram::Op op, std::uint64_t a, std::uint64_t b, std::int64_t imm) const;

 private:
  friend class ValueNaming;
  const Graph& graph_;
  KeyNumbers& numbers_;
  std::vector<std::uint64_t> names_;
};

/// True for a node whose results may differ from run to run.
bool draws_random_numbers(const Graph& graph, NodeId id);

}  // namespace frazil
