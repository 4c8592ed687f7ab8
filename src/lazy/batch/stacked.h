#pragma once

#include <span>
#include <vector>

#include "lazy/program/cone.h"
#include "lazy/program/program.h"

namespace frazil::lazy {

/// One input of a program for several instances: its value in each of them, or tensors that it has one behind the
/// other.
struct Column {
  std::size_t parts = 1;              ///< of one instance
  std::vector<const Output*> values;  ///< by instance, and then by part
};

/// Large columns that have been gathered, so that the next program that has one of them need not gather it again.
class GatheredColumns {
 public:
  GatheredColumns() = default;
  ~GatheredColumns() { clear(); }
  GatheredColumns(const GatheredColumns&) = delete;
  GatheredColumns& operator=(const GatheredColumns&) = delete;
  /// Null where there is none. Columns are equal that have the same values in the same order.
  const Tensor* find(const Column& column) const;
  void keep(const Column& column, const Tensor& tensor);
  /// To be called before values of kept columns may go.
  void clear() noexcept;

 private:
  struct Kept {
    Column column;
    Tensor tensor;
  };
  std::vector<Kept> kept_;
};

/// Runs a program once for several instances: `columns` are its inputs, some of which may be in `gathered`. `outputs`
/// have a block per result with the values of all instances stacked, or a whole value where no input differs (`stacked`
/// is then false).
struct StackedResults {
  std::vector<HeldRef> blocks;
  std::vector<const KnownType*> types;  ///< of each instance's value
  bool stacked = true;
};
Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances,
                                   GatheredColumns& gathered);

/// Result `index` of instance `row`.
void assign(const StackedResults& results, std::size_t index, std::uint32_t row, Output& output);

}  // namespace frazil::lazy
