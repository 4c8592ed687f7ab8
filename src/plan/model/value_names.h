#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/key.h"

namespace frazil {

/// Numbers for keys. Equal keys have the same number, different keys have different ones. 0 is not used.
class KeyNumbers {
 public:
  std::uint64_t of(const Key& key) { return numbers_.try_emplace(key.bytes(), numbers_.size() + 1).first->second; }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

/// Names the values of a graph by what computes them: operators, attributes, weights, inputs. Names are numbers of
/// `numbers`.
/// If two graphs of one model share `numbers`, values of equal names are equal in the same request. The name of a value
/// that draws random numbers includes its node. The name of a region's param includes the region's node and inputs.
class ValueNames {
 public:
  ValueNames(const Graph& graph, KeyNumbers& numbers);
  std::uint64_t of(Value v) const { return names_[v.id]; }
  /// Returns the name of a symbol that is read from a value or from its extents; nullopt for other symbols.
  std::optional<std::uint64_t> of_symbol(SymbolId symbol) const;
  /// Returns the name of the capacity along `axis` of a value that a loop makes longer.
  std::uint64_t of_capacity(Value v, std::size_t axis) const;
  /// Returns the name of extent `axis` of input `index`.
  std::uint64_t of_input(std::size_t index, std::size_t axis) const;
  /// Returns the name of the result of a DimProgram operation on a and b.
  std::uint64_t of_operation(DimProgram::Op op, std::uint64_t a, std::uint64_t b, std::int64_t imm) const;

 private:
  friend class ValueNaming;
  const Graph& graph_;
  KeyNumbers& numbers_;
  std::vector<std::uint64_t> names_;
};

/// Returns true for a node whose results may differ from run to run.
bool draws_random_numbers(const Graph& graph, NodeId id);

}  // namespace frazil
