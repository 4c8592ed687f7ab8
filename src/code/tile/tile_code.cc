#include "code/tile/tile_code.h"

#include <algorithm>

namespace frazil::code {
namespace {

/// True when `ins` may write where its operand `a` lies: each element is read before it is written there.
bool may_overwrite(const TileCode& code, const FusedIns& ins, std::uint32_t a) {
  if (is_fold(ins.row) || byte_size(code.body[a].ins.scalar.type) != byte_size(ins.scalar.type)) return false;
  if (ins.row == RowOp::none) return true;
  int reads = 0;
  for_operands(ins, [&](std::uint32_t operand) { reads += operand == a ? 1 : 0; });
  return a == ins.scalar.a && reads == 1;
}

/// A buffer for each instruction, taken again once what lies in it has been read for the last time.
class BufferAssignment {
 public:
  explicit BufferAssignment(TileCode& code) : code_(code), last_(code.body.size()) {
    for (std::uint32_t i = 0; i < last_.size(); ++i) {
      last_[i] = i;
      for_operands(code.body[i].ins, [&](std::uint32_t a) { last_[a] = i; });
    }
  }

  void run() {
    for (std::uint32_t i = 0; i < code_.body.size(); ++i) {
      TileCode::Ins& ins = code_.body[i];
      code_.width = std::max(code_.width, static_cast<std::uint16_t>(byte_size(ins.ins.scalar.type)));
      const std::uint32_t buffer = choose(i);
      holds_[buffer] = i;
      ins.buffer = static_cast<std::uint16_t>(buffer);
    }
    code_.buffers = static_cast<std::uint16_t>(holds_.size());
  }

 private:
  std::uint32_t choose(std::uint32_t i) {
    for (std::uint32_t b = 0; b < holds_.size(); ++b) {
      const std::uint32_t held = holds_[b];
      if (last_[held] < i || (last_[held] == i && may_overwrite(code_, code_.body[i].ins, held))) return b;
    }
    holds_.push_back(i);
    return static_cast<std::uint32_t>(holds_.size() - 1);
  }

  TileCode& code_;
  std::vector<std::uint32_t> last_;   // per instruction: the last that reads it
  std::vector<std::uint32_t> holds_;  // per buffer: the instruction whose elements lie there
};

void find_axes(TileCode& code) {
  const std::size_t count = code.operands.size() + code.stores.size();
  code.axis_of_.assign(count * code.domain_rank, -1);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t n = code.operands.size();
    const Access& access = k < n ? code.operands[k].access : code.stores[k - n].access;
    code.in_order &=
        access.axes.size() != code.domain_rank || access == Access::broadcast(code.domain_rank, code.domain_rank);
    for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
      if (access.axes[axis] == Access::kFixed) continue;
      code.axis_of_[k * code.domain_rank + access.axes[axis]] = static_cast<std::int16_t>(axis);
    }
  }
}

}  // namespace

OperandRange body_operands(const FusedKernel& kernel) {
  const auto all = static_cast<std::uint32_t>(kernel.operands.size());
  if (!kernel.producer) return {0, all};
  const std::uint32_t first = kernel.producer->operands.end();
  const std::uint32_t end = kernel.producer->prologue ? kernel.producer->prologue_operands.first : all;
  return {first, end - first};
}

TileCode compile_tiles(const FusedKernel& kernel, const OperandRange& operands) {
  TileCode code;
  code.domain_rank = kernel.domain.size();
  code.rows = kernel.works_on_rows();
  code.stores = kernel.stores;
  const std::uint32_t produced = kernel.producer ? 1 : 0;
  if (produced != 0) {
    code.operands.push_back({produced_elem(kernel), Access::broadcast(kernel.domain.size(), kernel.domain.size())});
  }
  for (std::uint32_t k = operands.first; k < operands.end(); ++k) code.operands.push_back(kernel.operands[k]);
  for (const FusedIns& ins : kernel.body) {
    code.body.push_back({ins});
    if (!ins.is(ScalarOp::load)) continue;
    std::uint32_t& k = code.body.back().ins.scalar.operand;
    k = k == kProduced ? 0 : k - operands.first + produced;
  }
  code.has_integers = std::ranges::any_of(code.body, [](const TileCode::Ins& i) {
    const Elem e = i.ins.scalar.type;
    return e == Elem::u8 || e == Elem::i8 || e == Elem::i32;
  });
  find_axes(code);
  BufferAssignment(code).run();
  return code;
}

}  // namespace frazil::code
