#pragma once

#include <span>
#include <vector>

#include "lazy/program/cone.h"
#include "lazy/program/program.h"

namespace frazil::lazy {

/// One input of a program for several instances. In each instance it is one value, or several tensors concatenated
/// along the first axis.
struct Column {
  std::size_t parts = 1;              ///< tensors per instance
  std::vector<const Output*> values;  ///< by instance, then by part
};

/// Large columns that have been gathered, kept so that the next program with an equal column need not gather it again.
class GatheredColumns {
 public:
  GatheredColumns() = default;
  ~GatheredColumns() { clear(); }
  GatheredColumns(const GatheredColumns&) = delete;
  GatheredColumns& operator=(const GatheredColumns&) = delete;
  /// Returns the gathered tensor; null if there is none. Columns are equal if they have the same values in the same
  /// order.
  const Tensor* find(const Column& column) const;
  void insert(const Column& column, const Tensor& tensor);
  /// Drops all columns. Call it before values of kept columns may be freed.
  void clear() noexcept;

 private:
  struct Kept {
    Column column;
    Tensor tensor;
  };
  std::vector<Kept> kept_;
};

/// The results of run_stacked(). Each block has the values of all instances, stacked. If no input differs between
/// instances, `stacked` is false and each block has one value.
struct StackedResults {
  std::vector<HeldRef> blocks;
  std::vector<const KnownType*> types;  ///< per result: the type of one instance's value
  bool stacked = true;
};
/// Runs a program once for several instances. `columns` are its inputs, some of which may be in `gathered`.
Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances,
                                   GatheredColumns& gathered);

/// Sets `output` to result `index` of instance `row`.
void assign(const StackedResults& results, std::size_t index, std::uint32_t row, Output& output);

}  // namespace frazil::lazy
