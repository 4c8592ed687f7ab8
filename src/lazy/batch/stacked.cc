#include "lazy/batch/stacked.h"

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

/// Returns true if the values already lie one after another in memory.
bool adjoin(const Column& column) {
  const auto& values = column.values;
  if (column.parts != 1 || values[0]->row == Output::kWhole) return false;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i]->block.get() != values[0]->block.get() || values[i]->row != values[0]->row + i) return false;
  }
  return true;
}

/// Returns the sizes of one instance's input.
Sizes sizes_of(const Column& column) {
  Sizes sizes = column.values[0]->type->sizes;
  for (std::size_t i = 1; i < column.parts; ++i) sizes[0] += column.values[i]->type->sizes[0];
  return sizes;
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

constexpr std::size_t kAhead = 3;  // values between the one that is copied and the one that is prefetched

/// Prefetches the first cache lines of a value. The hardware prefetcher continues after these.
void fetch(const Output& output) {
  constexpr std::size_t kLine = 64, kLines = 4;
  for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(output.data() + line * kLine);
}

/// Copies the first `count` values one after another.
Result<Tensor> gather(const Column& column, std::size_t count, Sizes sizes) {
  const Elem elem = column.values[0]->type->elem;
  FRAZIL_TRY(Tensor gathered, spare_tensor(elem, std::move(sizes)));
  std::byte* to = gathered.mutable_data();
  for (std::size_t i = 0; i < count; ++i) {
    const Output* const each = column.values[i];
    if (i + kAhead < count) fetch(*column.values[i + kAhead]);
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

/// Returns the input for all instances, stacked if it differs between them.
Result<Datum> input_of(const Column& column, bool stacked, GatheredColumns& gathered) {
  if (!stacked && column.parts == 1) return datum_of(*column.values[0]);
  if (!stacked) return gather(column, column.parts, sizes_of(column));
  if (adjoin(column)) return Datum(view_of(column));
  if (const Tensor* const known = gathered.find(column)) return Datum(*known);
  FRAZIL_TRY(Tensor all, gather(column, column.values.size(), stacked_sizes(column)));
  gathered.insert(column, all);
  return Datum(std::move(all));
}

const KnownType* type_of_rows(const Tensor& stacked) {
  return known_type(stacked.elem(), std::span(stacked.sizes()).subspan(1));
}

}  // namespace

const Tensor* GatheredColumns::find(const Column& column) const {
  const auto at = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.column.parts == column.parts && kept.column.values == column.values;
  });
  return at == kept_.end() ? nullptr : &at->tensor;
}

void GatheredColumns::insert(const Column& column, const Tensor& tensor) {
  constexpr std::size_t kLarge = 4096;  // bytes of a value
  if (column.values[0]->type->bytes >= kLarge) kept_.push_back({column, tensor});
}

void GatheredColumns::clear() noexcept {
  for (Kept& kept : kept_) give_back(std::move(kept.tensor));
  kept_.clear();
}

Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances,
                                   GatheredColumns& gathered) {
  std::vector<bool> differing;
  std::vector<Datum> inputs;
  for (const Column& column : columns) {
    differing.push_back(instances > 1 && differs(column));
    FRAZIL_TRY(inputs.emplace_back(), input_of(column, differing.back(), gathered));
  }
  StackedResults results;
  results.stacked = std::ranges::any_of(differing, std::identity());
  std::vector<Datum> outputs = program.borrowed_results(results.stacked ? instances : 1);
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
