#include "lazy/program/memo.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/value/hash.h"

namespace frazil::lazy {
namespace {

constexpr std::uint64_t kMaxBytes = 1ULL << 30U;  // for all tables

std::atomic<std::uint64_t> bytes_held = 0;

}  // namespace

Memo::~Memo() { bytes_held -= bytes_; }

std::size_t Memo::HashOf::operator()(const Key& key) const {
  Hasher hasher;
  for (const auto& [block, row] : key.rows) hasher.add(reinterpret_cast<std::uint64_t>(block)).add(row);
  return hasher.value();
}

Memo::Key Memo::key_of(std::span<const Ref> inputs) {
  Key key;
  for (const Ref& input : inputs) key.rows.emplace_back(output_of(input).block.get(), output_of(input).row);
  return key;
}

std::uint32_t Memo::find(std::span<const Ref> inputs) const {
  if (inputs.size() == 1 && output_of(inputs[0]).block.get() == only_.get()) {
    const std::uint32_t row = output_of(inputs[0]).row;
    return row < by_row_.size() ? by_row_[row] : kUnknown;
  }
  const auto at = by_key_.find(key_of(inputs));
  return at == by_key_.end() ? kUnknown : at->second;
}

bool Memo::recall(std::span<const Ref> inputs, std::span<Output> outputs) const {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t number = find(inputs);
  if (number == kUnknown) return false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    outputs[k].type = columns_[k].type;
    outputs[k].block = columns_[k].pieces[number / kPieceRows];
    outputs[k].row = number % kPieceRows;
  }
  return true;
}

void Memo::insert(std::span<const Ref> inputs, std::uint32_t number) {
  const Output& first = output_of(inputs[0]);
  if (inputs.size() == 1 && !only_) only_ = first.block;
  if (inputs.size() == 1 && first.block.get() == only_.get()) {
    if (first.row >= by_row_.size()) {
      by_row_.resize(static_cast<std::size_t>(only_->datum.tensor().sizes()[0]), kUnknown);
    }
    by_row_[first.row] = number;
    return;
  }
  for (const Ref& input : inputs) {
    const HeldRef& block = output_of(input).block;
    const bool known = std::ranges::any_of(parameters_, [&](const HeldRef& p) { return p.get() == block.get(); });
    if (!known) parameters_.push_back(block);
  }
  by_key_.emplace(key_of(inputs), number);
}

/// Makes room for one more row of each result. Returns false if memory is used up or a type differs from that of
/// earlier rows.
bool Memo::make_room(std::span<const Output> outputs) {
  if (columns_.empty()) columns_.resize(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (columns_[k].type == nullptr) columns_[k].type = outputs[k].type;
    if (columns_[k].type != outputs[k].type || outputs[k].type == nullptr) return false;
    if (outputs[k].type->elem == Elem::string) return false;
  }
  if (count_ % kPieceRows != 0) return true;
  for (Column& column : columns_) {
    const std::uint64_t bytes = kPieceRows * column.type->bytes;
    if (bytes_held + bytes > kMaxBytes) return false;
    Sizes sizes{kPieceRows};
    sizes.insert(sizes.end(), column.type->sizes.begin(), column.type->sizes.end());
    auto tensor = Tensor::make(column.type->elem, std::move(sizes));
    if (!tensor) return false;
    column.pieces.resize(count_ / kPieceRows);  // removes the piece of an attempt that failed for another column
    column.pieces.emplace_back(new Held)->datum = std::move(*tensor);
    bytes_held += bytes;
    bytes_ += bytes;
  }
  return true;
}

void Memo::insert(std::span<const Ref> inputs, std::span<const Output> outputs) {
  const std::scoped_lock lock(mutex_);
  if (find(inputs) != kUnknown || !make_room(outputs)) return;
  const std::uint32_t number = count_++;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t bytes = columns_[k].type->bytes;
    std::byte* const to = columns_[k].pieces[number / kPieceRows]->datum.mutable_tensor().mutable_data();
    std::memcpy(to + (number % kPieceRows) * bytes, outputs[k].data(), bytes);
  }
  insert(inputs, number);
}

}  // namespace frazil::lazy
