#include "exec/run/carried.h"

namespace frazil::exec {

CarriedResults::CarriedResults(RunContext& context, Values& values, Memory& memory, const std::vector<Tensor>& inputs)
    : context_(context),
      values_(values),
      memory_(memory),
      inputs_(inputs),
      of_input_(values.plan.inputs.size(), kNone),
      of_output_(values.plan.outputs.size(), kNone),
      handed_(values.plan.appends.size()) {
  const auto& appends = values.plan.appends;
  for (std::uint32_t a = 0; a < appends.size(); ++a) {
    if (appends[a].input == kNone) continue;
    of_input_[appends[a].input] = a;
    of_output_[appends[a].output] = a;
  }
}

/// Claims the capacity after the contents of `old`. Returns false if there is none or another result has claimed it.
bool CarriedResults::claim(HandedOver& handed, const Tensor& old, const AxisRows& rows, std::size_t axis) {
  const Buffer& buffer = old.buffer();
  const std::size_t block = buffer.block_bytes();
  if (block == 0 || rows.row_bytes == 0 || block % rows.row_bytes != 0) return false;
  if (old.data() != buffer.data() || buffer.size() / block != rows.blocks) return false;
  const bool one_block = rows.blocks == 1 && old.contiguous();
  const auto capacity = static_cast<std::int64_t>(block / rows.row_bytes);
  if (!one_block && capacity_along(old, axis) != capacity) return false;
  const std::size_t from = static_cast<std::size_t>(old.sizes()[axis]) * rows.row_bytes;
  const std::size_t to = rows.rows * rows.row_bytes;
  if (!buffer.claim(from, to)) return false;
  handed = {.last = buffer.tag(), .claimed = buffer, .from = from, .to = to};
  return true;
}

void CarriedResults::finish(bool failed) {
  for (HandedOver& handed : handed_) {
    if (!handed.claimed) continue;
    if (failed) handed.claimed.unclaim(handed.from, handed.to);
    handed.claimed = Buffer();
  }
}

Status CarriedResults::make(std::uint32_t index, Datum& in) {
  const Plan::Append& append = values_.plan.appends[index];
  const Slot& slot = values_.plan.slot(append.slot);
  const Tensor& old = inputs_[append.input];
  std::int64_t& capacity = values_.regs[append.capacity];
  Sizes sizes;
  values_.sizes_of(slot, sizes);
  const AxisRows rows(byte_size(slot.elem), sizes, append.axis);
  FRAZIL_CHECK(memory_.check_size(slot.storage, bytes_for(rows, rows.rows)));
  HandedOver& handed = handed_[index];
  const auto has_capacity = [&](Buffer buffer, std::size_t count) {
    capacity = static_cast<std::int64_t>(count);
    in = Tensor(slot.elem, sizes, capacity_strides(sizes, append.axis, capacity), std::move(buffer), 0);
    return Status{};
  };
  const bool may_be_padded = context_.padded_results || rows.blocks == 1;
  if (may_be_padded && claim(handed, old, rows, append.axis)) {
    return has_capacity(old.buffer(), old.buffer().block_bytes() / rows.row_bytes);
  }
  const bool carried = old.buffer().is(handed.last) || old.buffer().block_bytes() != 0;
  if (!carried || !may_be_padded || bytes_for(rows, 1) == 0) {
    FRAZIL_CHECK(values_.make_tensor(slot, in));
    capacity = sizes[append.axis];
    handed.last = in.tensor().buffer().tag();
    return {};
  }
  std::size_t count = 0;
  FRAZIL_TRY(Buffer made, with_spare(rows.rows, count, [&](std::size_t n) -> Result<Buffer> {
               const std::size_t bytes = bytes_for(rows, n);
               if (bytes == SIZE_MAX) return Buffer::allocate(bytes);
               return Buffer::with_capacity(rows.blocks, bytes / rows.blocks, rows.row_bytes * rows.rows);
             }));
  handed.last = made.tag();
  return has_capacity(std::move(made), count);
}

}  // namespace frazil::exec
