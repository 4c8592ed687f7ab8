#include "exec/run/executable.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "base/limits/no_memory.h"
#include "code/entries.h"
#include "exec/native/backend.h"
#include "exec/native/compile_thread.h"
#include "exec/native/native_compiler.h"
#include "exec/native/plan_code.h"
#include "exec/package/package.h"
#include "exec/run/session.h"
#include "ir/edit/rebuild.h"
#include "ir/graph/source_bytes.h"
#include "plan/lower/make_plan.h"

namespace frazil::exec {

namespace {

std::shared_ptr<const code::CompiledStep> compile_on(const Device& device, const Plan& plan,
                                                     const step::Launch& launch) {
  const auto fused = launch.fused == kNone ? nullptr : plan.fused[launch.fused];
  return device.compile(launch.params, fused, static_cast<std::uint32_t>(launch.in.size()));
}

DevicePlacement placement_on(const Devices& devices) {
  if (devices.empty()) return nullptr;
  return [&devices](const Plan& plan, const Step& step) {
    const auto can_run = [&](const auto& device) {
      return compile_on(*device, plan, *step.as<step::Launch>()) != nullptr;
    };
    const auto at = std::ranges::find_if(devices, can_run);
    return at == devices.end() ? kHost : static_cast<DeviceId>(at - devices.begin() + 1);
  };
}

}  // namespace

std::optional<Tier> tier_named(std::string_view name) {
  if (name == "auto") return Tier::adaptive;
  if (name == "0") return Tier::interpreted;
  if (name == "1") return Tier::compiled;
  if (name == "2") return Tier::specialised;
  return std::nullopt;
}

Executable::Executable() = default;
Executable::~Executable() = default;

Result<std::shared_ptr<Executable>> Executable::make(std::shared_ptr<const Graph> graph, Options options) try {
  const auto choices = packaged_choices(*graph);
  FRAZIL_TRY(auto made, planned(std::move(graph), options, choices.has_value()));
  if (options.reference) return made;
  // If the graph was edited after packaging, some choices may be impossible. A run that needs one reports the error.
  for (const Choices& c : choices.value_or(std::vector<Choices>())) (void)made->specialisation(c);
  return made;
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

/// Plans a graph. `packaged`: the graph has already been through the passes.
Result<std::shared_ptr<Executable>> Executable::planned(std::shared_ptr<const Graph> graph, Options options,
                                                        bool packaged) {
  auto exe = std::make_shared<Executable>();
  exe->graph_ = std::move(graph);
  exe->options_ = options;
  exe->packed_ = std::make_shared<code::WeightRefs>();
  if (options.reference) {
    exe->plan_.graph = exe->graph_;
    return exe;
  }
  const bool later = options.tier == Tier::adaptive;
  if (options.tier != Tier::interpreted) {
    if (!later) FRAZIL_CHECK(native_module());
    exe->native_ = std::make_shared<NativeCompiler>(later ? Compiling::later : Compiling::at_once);
  }
  if (packaged) options.passes.off |= passes_of_package(*exe->graph_).off;
  const PlanOptions how{.passes = options.passes, .verify = options.verify, .placement = placement_on(options.devices)};
  FRAZIL_TRY(exe->plan_, make_plan(*exe->graph_, how, exe->passes_));
  exe->compile();
  if (options.tier >= Tier::specialised) {
    std::vector<bool> bodies;
    for (StepIndex i = 0; i < exe->plan_.steps.size(); ++i) {
      const code::KernelEntry* const entry = exe->launches_[i].entry.load(std::memory_order_relaxed);
      bodies.push_back(entry != nullptr && entry->emits != nullptr);
    }
    exe->plan_codes_ = PlanCodes::make(exe->plan_, bodies, later ? Compiling::later : Compiling::at_once);
  }
  return exe;
}

std::unique_ptr<Session> Executable::open() { return std::make_unique<Session>(shared_from_this()); }

/// Memory that all sessions share is not charged to the limits of one run, but planning ends when the run must end.
Result<std::shared_ptr<Executable>> Executable::specialisation(const Choices& choices) try {
  LoadBounds bounds;
  if (const auto* run = ExecutionLimits::current()) bounds.limits.memory_bytes = run->limits().memory_bytes;
  const LoadScope scope(bounds, "planning for other ranks", source_bytes(*graph_));
  const std::scoped_lock lock(specialisations_mutex_);
  const Choices nothing{.by_key = {}, .none = true};
  const bool full = specialisations_.size() >= kMostSpecialisations && !specialisations_.contains(choices);
  const Choices& used = full ? nothing : choices;
  if (const auto it = specialisations_.find(used); it != specialisations_.end()) return it->second;
  auto graph = rebuild(*graph_, used);
  if (!graph) {  // a request made this choice, so its inputs are at fault
    if (graph.error().code == Code::bad_model) graph.error().code = Code::bad_input;
    return std::unexpected(std::move(graph).error());
  }
  FRAZIL_TRY(auto made, planned(std::make_shared<const Graph>(*std::move(graph)), options_, false));
  made->packed_ = packed_;
  specialisations_.emplace(used, made);
  return made;
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

std::vector<Choices> Executable::specialised() const {
  const std::scoped_lock lock(specialisations_mutex_);
  std::vector<Choices> all;
  for (const auto& [choices, executable] : specialisations_) all.push_back(choices);
  return all;
}

/// Compiles missing bodies together, because each takes milliseconds. The first run only requests a search of the
/// cache. Leaves out bodies that the code of the plan contains: that code pays earlier.
void Executable::spent(double nanoseconds) {
  constexpr double kEnough = 4e6;
  if (!native_->has_missing()) return;
  const bool pays = spent_.fetch_add(nanoseconds) + nanoseconds >= kEnough;
  const bool first = !looked_.exchange(true);
  if (!pays && !first) return;
  if (pays) spent_ = 0;
  CompileThread::instance().post([weak = weak_from_this(), pays] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (!pays) return self->native_->find_missing();
    self->native_->compile_missing(
        [&](const code::TileCode& body) { return self->plan_codes_ != nullptr && self->plan_codes_->contains(body); });
  });
}

std::string Executable::explain() const { return str(passes_) + plan_.str() + explain_native(); }

std::string Executable::explain_native() const {
  if (native_ == nullptr) return {};
  std::string text;
  if (const Status there = has_native_module(); !there) text = "no code is generated: " + there.error().message + "\n";
  text += native_->explain();
  if (plan_codes_ != nullptr) text += plan_codes_->explain();
  return text;
}

void Executable::swap_entry(StepIndex step, std::shared_ptr<const code::KernelEntry> entry) {
  const std::scoped_lock lock(entries_mutex_);
  entries_.push_back(std::move(entry));
  launches_[step].entry.store(entries_.back().get(), std::memory_order_release);
  swaps_.fetch_add(1, std::memory_order_release);
}

namespace {

/// Copies the fields of a step that the interpreter reads into its Op.
struct OpFields {
  const Plan& plan;
  Op& op;
  void operator()(const step::Launch& l) const { op.a = l.together; }
  void operator()(const step::Evaluate& e) const { op.a = e.group; }
  void operator()(const step::Branch& b) const { op.target = b.target; }
  void operator()(const step::LeaveAt& l) const { op.a = l.counter, op.b = l.limit, op.target = l.target; }
  void operator()(const step::Again& a) const { op.target = a.target; }
  void operator()(const step::Jump& j) const { op.target = j.target; }
  void operator()(const step::Set& s) const { op.a = s.to, op.number = s.number; }
  void operator()(const step::Add& a) const { op.a = a.to, op.number = a.number; }
  void operator()(const step::Swap& s) const {
    op.a = plan.slot(s.source).storage, op.b = plan.slot(s.variable).storage;
  }
  void operator()(const step::Guard& g) const { op.a = g.predicate, op.number = g.expected; }
  void operator()(const auto&) const {}
};

OperandCode operand_of(const Plan& plan, SlotId s) {
  if (!s) return {};
  const Slot& slot = plan.slot(s);
  return {slot.storage, slot.offset, static_cast<std::uint32_t>(byte_size(slot.elem))};
}

}  // namespace

void Executable::compile() {
  launches_ = std::make_unique<LaunchCode[]>(plan_.steps.size());
  ops_.resize(plan_.steps.size());
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    ops_[i].kind = static_cast<std::uint8_t>(step.body.index());
    std::visit(OpFields{plan_, ops_[i]}, step.body);
    if (const auto* launch = step.as<step::Launch>()) compile_launch(i, *launch);
  }
}

void Executable::compile_launch(StepIndex i, const step::Launch& launch) {
  LaunchCode& code = launches_[i];
  for (std::uint32_t k = 0; launch.together > 1 && k < launch.together; ++k) launches_[i + k].grouped = true;
  code.first = static_cast<std::uint32_t>(operands_.size());
  code.inputs = static_cast<std::uint16_t>(launch.in.size());
  code.outputs = static_cast<std::uint16_t>(launch.out.size());
  for (SlotId s : launch.in) operands_.push_back(operand_of(plan_, s));
  for (SlotId s : launch.out) {
    operands_.push_back(operand_of(plan_, s));
    code.grows |= s && plan_.storage(s).place == Place::growing;
  }
  most_operands_ = std::max(most_operands_, launch.in.size() + launch.out.size());
  if (launch.device != kHost) return compile_on_device(i, launch);
  const auto fused = launch.fused == kNone ? nullptr : plan_.fused[launch.fused];
  auto entry = code::hand_entry(launch.params, fused, code.inputs, native_);
  if (entry == nullptr) return;
  keep_state(code, entry->step);
  code.first_emits = entry->emits != nullptr;
  swap_entry(i, std::move(entry));
}

void Executable::compile_on_device(StepIndex i, const step::Launch& launch) {
  auto step = compile_on(*options_.devices[static_cast<std::size_t>(launch.device) - 1], plan_, launch);
  keep_state(launches_[i], *step);
  device_steps_.emplace(i, std::move(step));
}

void Executable::keep_state(LaunchCode& code, const code::CompiledStep& step) {
  code.state = state_bytes_;
  state_bytes_ += (step.state_bytes + 15) & ~std::size_t{15};
  code.first_step = &step;
}

}  // namespace frazil::exec
