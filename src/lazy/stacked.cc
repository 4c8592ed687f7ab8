#include "lazy/stacked.h"

#include <algorithm>
#include <cstring>

namespace frazil::lazy {
namespace {

bool is_same(const Output& a, const Output& b) { return a.block.get() == b.block.get() && a.row == b.row; }

bool differs(const Column& column) {
  return std::ranges::any_of(column, [&](const Output* each) { return !is_same(*each, *column[0]); });
}

/// True where the values lie one after the other already.
bool adjoin(const Column& column) {
  if (column[0]->row == Output::kWhole) return false;
  for (std::size_t i = 1; i < column.size(); ++i) {
    if (column[i]->block.get() != column[0]->block.get() || column[i]->row != column[0]->row + i) return false;
  }
  return true;
}

Sizes stacked_sizes(const Column& column) {
  Sizes sizes{static_cast<std::int64_t>(column.size())};
  sizes.insert(sizes.end(), column[0]->type->sizes.begin(), column[0]->type->sizes.end());
  return sizes;
}

Tensor view_of(const Column& column) {
  const Output& first = *column[0];
  Sizes sizes = stacked_sizes(column);
  Sizes strides = contiguous_strides(sizes);
  const Buffer& buffer = first.block->datum.tensor().buffer();
  const auto offset = static_cast<std::size_t>(first.data() - buffer.data());
  return {first.type->elem, std::move(sizes), std::move(strides), buffer, offset};
}

Result<Tensor> gather(const Column& column) {
  const KnownType& type = *column[0]->type;
  FRAZIL_TRY(Tensor stacked, Tensor::make(type.elem, stacked_sizes(column)));
  std::byte* to = stacked.mutable_data();
  for (const Output* each : column) {
    if (type.elem == Elem::string) {
      std::copy_n(reinterpret_cast<const std::string*>(each->data()), element_count(type.sizes),
                  reinterpret_cast<std::string*>(to));
    } else {
      std::memcpy(to, each->data(), type.bytes);
    }
    to += type.bytes;
  }
  return stacked;
}

const KnownType* type_of_rows(const Tensor& stacked) {
  return known_type(stacked.elem(), std::span(stacked.sizes()).subspan(1));
}

}  // namespace

Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances) {
  std::vector<bool> differing;
  std::vector<Datum> inputs, outputs;
  for (const Column& column : columns) {
    differing.push_back(instances > 1 && differs(column));
    if (!differing.back()) {
      inputs.push_back(datum_of(*column[0]));
    } else if (adjoin(column)) {
      inputs.emplace_back(view_of(column));
    } else {
      FRAZIL_TRY(inputs.emplace_back(), gather(column));
    }
  }
  StackedResults results;
  results.stacked = std::ranges::any_of(differing, std::identity());
  FRAZIL_CHECK(results.stacked ? program.run_batch(differing, inputs, outputs) : program.run(inputs, outputs));
  for (Datum& output : outputs) {
    const Datum& kept = results.blocks.emplace_back(new Held)->datum = std::move(output);
    const bool tensor = kept.is_tensor();
    results.types.push_back(!tensor           ? nullptr
                            : results.stacked ? type_of_rows(kept.tensor())
                                              : known_type(kept.tensor().elem(), kept.tensor().sizes()));
  }
  return results;
}

void assign(const StackedResults& results, std::size_t index, std::uint32_t row, Output& output) {
  output.type = results.types[index];
  output.block = results.blocks[index];
  output.row = results.stacked ? row : Output::kWhole;
}

}  // namespace frazil::lazy
