#include <fmt/format.h>

#include "ir/op.h"
#include "plan/plan.h"

namespace frazil {

std::string_view name_of(Kernel kernel) {
  constexpr std::string_view names[] = {"reference",  "opaque",       "tile",        "copy",   "fill",       "edges",
                                        "pack",       "plain",        "matmul",      "nbits",  "gemm",       "conv",
                                        "max_pool",   "average_pool", "global_pool", "reduce", "arg_reduce", "softmax",
                                        "layer_norm", "batch_norm",   "lstm",        "gru",    "attention",  "rotary"};
  return names[static_cast<std::size_t>(kernel)];
}

namespace {

constexpr std::string_view kPlaces[] = {"constant", "input", "arena", "growing", "output", "object", "parts"};
constexpr std::string_view kKinds[] = {"eval",  "kernel",  "bind",   "assign",   "set",   "add",   "load",  "pick",
                                       "store", "jump",    "branch", "leave_at", "again", "move",  "slice", "swap",
                                       "grow",  "reserve", "append", "reset",    "stack", "check", "guard", "halt"};

std::string reg_list(const std::vector<Reg>& regs) {
  std::string s;
  for (Reg r : regs) s += fmt::format("{}r{}", s.empty() ? "" : ",", r);
  return s;
}

std::string operands(const std::vector<std::uint32_t>& slots) {
  std::string s;
  for (std::uint32_t id : slots) s += id == kNone ? " _" : fmt::format(" s{}", id);
  return s;
}

std::string nodes_str(const Plan& plan, const Step& step) {
  if (step.members.empty()) return plan.graph->describe(step.node);
  std::string s;
  for (NodeId n : step.members) s += (s.empty() ? "" : ", ") + plan.graph->describe(n);
  return s;
}

std::string step_str(const Plan& plan, const Step& step) {
  std::string s(kKinds[static_cast<std::size_t>(step.kind)]);
  if (step.kind == Step::Kind::kernel) s = name_of(step.kernel);
  s += operands(step.in);
  if (!step.out.empty()) s += " ->" + operands(step.out);
  if (step.index != kNone) s += fmt::format(" r{}", step.index);
  if (step.limit != kNone) s += fmt::format(" r{}", step.limit);
  if (step.kind == Step::Kind::set || step.kind == Step::Kind::add) s += fmt::format(" {}", step.number);
  if (step.target != kNone) s += fmt::format(" to {}", step.target);
  for (auto [a, b] : step.pairs) s += fmt::format(" ({}, {})", a, b);
  for (std::int64_t i : step.ints) s += fmt::format(" {}", i);
  for (float f : step.reals) s += fmt::format(" {}", f);
  if (step.node) s += "    ; " + nodes_str(plan, step);
  if (step.heads != 0 && step.program != kNone)
    s += fmt::format("    ; s{} as operand 0 of the program", step.out[step.base]);
  if (step.program != kNone) {
    s += fmt::format(" over [{}]\n{}", reg_list(step.space), plan.programs[step.program].str());
  }
  if (step.before != kNone) {
    s += fmt::format("{}    ; before, for rows of s{}\n{}", step.program == kNone ? "" : "\n", step.in[0],
                     plan.programs[step.before].str());
  }
  return s;
}

std::string slot_str(const Plan& plan, std::uint32_t id) {
  const Slot& slot = plan.slots[id];
  std::string s = slot.object ? fmt::format("slot s{}: object", id)
                              : fmt::format("slot s{}: {}[{}]", id, name_of(slot.elem), reg_list(slot.dims));
  if (!slot.strides.empty()) s += fmt::format(" strides [{}]", reg_list(slot.strides));
  if (slot.offset != kNoReg) s += fmt::format(" offset r{}", slot.offset);
  const Storage& place = plan.storages[slot.storage];
  s += fmt::format(" in {} m{}", kPlaces[static_cast<std::size_t>(place.place)], slot.storage);
  if (place.pool != kNone) s += fmt::format(" pool {}", place.pool);
  if (slot.value && !plan.graph->value_name(slot.value).empty())
    s += fmt::format("    ; {}", plan.graph->value_name(slot.value));
  return s;
}

std::string append_str(const Plan& plan, const Plan::Append& a) {
  const std::string_view name = plan.graph->value_name(a.from);
  std::string s = fmt::format("appended in place: {} along axis {} by {}, room for r{}",
                              name.empty() ? "a value" : fmt::format("'{}'", name), a.axis,
                              plan.graph->describe(a.node), a.capacity);
  if (a.input == kNone) return s;
  return s + fmt::format("; output '{}' where input '{}' was an output and has room (r{})",
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
  for (const Append& a : appends) s += append_str(*this, a) + "\n";
  for (const Copied& c : copied) s += copied_str(*this, c) + "\n";
  for (const Apart& a : apart) {
    s += fmt::format("not with {}: {}; {}\n", graph->describe(a.producer), graph->describe(a.node), a.why);
  }
  return s;
}

}  // namespace frazil
