#include "lazy/stacked.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace frazil::lazy {
namespace {

bool is_same(const Output& a, const Output& b) { return a.block.get() == b.block.get() && a.row == b.row; }

bool differs(const Column& column) {
  for (std::size_t i = column.parts; i < column.values.size(); ++i) {
    if (!is_same(*column.values[i], *column.values[i % column.parts])) return true;
  }
  return false;
}

/// True where the values lie one after the other already.
bool adjoin(const Column& column) {
  const auto& values = column.values;
  if (column.parts != 1 || values[0]->row == Output::kWhole) return false;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i]->block.get() != values[0]->block.get() || values[i]->row != values[0]->row + i) return false;
  }
  return true;
}

/// Of one instance.
Sizes sizes_of(const Column& column) {
  if (column.parts == 1) return column.values[0]->type->sizes;
  std::int64_t extent = 0;
  for (std::size_t i = 0; i < column.parts; ++i) extent += column.values[i]->type->sizes[0];
  return {extent};
}

Sizes stacked_sizes(const Column& column) {
  Sizes sizes = sizes_of(column);
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(column.values.size() / column.parts));
  return sizes;
}

Tensor view_of(const Column& column) {
  const Output& first = *column.values[0];
  Sizes sizes = stacked_sizes(column);
  Sizes strides = contiguous_strides(sizes);
  const Buffer& buffer = first.block->datum.tensor().buffer();
  const auto offset = static_cast<std::size_t>(first.data() - buffer.data());
  return {first.type->elem, std::move(sizes), std::move(strides), buffer, offset};
}

/// The first `count` values, copied one after the other.
Result<Tensor> gather(const Column& column, std::size_t count, Sizes sizes) {
  const Elem elem = column.values[0]->type->elem;
  FRAZIL_TRY(Tensor gathered, spare_tensor(elem, std::move(sizes)));
  std::byte* to = gathered.mutable_data();
  for (const Output* each : std::span(column.values).first(count)) {
    if (elem == Elem::string) {
      std::copy_n(reinterpret_cast<const std::string*>(each->data()), element_count(each->type->sizes),
                  reinterpret_cast<std::string*>(to));
    } else {
      std::memcpy(to, each->data(), each->type->bytes);
    }
    to += each->type->bytes;
  }
  return gathered;
}

/// The input for all instances, stacked where it differs.
Result<Datum> input_of(const Column& column, bool stacked) {
  if (!stacked && column.parts == 1) return datum_of(*column.values[0]);
  if (!stacked) return gather(column, column.parts, sizes_of(column));
  if (adjoin(column)) return Datum(view_of(column));
  return gather(column, column.values.size(), stacked_sizes(column));
}

const KnownType* type_of_rows(const Tensor& stacked) {
  return known_type(stacked.elem(), std::span(stacked.sizes()).subspan(1));
}

}  // namespace

Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances) {
  std::vector<bool> differing;
  std::vector<Datum> inputs;
  for (const Column& column : columns) {
    differing.push_back(instances > 1 && differs(column));
    FRAZIL_TRY(inputs.emplace_back(), input_of(column, differing.back()));
  }
  StackedResults results;
  results.stacked = std::ranges::any_of(differing, std::identity());
  std::vector<Datum> outputs = program.lent_results(results.stacked ? instances : 1);
  FRAZIL_CHECK(results.stacked ? program.run_batch(differing, inputs, outputs) : program.run(inputs, outputs));
  for (Datum& input : inputs) {
    if (input.is_tensor()) give_back(std::move(input.mutable_tensor()));
  }
  for (Datum& output : outputs) {
    const Datum& kept = results.blocks.emplace_back(new Held)->datum = std::move(output);
    const bool tensor = kept.is_tensor();
    results.types.push_back(!tensor           ? nullptr
                            : results.stacked ? type_of_rows(kept.tensor())
                                              : known_type(kept.tensor().elem(), kept.tensor().sizes()));
  }
  program.remember(results.types);
  return results;
}

void assign(const StackedResults& results, std::size_t index, std::uint32_t row, Output& output) {
  output.type = results.types[index];
  output.block = results.blocks[index];
  output.row = results.stacked ? row : Output::kWhole;
}

}  // namespace frazil::lazy
