#include "exec/run/value_steps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/run/compiled_plan.h"

namespace frazil::exec {

Status ValueSteps::run(const Step& step) {
  switch (step.body.index()) {
    case kind<step::Load>(): {
      const auto& load = *step.as<step::Load>();
      values_.regs[load.to] = values_.scalar(load.from);
      return {};
    }
    case kind<step::Store>(): return run_store(*step.as<step::Store>());
    case kind<step::Assign>(): run_assign(*step.as<step::Assign>()); return {};
    case kind<step::Check>(): return run_check(step, *step.as<step::Check>());
    case kind<step::Bind>(): return run_bind(step, *step.as<step::Bind>());
    case kind<step::Pick>(): return run_pick(step, *step.as<step::Pick>());
    case kind<step::Append>(): return run_append(step, *step.as<step::Append>());
    case kind<step::Reserve>(): return memory_.reserve(*step.as<step::Reserve>());
    case kind<step::Reset>(): return run_reset(*step.as<step::Reset>());
    case kind<step::Grow>(): return memory_.grow(*step.as<step::Grow>());
    case kind<step::Move>(): return run_move(step, *step.as<step::Move>());
    case kind<step::Slice>(): return run_slice(step, *step.as<step::Slice>());
    case kind<step::Stack>(): return run_stack(step, *step.as<step::Stack>());
    case kind<step::Transfer>(): return memory_.devices().transfer(step, *step.as<step::Transfer>());
    default: return fail(Code::internal, "a step '{}' of the plan is out of place", name_of(step));
  }
}

// ---- registers ----

Status ValueSteps::run_bind(const Step& step, const step::Bind& bind) {
  if (plan_.slot(bind.from).object) {
    return fail_at(values_.where(step), Code::unsupported, "a shape cannot come from a value of unknown rank");
  }
  const std::int64_t count = bind.count == kNoReg ? Dim::kMax : values_.regs[bind.count];
  for (const auto& e : bind.elements) {
    if (e.element >= count) {
      values_.regs[e.to] = 0;
      continue;
    }
    values_.regs[e.to] = std::clamp(values_.integer(bind.from, e.element), Dim::kMin, Dim::kMax);
  }
  return {};
}

Status ValueSteps::run_pick(const Step& step, const step::Pick& pick) {
  const std::int64_t index = values_.scalar(pick.index), extent = values_.regs[pick.extent];
  if (index < -extent || index >= extent) {
    return fail_at(values_.where(step), Code::bad_input, "input 'indices': index {} at [] is outside [{}, {}]", index,
                   -extent, extent - 1);
  }
  values_.regs[pick.to] = index < 0 ? index + extent : index;
  return {};
}

Status ValueSteps::run_store(const step::Store& store) {
  const Slot& slot = plan_.slot(store.to);
  const Storage& storage = plan_.storages[slot.storage];
  if (storage.place == Place::growing && storage.bytes != kNoReg) {
    FRAZIL_CHECK(memory_.ensure(slot.storage,
                                static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[storage.bytes], 64))));
  }
  std::byte* p = values_.pointer(store.to);
  for (Reg reg : store.elements) {
    const std::int64_t v = values_.regs[reg];
    switch (byte_size(slot.elem)) {
      case 8: std::memcpy(p, &v, 8); break;
      case 4: {
        const auto narrow = static_cast<std::int32_t>(v);
        std::memcpy(p, &narrow, 4);
        break;
      }
      default: *p = static_cast<std::byte>(v); break;
    }
    p += byte_size(slot.elem);
  }
  return {};
}

void ValueSteps::run_assign(const step::Assign& assign) {
  auto& regs = values_.regs;
  if (assign.copies.size() == 1) {
    regs[assign.copies[0].to] = regs[assign.copies[0].from];
    return;
  }
  moving_.clear();
  for (const auto& c : assign.copies) moving_.push_back(regs[c.from]);
  for (std::size_t i = 0; i < assign.copies.size(); ++i) regs[assign.copies[i].to] = moving_[i];
}

Status ValueSteps::run_check(const Step& step, const step::Check& check) {
  const std::int64_t a = values_.regs[check.a], b = values_.regs[check.b];
  if (a == b) return {};
  return fail_at(plan_.graph->describe(step.node), Code::bad_input, "{}: {} is not {}", plan_.texts[check.what], a, b);
}

// ---- what loops collect ----

Status ValueSteps::run_reset(const step::Reset& reset) {
  const Accumulator& acc = plan_.accumulators[reset.accumulator.id];
  values_.regs[acc.count] = 0;
  for (Reg r : acc.dims) values_.regs[r] = 0;
  values_.gathered[reset.accumulator.id] = {};
  return memory_.ensure(acc.storage, 64);
}

Status ValueSteps::run_append(const Step& step, const step::Append& append) {
  const Accumulator& acc = plan_.accumulators[append.accumulator.id];
  if (acc.object) return append_object(step, append);
  auto& regs = values_.regs;
  const Slot& slot = plan_.slot(append.part);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < acc.dims.size(); ++i) {
    const std::int64_t d = regs[slot.dims[i]];
    if (regs[acc.count] > 0 && regs[acc.dims[i]] != d) {
      return fail_at(values_.where(step), Code::bad_input, "a scan output changes its extent from {} to {}",
                     regs[acc.dims[i]], d);
    }
    regs[acc.dims[i]] = d;
    elements *= d;
  }
  const std::size_t bytes = static_cast<std::size_t>(elements) * byte_size(slot.elem);
  const std::size_t at = static_cast<std::size_t>(regs[acc.count]) * bytes;
  ++regs[acc.count];
  if (append.in_place) return {};
  FRAZIL_CHECK(memory_.ensure(acc.storage, at + std::max<std::size_t>(bytes, 64), true));
  if (bytes != 0) std::memcpy(values_.base[acc.storage] + at, values_.pointer(append.part), bytes);
  return {};
}

Status ValueSteps::append_object(const Step& step, const step::Append& append) {
  const Accumulator& acc = plan_.accumulators[append.accumulator.id];
  FRAZIL_TRY(const Datum datum, values_.owned(append.part));
  if (!datum.is_tensor()) return fail_at(values_.where(step), Code::bad_input, "a scan output is not a tensor");
  const Tensor& part = datum.tensor();
  if (Status s = values_.gathered[append.accumulator.id].add(part); !s) {
    return at_node(values_.where(step), std::move(s).error());
  }
  for (std::size_t i = 0; i < acc.dims.size(); ++i) values_.regs[acc.dims[i]] = part.sizes()[i];
  ++values_.regs[acc.count];
  return {};
}

Status ValueSteps::run_stack(const Step& step, const step::Stack& stack) {
  const Slot& out = plan_.slot(stack.to);
  const ref::Gathered gathered = std::exchange(values_.gathered[stack.accumulator.id], {});
  const auto nothing = [&] {
    Sizes sizes;
    values_.sizes_of(out, sizes);
    if (sizes.empty()) sizes.push_back(0);  // the rank is unknown
    return Tensor::make(out.elem, std::move(sizes));
  };
  Result<Tensor> whole = gathered.empty() ? nothing() : gathered.stack(stack.axis, stack.reversed);
  if (!whole) return at_node(values_.where(step), std::move(whole).error());
  values_.object(stack.to) = Datum(*std::move(whole));
  return {};
}

// ---- objects ----

Status ValueSteps::run_move(const Step& step, const step::Move& move) {
  if (!plan_.slot(move.to).object) {
    return fail_at(values_.where(step), Code::internal, "a value of unknown rank meets one of known rank");
  }
  FRAZIL_TRY(values_.object(move.to), values_.owned(move.from));
  return {};
}

Status ValueSteps::run_slice(const Step& step, const step::Slice& slice) {
  const Tensor& whole = values_.object(slice.from).tensor();
  Result<Tensor> part = ref::slice(whole, slice.axis, values_.regs[slice.at], slice.reversed);
  if (!part) return at_node(values_.where(step), std::move(part).error());
  values_.object(slice.to) = Datum(*std::move(part));
  return {};
}

}  // namespace frazil::exec
