#include <array>
#include <utility>

#include <fmt/format.h>

#include "ir/op/op.h"
#include "plan/model/plan.h"

namespace frazil {

std::string_view name_of(Place place) {
  constexpr std::string_view names[] = {"constant", "input", "arena", "growing", "output", "object", "tiles"};
  return names[static_cast<std::size_t>(place)];
}

std::string_view name_of(const Step& step) {
  return std::visit([](const auto& body) { return body.kName; }, step.body);
}

std::optional<Kernel> Plan::kernel_of(const Step& step) const {
  const auto* launch = step.as<step::Launch>();
  if (launch == nullptr) return std::nullopt;
  const bool produces = launch->fused != kNone && fused[launch->fused]->producer;
  return produces ? frazil::kernel_of(fused[launch->fused]->producer->params) : launch->kernel();
}

namespace {

std::string reg_list(const std::vector<Reg>& regs) {
  std::string s;
  for (Reg r : regs) s += fmt::format("{}r{}", s.empty() ? "" : ",", r);
  return s;
}

/// Prints a step's fields in their order: what it reads and its numbers, an arrow, then what it writes and defines.
class StepPrinter {
 public:
  void reads(std::string_view, const auto& slots) { list(" ", slots); }
  void writes(std::string_view, const auto& slots) { list(arrow(), slots); }
  void updates(std::string_view, SlotId slot) { list(" ", slot); }
  void uses(std::string_view name, Reg r) {
    out_ += fmt::format(" r{}", r);
    used_ = name;
  }
  void uses(std::string_view, const std::vector<Reg>& regs) {
    if (!regs.empty()) out_ += fmt::format(" [{}]", reg_list(regs));
  }
  void defines(std::string_view name, Reg r) {
    if (name != used_) out_ += fmt::format("{}r{}", arrow(), r);  // a register that is read and written is printed once
  }
  void target(std::string_view, StepIndex to) { out_ += fmt::format(" to {}", to); }
  void group(std::string_view, std::uint32_t g) { out_ += fmt::format(" g{}", g); }
  void accumulator(std::string_view, AccumulatorId a) { out_ += fmt::format(" a{}", a.id); }
  void fused(std::string_view, std::uint32_t k) {
    if (k != kNone) out_ += fmt::format(" k{}", k);
  }
  void value(std::string_view, const KernelParams& params) { out_ += " " + frazil::str(params); }
  void value(std::string_view name, bool flag) {
    if (flag) out_ += fmt::format(" {}", name);
  }
  void value(std::string_view, DeviceId device) {
    if (device != kHost) out_ += fmt::format(" on d{}", static_cast<int>(device));
  }
  void value(std::string_view, std::int64_t number) { out_ += fmt::format(" {}", number); }
  void value(std::string_view name, std::uint32_t number) {
    if (name == "together") {
      if (number > 1) out_ += fmt::format(" together {}", number);
    } else if (name != "what") {
      out_ += fmt::format(" {}", number);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  std::string_view arrow() { return std::exchange(wrote_, true) ? " " : " -> "; }
  void list(std::string_view mark, SlotId slot) { list(mark, std::vector{slot}); }
  void list(std::string_view mark, const std::vector<SlotId>& slots) {
    for (SlotId s : slots) {
      out_ += s ? fmt::format("{}s{}", mark, s.id) : fmt::format("{}_", mark);
      mark = " ";
    }
  }

  std::string out_;
  std::string_view used_;
  bool wrote_ = false;
};

std::string nodes_str(const Plan& plan, const Step& step) {
  if (step.members.empty()) return plan.graph->describe(step.node);
  std::string s;
  for (NodeId n : step.members) s += (s.empty() ? "" : ", ") + plan.graph->describe(n);
  return s;
}

std::string step_str(const Plan& plan, const Step& step) {
  const auto* launch = step.as<step::Launch>();
  StepPrinter printer;
  for_fields(step, printer);
  std::string s = launch != nullptr ? printer.take().substr(1) : std::string(name_of(step)) + printer.take();
  if (const auto* check = step.as<step::Check>()) s += fmt::format(" \"{}\"", plan.texts[check->what]);
  if (step.node) s += "    ; " + nodes_str(plan, step);
  return s;
}

std::string slot_str(const Plan& plan, std::uint32_t id) {
  const Slot& slot = plan.slots[id];
  std::string s = slot.object ? fmt::format("slot s{}: object", id)
                              : fmt::format("slot s{}: {}[{}]", id, name_of(slot.elem), reg_list(slot.dims));
  if (!slot.strides.empty()) s += fmt::format(" strides [{}]", reg_list(slot.strides));
  if (slot.offset != kNoReg) s += fmt::format(" offset r{}", slot.offset);
  const Storage& place = plan.storages[slot.storage];
  s += fmt::format(" in {} m{}", name_of(place.place), slot.storage);
  if (place.device != kHost) s += fmt::format(" of d{}", static_cast<int>(place.device));
  if (place.pool != kNone) s += fmt::format(" pool {}", place.pool);
  if (slot.value && !plan.graph->value_name(slot.value).empty())
    s += fmt::format("    ; {}", plan.graph->value_name(slot.value));
  return s;
}

std::string append_str(const Plan& plan, const Plan::Append& a) {
  const std::string_view name = plan.graph->value_name(a.from);
  std::string s = fmt::format("appended in place: {} along axis {} by {}, capacity r{}",
                              name.empty() ? "a value" : fmt::format("'{}'", name), a.axis,
                              plan.graph->describe(a.node), a.capacity);
  if (a.input == kNone) return s;
  return s + fmt::format("; output '{}' where input '{}' was an output and has capacity (r{})",
                         plan.graph->output_names()[a.output], plan.graph->input_names()[a.input], a.input_capacity);
}

std::string copied_str(const Plan& plan, const Plan::Copied& c) {
  const std::string_view name = plan.graph->value_name(c.from);
  return fmt::format("copied by each {}: {}; {}", plan.graph->describe(c.node),
                     name.empty() ? "a value" : fmt::format("'{}'", name), c.why);
}

}  // namespace

std::string Plan::str() const {
  std::string s = fmt::format("plan {}: {} steps, {} slots, {} pools, {} register groups, {} loops\n", graph->name,
                              steps.size(), slots.size(), pools.size(), groups.size(), loops);
  for (std::uint32_t i = 0; i < slots.size(); ++i) s += slot_str(*this, i) + "\n";
  for (std::size_t p = 0; p < pools.size(); ++p)
    s += fmt::format("pool {}: max of [{}] bytes\n", p, reg_list(pools[p]));
  for (std::size_t i = 0; i < steps.size(); ++i) s += fmt::format("{:5} {}\n", i, step_str(*this, steps[i]));
  for (std::size_t k = 0; k < fused.size(); ++k) s += fmt::format("k{}: {}\n", k, fused[k]->str());
  for (const Append& a : appends) s += append_str(*this, a) + "\n";
  for (const Copied& c : copied) s += copied_str(*this, c) + "\n";
  for (const Rejection& r : rejections) {
    s += fmt::format("not with {}: {}; {}\n", graph->describe(r.producer), graph->describe(r.node), r.why);
  }
  return s;
}

}  // namespace frazil
