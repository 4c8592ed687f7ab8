#include "plan/lower/devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/analyse/dataflow.h"

namespace frazil {
namespace {

template <class F>
void for_written(const Plan& plan, const Step& step, F f) {
  struct Slots {
    F f;
    void reg(Reg) const {}
    void slot(SlotId s) { f(s); }
    void accumulator(AccumulatorId) const {}
  };
  for_definitions(plan, step, Slots{f});
}

class DevicePlacer {
 public:
  DevicePlacer(Plan& plan, std::vector<LoopSpan>& loops) : plan_(plan), loops_(loops), of_(plan.steps.size(), kHost) {}

  void run(const DevicePlacement& placement) {
    scan_storages();
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      const auto* launch = plan_.steps[i].as<step::Launch>();
      if (launch != nullptr && can_move(*launch)) of_[i] = placement(plan_, plan_.steps[i]);
    }
    if (std::ranges::all_of(of_, [](DeviceId d) { return d == kHost; })) return;
    find_host_readers();
    find_jumps();
    rewrite();
    renumber();
  }

 private:
  using Copies = std::set<std::pair<std::uint32_t, DeviceId>>;
  struct OpenRegion {
    StepIndex begin, end;
    Copies kept;  ///< copies made before it, whose originals no step in it writes
  };

  // ---- what may move ----

  void scan_storages() {
    const std::size_t count = plan_.storages.size();
    writers_.assign(count, 0);
    whole_.assign(count, SlotId{});
    for (const Step& step : plan_.steps) {
      for_written(plan_, step, [&](SlotId s) { ++writers_[plan_.slot(s).storage]; });
    }
    for (const Accumulator& a : plan_.accumulators) writers_[a.storage] += 2;
    for (std::uint32_t s = 0; s < plan_.slots.size(); ++s) {
      SlotId& whole = whole_[plan_.slots[s].storage];
      if (!whole && plan_.slots[s].is_whole()) whole = {s};
    }
    for (const Plan::Append& a : plan_.appends) whole_[plan_.slot(a.slot).storage] = {};
  }

  bool can_read(SlotId s) const {
    const Storage& storage = plan_.storage(s);
    if (plan_.slot(s).object || plan_.slot(s).elem == Elem::string) return false;
    switch (storage.place) {
      case Place::constant:
      case Place::tiles: return true;
      case Place::input: return plan_.slot(plan_.inputs[storage.index]).is_whole();
      case Place::arena: return static_cast<bool>(whole_[plan_.slot(s).storage]);
      default: return false;
    }
  }
  bool can_write(SlotId s) const {
    const Storage& storage = plan_.storage(s);
    return can_read(s) && storage.place == Place::arena && !storage.swapped && !storage.by_rows &&
           plan_.slot(s).is_whole() && writers_[plan_.slot(s).storage] == 1;
  }
  bool can_move(const step::Launch& launch) const {
    return launch.extents.empty() && std::ranges::all_of(launch.in, [&](SlotId s) { return !s || can_read(s); }) &&
           std::ranges::all_of(launch.out, [&](SlotId s) { return !s || can_write(s); });
  }

  /// Finds storages that are read elsewhere than on the device of their only writer.
  void find_host_readers() {
    home_.assign(plan_.storages.size(), kHost);
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      if (of_[i] == kHost) continue;
      for (SlotId s : plan_.steps[i].as<step::Launch>()->out) {
        if (s) home_[plan_.slot(s).storage] = of_[i];
      }
    }
    needed_elsewhere_.assign(plan_.storages.size(), false);
    const auto reads = [&](SlotId s, DeviceId from) {
      const std::uint32_t storage = plan_.slot(s).storage;
      if (home_[storage] != from) needed_elsewhere_[storage] = true;
    };
    for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
      for_slots(plan_.steps[i], [&](SlotId s) { reads(s, of_[i]); });
    }
    for (SlotId s : plan_.outputs) reads(s, kHost);
  }

  void find_jumps() {
    jumps_from_.resize(plan_.steps.size());
    struct Visitor : FieldVisitor {
      std::vector<std::vector<StepIndex>>& from;
      StepIndex step;
      Visitor(std::vector<std::vector<StepIndex>>& f, StepIndex s) : from(f), step(s) {}
      void target(std::string_view, const StepIndex& to) { from[to].push_back(step); }
    };
    for (StepIndex i = 0; i < plan_.steps.size(); ++i)
      for_fields(std::as_const(plan_.steps[i]), Visitor(jumps_from_, i));
  }

  // ---- storages of devices ----

  std::uint32_t twin(std::uint32_t storage, DeviceId device) {
    const auto [it, made] =
        twins_.emplace(std::pair(storage, device), static_cast<std::uint32_t>(plan_.storages.size()));
    if (!made) return it->second;
    Storage copy = plan_.storages[storage];
    copy.device = device;
    copy.swapped = copy.by_rows = false;
    if (copy.place == Place::input) {
      copy.bytes = bytes_of(plan_.inputs[copy.index]);
      copy.place = Place::arena;
    }
    plan_.storages.push_back(copy);
    return it->second;
  }

  SlotId twin(SlotId s, DeviceId device) {
    if (plan_.storage(s).place == Place::tiles) return s;
    const auto [it, made] =
        slots_.emplace(std::pair(s, device), SlotId{static_cast<std::uint32_t>(plan_.slots.size())});
    if (!made) return it->second;
    Slot copy = plan_.slot(s);
    copy.storage = twin(copy.storage, device);
    plan_.slots.push_back(std::move(copy));
    return it->second;
  }

  /// Returns a register with the byte size of an input. Adds it to group 0, which depends on the extents of inputs
  /// only.
  Reg bytes_of(SlotId input) {
    auto& program = plan_.groups[0].program;
    const auto add = [&](DimProgram::Op op, Reg a, Reg b, std::int64_t number) {
      const Reg made = plan_.registers++;
      program.code.push_back({op, made, a, b, number});
      program.registers = std::max(program.registers, plan_.registers);
      return made;
    };
    const Slot& slot = plan_.slot(input);
    Reg bytes = add(DimProgram::Op::constant, 0, 0, static_cast<std::int64_t>(byte_size(slot.elem)));
    for (Reg d : slot.dims) bytes = add(DimProgram::Op::mul, bytes, d, 0);
    return bytes;
  }

  // ---- steps ----

  void rewrite() {
    at_.resize(plan_.steps.size() + 1);
    for (StepIndex i = 0; i < at_.size(); ++i) {
      enter(i);
      at_[i] = static_cast<StepIndex>(steps_.size());
      if (i == plan_.steps.size()) break;
      if (of_[i] != kHost) {
        move(i);
        continue;
      }
      for_written(plan_, plan_.steps[i], [&](SlotId s) { forget(copies_, plan_.slot(s).storage); });
      steps_.push_back(plan_.steps[i]);
    }
    plan_.steps = std::move(steps_);
  }

  /// Limits copies_ to those that exist on every path to step i.
  void enter(StepIndex i) {
    StepIndex left = i;
    for (; !open_.empty() && open_.back().end <= i; open_.pop_back()) {
      copies_ = open_.back().kept;
      left = open_.back().begin;
    }
    const bool from_elsewhere =
        i < jumps_from_.size() &&
        std::ranges::any_of(jumps_from_[i], [&](StepIndex from) { return from < left || from >= i; });
    if (from_elsewhere) copies_ = open_.empty() ? Copies() : open_.back().kept;
    for (const PlannedRegion& region : plan_.regions) {
      if (region.begin != i || region.end <= i) continue;
      for (StepIndex k = i; k < region.end; ++k) {
        for_written(plan_, plan_.steps[k], [&](SlotId s) { forget(copies_, plan_.slot(s).storage); });
      }
      open_.push_back({i, region.end, copies_});
    }
  }

  static void forget(Copies& copies, std::uint32_t storage) {
    std::erase_if(copies, [&](const auto& copy) { return copy.first == storage; });
  }

  void move(StepIndex i) {
    Step step = plan_.steps[i];
    auto& launch = *step.as<step::Launch>();
    const DeviceId device = launch.device = of_[i];
    for (SlotId& s : launch.in) {
      if (!s) continue;
      ensure_copy(plan_.slot(s).storage, device);
      s = twin(s, device);
    }
    const std::vector<SlotId> made = launch.out;
    for (SlotId& s : launch.out) s = s ? twin(s, device) : s;
    steps_.push_back(std::move(step));
    for (SlotId s : made) {
      if (s && needed_elsewhere_[plan_.slot(s).storage]) {
        steps_.push_back({.body = step::Transfer{twin(s, device), s}, .node = plan_.steps[i].node, .members = {}});
      }
    }
  }

  void ensure_copy(std::uint32_t storage, DeviceId device) {
    const Place place = plan_.storages[storage].place;
    if (place == Place::constant || place == Place::tiles || home_[storage] == device) return;
    if (!copies_.emplace(storage, device).second) return;
    const SlotId from = whole_[storage];
    steps_.push_back({.body = step::Transfer{from, twin(from, device)}, .node = {}, .members = {}});
  }

  void renumber() {
    struct Visitor : FieldVisitor {
      const std::vector<StepIndex>& at;
      explicit Visitor(const std::vector<StepIndex>& to) : at(to) {}
      void target(std::string_view, StepIndex& to) { to = at[to]; }
    };
    for (Step& step : plan_.steps) for_fields(step, Visitor(at_));
    for (PlannedRegion& region : plan_.regions) {
      region.begin = at_[region.begin];
      region.end = at_[region.end];
      if (region.head != kNone) region.head = at_[region.head];
      for (auto& entry : region.blocks) {
        entry.glue = at_[entry.glue];
        entry.begin = at_[entry.begin];
        entry.end = at_[entry.end];
      }
    }
    for (LoopSpan& loop : loops_) loop = {at_[loop.head], at_[loop.end]};
  }

  Plan& plan_;
  std::vector<LoopSpan>& loops_;
  std::vector<DeviceId> of_;                        // per step
  std::vector<std::uint32_t> writers_;              // per storage: how many steps write it
  std::vector<SlotId> whole_;                       // per storage: a slot that covers it
  std::vector<DeviceId> home_;                      // per storage: the device whose step writes it
  std::vector<bool> needed_elsewhere_;              // per storage
  std::vector<std::vector<StepIndex>> jumps_from_;  // per step
  std::map<std::pair<std::uint32_t, DeviceId>, std::uint32_t> twins_;
  std::map<std::pair<SlotId, DeviceId>, SlotId> slots_;
  Copies copies_;  // those that equal their originals
  std::vector<OpenRegion> open_;
  std::vector<Step> steps_;
  std::vector<StepIndex> at_;  // per old step
};

}  // namespace

void place_on_devices(Plan& plan, std::vector<LoopSpan>& loops, const DevicePlacement& placement) {
  DevicePlacer(plan, loops).run(placement);
}

}  // namespace frazil
