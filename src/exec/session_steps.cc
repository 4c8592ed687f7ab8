#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/session.h"

namespace frazil {

std::unexpected<Fault> Session::out_of_steps(const Step& step) const {
  return fail(Code::limit, "{}the run took more than {} steps, with {} loop iterations since the session began",
              where(step), limits_.steps, counters_.iterations);
}

/// The one loop that runs everything. Steps that neither compute nor jump go through `other_step`.
Status Session::run_tape() {
  constexpr std::uint64_t kLookEvery = 16;
  const Step* const steps = plan_.steps.data();
  Governor& governor = *governor_;
  std::uint32_t pc = 0;
  for (std::uint64_t left = limits_.steps;; --left) {
    const Step& step = steps[pc];
    if (left == 0) [[unlikely]]
      return out_of_steps(step);
    if (left % kLookEvery == 0 ? governor.poll() : governor.stopping()) [[unlikely]]
      return governor.reason();
    switch (step.kind) {
      case Step::Kind::kernel:
        FRAZIL_CHECK(kernel(pc));
        ++pc;
        break;
      case Step::Kind::eval:
        FRAZIL_CHECK(eval(step.index));
        ++pc;
        break;
      case Step::Kind::jump: pc = step.target; break;
      case Step::Kind::branch: {
        const bool taken = *pointer(step.in[0]) != std::byte{0};
        if (observer_) observer_->branch(step, step.node, taken);
        pc = taken ? pc + 1 : step.target;
        break;
      }
      case Step::Kind::leave_at:
        if (regs_[step.index] < regs_[step.limit]) {
          ++pc;
          break;
        }
        if (observer_) observer_->count_reached(step, step.node);
        pc = step.target;
        break;
      case Step::Kind::again:
        ++counters_.iterations;
        if (observer_) observer_->iteration(step, step.node);
        pc = step.target;
        break;
      case Step::Kind::halt: return {};
      default: FRAZIL_CHECK(other_step(step)); ++pc;
    }
  }
}

Status Session::other_step(const Step& step) {
  switch (step.kind) {
    case Step::Kind::bind: return bind(step);
    case Step::Kind::pick: return pick(step);
    case Step::Kind::store: return store(step);
    case Step::Kind::move: return move(step);
    case Step::Kind::slice: return slice(step);
    case Step::Kind::grow: return grow(step);
    case Step::Kind::reserve: return reserve(step);
    case Step::Kind::append: return append(step);
    case Step::Kind::reset: return reset(step);
    case Step::Kind::stack: return stack(step);
    case Step::Kind::check: return check(step);
    case Step::Kind::assign: assign(step); return {};
    case Step::Kind::set: regs_[step.index] = step.number; return {};
    case Step::Kind::add: regs_[step.index] += step.number; return {};
    case Step::Kind::load: regs_[step.index] = scalar(step.in[0]); return {};
    case Step::Kind::swap: {
      const std::uint32_t a = plan_.slots[step.in[0]].storage, b = plan_.slots[step.out[0]].storage;
      std::swap(base_[a], base_[b]);
      std::swap(growing_[a], growing_[b]);
      return {};
    }
    case Step::Kind::guard:
      if (regs_[step.index] == step.number) return {};
      return fail(Code::other_version, "{}", step.limit);
    default: return fail(Code::internal, "a step of the plan is out of place");
  }
}

Status Session::reset(const Step& step) {
  const Accumulator& acc = plan_.accumulators[step.index];
  regs_[acc.count] = 0;
  for (Reg r : acc.dims) regs_[r] = 0;
  gathered_[step.index] = {};
  return ensure(acc.storage, 64);
}

Status Session::check(const Step& step) const {
  const Plan::Check& c = plan_.checks[step.index];
  if (regs_[c.a] == regs_[c.b]) return {};
  return fail(Code::bad_input, "{}: {}: {} is not {}", plan_.graph->describe(c.node), c.what, regs_[c.a], regs_[c.b]);
}

Status Session::eval(std::uint32_t index) {
  const RegGroup& group = plan_.groups[index];
  auto& seen = seen_[index];
  bool stale = !known_[index];
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::int64_t now = regs_[group.sources[i]];
    stale |= seen[i] != now;
    seen[i] = now;
  }
  if (!stale) return {};
  known_[index] = 0;
  ++counters_.shape_changes;
  group.program.run(regs_, 0, group.program.code.size());  // x / 0 is 0; checks tell where that is wrong
  for (std::uint32_t s : group.dependents) prepared_[s] = Ready::no;
  if (index == 0) FRAZIL_CHECK(lay_out_arena());
  known_[index] = 1;
  if (observer_) observer_->shapes_changed(index);
  return {};
}

std::int64_t Session::scalar(std::uint32_t id) const {
  const std::byte* p = pointer(id);
  if (plan_.slots[id].elem == Elem::i32) {
    std::int32_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  std::int64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

Status Session::bind(const Step& step) {
  const Slot& slot = plan_.slots[step.in[0]];
  if (slot.object) return fail(Code::unsupported, "{}a shape cannot come from a value of unknown rank", where(step));
  const std::byte* p = pointer(step.in[0]);
  for (auto [symbol, element] : step.pairs) {
    std::int64_t v = 0;
    switch (slot.elem) {
      case Elem::i64: std::memcpy(&v, p + 8 * std::size_t{element}, 8); break;
      case Elem::i32: {
        std::int32_t narrow;
        std::memcpy(&narrow, p + 4 * std::size_t{element}, 4);
        v = narrow;
        break;
      }
      default: v = static_cast<std::int64_t>(p[element]); break;
    }
    regs_[symbol] = std::clamp(v, Dim::kMin, Dim::kMax);
  }
  return {};
}

Status Session::pick(const Step& step) {
  const std::int64_t index = scalar(step.in[0]), extent = regs_[step.limit];
  if (index < -extent || index >= extent) {
    return fail(Code::bad_input, "{}input 'indices': index {} at [] is outside [{}, {}]", where(step), index, -extent,
                extent - 1);
  }
  regs_[step.index] = index < 0 ? index + extent : index;
  return {};
}

Status Session::store(const Step& step) {
  const Slot& slot = plan_.slots[step.out[0]];
  FRAZIL_CHECK(ensure_outputs(step));
  std::byte* p = pointer(step.out[0]);
  for (auto [element, reg] : step.pairs) {
    const std::int64_t v = regs_[reg];
    switch (byte_size(slot.elem)) {
      case 8: std::memcpy(p + 8 * std::size_t{element}, &v, 8); break;
      case 4: {
        const auto narrow = static_cast<std::int32_t>(v);
        std::memcpy(p + 4 * std::size_t{element}, &narrow, 4);
        break;
      }
      default: p[element] = static_cast<std::byte>(v); break;
    }
  }
  return {};
}

void Session::assign(const Step& step) {
  if (step.pairs.size() == 1) {
    regs_[step.pairs[0].first] = regs_[step.pairs[0].second];
    return;
  }
  sizes_.clear();
  for (auto [to, from] : step.pairs) sizes_.push_back(regs_[from]);
  for (std::size_t i = 0; i < step.pairs.size(); ++i) regs_[step.pairs[i].first] = sizes_[i];
}

Status Session::ensure(std::uint32_t storage, std::size_t bytes, bool keep) {
  Growing& g = growing_[storage];
  if (bytes <= g.capacity) return {};
  const std::size_t wanted = std::max(bytes, keep ? g.capacity * 2 : g.capacity + g.capacity / 4);
  FRAZIL_CHECK(check_size(storage, bytes));
  if (limits_.arena_bytes < Limits{}.arena_bytes) FRAZIL_CHECK(check_arena(account_of(storage), g.capacity, wanted));
  growing_bytes_ -= g.capacity;
  if (!keep) g = {};
  auto grown = Buffer::allocate(wanted);
  if (!grown) {
    growing_bytes_ += g.capacity;
    return within(account_of(storage) + ": ", std::move(grown).error());
  }
  growing_bytes_ += wanted;
  if (keep && g.capacity > 0) std::memcpy(grown->data(), g.buffer.data(), g.capacity);
  g.buffer = std::move(*grown);
  g.capacity = wanted;
  base_[storage] = g.buffer.data();
  return {};
}

Status Session::ensure_outputs(const Step& step) {
  for (std::uint32_t s : step.out) {
    if (s == kNone) continue;
    const std::uint32_t id = plan_.slots[s].storage;
    const Storage& storage = plan_.storages[id];
    if (storage.place != Place::growing || storage.bytes == kNoReg) continue;
    FRAZIL_CHECK(ensure(id, static_cast<std::size_t>(std::max<std::int64_t>(regs_[storage.bytes], 64))));
  }
  return {};
}

Status Session::append(const Step& step) {
  const Accumulator& acc = plan_.accumulators[step.index];
  if (acc.object) return append_object(step);
  const Slot& slot = plan_.slots[step.in[0]];
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < acc.dims.size(); ++i) {
    const std::int64_t d = regs_[slot.dims[i]];
    if (regs_[acc.count] > 0 && regs_[acc.dims[i]] != d) {
      return fail(Code::bad_input, "{}a scan output changes its extent from {} to {}", where(step), regs_[acc.dims[i]],
                  d);
    }
    regs_[acc.dims[i]] = d;
    elements *= d;
  }
  const std::size_t bytes = static_cast<std::size_t>(elements) * byte_size(slot.elem);
  const std::size_t at = static_cast<std::size_t>(regs_[acc.count]) * bytes;
  ++regs_[acc.count];
  if (step.in_place) return {};
  FRAZIL_CHECK(ensure(acc.storage, at + std::max<std::size_t>(bytes, 64), true));
  if (bytes != 0) std::memcpy(base_[acc.storage] + at, pointer(step.in[0]), bytes);
  return {};
}

Status Session::append_object(const Step& step) {
  const Accumulator& acc = plan_.accumulators[step.index];
  FRAZIL_TRY(const Datum datum, owned_datum_of(step.in[0]));
  if (!datum.is_tensor()) return fail(Code::bad_input, "{}a scan output is no tensor", where(step));
  const Tensor& part = datum.tensor();
  if (Status s = gathered_[step.index].add(part); !s) return within(where(step), std::move(s).error());
  for (std::size_t i = 0; i < acc.dims.size(); ++i) regs_[acc.dims[i]] = part.sizes()[i];
  ++regs_[acc.count];
  return {};
}

Status Session::stack(const Step& step) {
  const Slot& out = plan_.slots[step.out[0]];
  const ref::Gathered gathered = std::exchange(gathered_[step.index], {});
  const auto nothing = [&] {
    Sizes sizes;
    sizes_of(out, sizes);
    if (sizes.empty()) sizes.push_back(0);  // of unknown rank
    return Tensor::make(out.elem, std::move(sizes));
  };
  Result<Tensor> whole = gathered.empty() ? nothing() : gathered.stack(step.number, step.reversed);
  if (!whole) return within(where(step), std::move(whole).error());
  objects_[out.storage] = Datum(*std::move(whole));
  return {};
}

Status Session::move(const Step& step) {
  const Slot &from = plan_.slots[step.in[0]], &to = plan_.slots[step.out[0]];
  if (to.object) {
    if (from.object) {
      objects_[to.storage] = objects_[from.storage];
      return {};
    }
    Datum none;
    FRAZIL_TRY(Tensor copy, copy_out(step.in[0], none));
    objects_[to.storage] = Datum(std::move(copy));
    return {};
  }
  return fail(Code::internal, "{}a value of unknown rank meets one of known rank", where(step));
}

Status Session::slice(const Step& step) {
  const Tensor& whole = objects_[plan_.slots[step.in[0]].storage].tensor();
  Result<Tensor> part = ref::slice(whole, step.number, regs_[step.index], step.reversed);
  if (!part) return within(where(step), std::move(part).error());
  objects_[plan_.slots[step.out[0]].storage] = Datum(*std::move(part));
  return {};
}

}  // namespace frazil
