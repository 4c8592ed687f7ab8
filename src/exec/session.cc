#include "exec/session.h"

#include <algorithm>
#include <cstring>

#include "base/io.h"
#include "base/no_memory.h"
#include "ir/rebuild.h"
#include "kernel/copy.h"
#include "ref/ref.h"
#include "ref/symbols.h"
#include "sym/saturate.h"
#include "tensor/strided.h"

namespace frazil {

Session::Session(std::shared_ptr<Executable> executable, std::shared_ptr<Governor> governor)
    : exe_(std::move(executable)), plan_(exe_->plan()), governor_(std::move(governor)) {
  if (governor_ == nullptr) governor_ = std::make_shared<Governor>();
  regs_.assign(plan_.registers, 0);
  seen_.resize(plan_.groups.size());
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) seen_[g].assign(plan_.groups[g].sources.size(), 0);
  known_.assign(plan_.groups.size(), 0);
  prepared_.assign(plan_.steps.size(), Ready::no);
  base_.assign(plan_.storages.size(), nullptr);
  growing_.resize(plan_.storages.size());
  objects_.resize(plan_.storages.size());
  gathered_.resize(plan_.accumulators.size());
  held_inputs_.resize(plan_.inputs.size());
  append_of_input_.assign(plan_.inputs.size(), kNone);
  append_of_output_.assign(plan_.outputs.size(), kNone);
  handed_.resize(plan_.appends.size());
  for (std::uint32_t a = 0; a < plan_.appends.size(); ++a) {
    if (plan_.appends[a].input == kNone) continue;
    append_of_input_[plan_.appends[a].input] = a;
    append_of_output_[plan_.appends[a].output] = a;
  }
  state_memory_.resize(exe_->state_bytes_ + 64);
  states_ = state_memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(state_memory_.data()) % 64) % 64;
  pool_offset_.assign(plan_.pools.size(), 0);
  pointers_.assign(exe_->max_operands_, nullptr);
  place_constants();
}

void Session::place_constants() {
  for (std::size_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.place != Place::constant) continue;
    base_[i] = const_cast<std::byte*>(plan_.graph->constant(Value{s.index})->tensor.data());
  }
  for (const Slot& slot : plan_.slots) {
    if (!slot.object || !slot.value) continue;
    if (const Constant* c = plan_.graph->constant(slot.value)) objects_[slot.storage] = Datum(c->tensor);
  }
}

/// Of this version only.
void Session::drop_memory() {
  arena_ = scratch_ = Buffer();
  growing_bytes_ = 0;
  std::ranges::fill(base_, nullptr);
  for (Growing& g : growing_) g = {};
  for (Datum& object : objects_) object = Datum();
  for (ref::Gathered& gathered : gathered_) gathered = {};
  for (Tensor& input : held_inputs_) input = Tensor();
  std::ranges::fill(known_, std::uint8_t{0});
  std::ranges::fill(prepared_, Ready::no);
  place_constants();
}

void Session::trim() {
  drop_memory();
  for (auto& [choices, session] : others_) session->drop_memory();
  release_free_memory();
}

Session::~Session() = default;

Result<std::vector<Datum>> Session::run(std::span<const Datum> inputs) {
  std::vector<Datum> outputs;
  FRAZIL_CHECK(run(inputs, outputs));
  return outputs;
}

namespace {

void discharge(const Datum& value) {
  if (value.is_tensor()) return value.tensor().buffer().discharge();
  if (!value.is_sequence()) return;
  value.sequence().charge.release();
  std::ranges::for_each(value.sequence().items, discharge);
}

}  // namespace

Status Session::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  ++counters_.runs;
  governor_->begin(limits_);
  const Governed scope(governor_.get());
  try {
    const Status status = run_versions(inputs, outputs);
    // An interrupted kernel leaves anything behind, so neither results nor errors count.
    if (governor_->stopping()) return governor_->reason();
    if (status) std::ranges::for_each(outputs, discharge);
    return status;
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

/// A guard that misses ends the attempt before anything is given out, and the version of the other side starts anew.
Status Session::run_versions(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  constexpr int kMaxVersions = 64;
  Session* session = current_ != nullptr ? current_ : this;
  for (int attempt = 0; attempt < kMaxVersions; ++attempt) {
    session->limits_ = limits_;
    session->observer_ = observer_;
    session->strided_results_ = strided_results_;
    Status status = session->run_here(inputs, outputs);
    if (status || status.error().code != Code::other_version) return status;
    FRAZIL_TRY(Session * other, other_side(*session, status.error()));
    if (limits_.arena_bytes != Limits{}.arena_bytes) session->drop_memory();
    current_ = session = other;
  }
  return fail(Code::limit, "the run needs more than {} versions of the graph", kMaxVersions);
}

Status Session::run_here(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  if (exe_->options().reference) return run_reference_tier(inputs, outputs);
  struct Settle {
    Session& session;
    bool failed = true;  // also where memory ends
    ~Settle() { session.settle_claims(failed); }
  } settle{*this};
  const Status status = run_plan(inputs, outputs);
  settle.failed = !status || governor_->stopping();
  return status;
}

Status Session::run_reference_tier(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  std::vector<Datum> dense(inputs.begin(), inputs.end());
  for (Datum& input : dense) {
    if (!input.is_tensor()) continue;
    FRAZIL_TRY(input, input.tensor().packed());
  }
  FRAZIL_TRY(outputs, run_reference(exe_->graph(), dense));
  return {};
}

Status Session::run_plan(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  if (observer_) observer_->run_begin(plan_, regs_);
  FRAZIL_CHECK(bind_inputs(inputs));
  FRAZIL_CHECK(eval(0));
  FRAZIL_CHECK(check_input_expressions());
  for (std::uint32_t s : exe_->swapped_) base_[s] = arena_.data() + pool_offset_[plan_.storages[s].pool];
  FRAZIL_CHECK(make_outputs(outputs));
  FRAZIL_CHECK(run_tape());
  FRAZIL_CHECK(take_outputs(outputs));
  if (observer_) observer_->run_end();
  return {};
}

Result<Session*> Session::other_side(const Session& version, const Fault& guard) {
  const auto stable = static_cast<std::uint32_t>(std::stoul(guard.message));
  Choices choices = choices_of(version.exe_->graph());
  choices.by_node[stable] = !choices.by_node[stable];
  if (choices.by_node == choices_of(exe_->graph()).by_node) return this;
  auto& session = others_[choices.by_node];
  if (!session) {
    FRAZIL_TRY(auto exe, exe_->version(choices));
    session = exe->open(governor_);
    ++counters_.plans;
  }
  return session.get();
}

Status Session::input_error(std::size_t i, std::string what) const {
  const Graph& graph = *plan_.graph;
  return fail(Code::bad_input, "input '{}': expected {}, got {}", graph.input_names()[i],
              str(graph.type(graph.main().params[i]), graph.scope()), what);
}

Status Session::bind_inputs(std::span<const Datum> inputs) {
  if (inputs.size() > plan_.inputs.size()) {
    return fail(Code::bad_input, "the graph takes {} inputs, got {}", plan_.inputs.size(), inputs.size());
  }
  std::ranges::fill(regs_bound_, std::uint8_t{0});
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const Type& type = plan_.graph->type(plan_.graph->main().params[i]);
    const bool given = i < inputs.size() && (!inputs[i].empty() || type.kind == Type::Kind::optional);
    if (given) {
      FRAZIL_CHECK(bind_input(i, inputs[i]));
    } else if (const Tensor* value = plan_.graph->input_default(i)) {
      FRAZIL_CHECK(bind_input(i, Datum(*value)));
    } else {
      return fail(Code::bad_input, "input '{}' is missing: expected {}", plan_.graph->input_names()[i],
                  str(type, plan_.graph->scope()));
    }
  }
  return {};
}

Status Session::bind_input(std::size_t i, const Datum& value) {
  const Slot& slot = plan_.slots[plan_.inputs[i]];
  const Type& type = plan_.graph->type(plan_.graph->main().params[i]);
  if (type.is_tensor() != value.is_tensor() && type.kind != Type::Kind::optional) {
    return input_error(i, value.is_tensor() ? value.tensor().type_str() : "a sequence, map or empty optional");
  }
  if (value.is_tensor() && type.is_tensor()) {
    const Tensor& t = value.tensor();
    if (t.elem() != slot.elem) return input_error(i, t.type_str());
    if (type.ranked) FRAZIL_CHECK(bind_dims(i, t));
  }
  if (slot.object) {
    if (!ref::fits(type, value)) return input_error(i, ref::describe(value));
    objects_[slot.storage] = value;
    held_inputs_[i] = Tensor();
    if (!value.is_tensor()) return {};
    FRAZIL_TRY(held_inputs_[i], value.tensor().packed());
    objects_[slot.storage] = Datum(held_inputs_[i]);
    return {};
  }
  const std::uint32_t append = append_of_input_[i];
  const auto room = append == kNone ? std::nullopt : capacity_along(value.tensor(), plan_.appends[append].axis);
  if (append != kNone) {
    const std::size_t axis = plan_.appends[append].axis;
    regs_[plan_.appends[append].input_capacity] = room.value_or(value.tensor().sizes()[axis]);
  }
  if (room || value.tensor().contiguous()) {
    held_inputs_[i] = value.tensor();
  } else {
    FRAZIL_TRY(held_inputs_[i], value.tensor().packed());
  }
  base_[slot.storage] = held_inputs_[i].mutable_data();
  return {};
}

Status Session::bind_dims(std::size_t i, const Tensor& tensor) {
  const auto& dims = plan_.input_dims[i];
  if (tensor.rank() != dims.size()) return input_error(i, tensor.type_str());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t got = tensor.sizes()[axis];
    const auto& d = dims[axis];
    if (d.constant >= 0) {
      if (d.constant != got) return input_error(i, tensor.type_str());
      continue;
    }
    if (d.symbol == kNone) continue;
    const Bounds bounds = plan_.graph->scope().symbol_bounds(d.symbol);
    const bool first = regs_bound_.size() <= d.symbol || !regs_bound_[d.symbol];
    if (got < bounds.min || got > bounds.max) return input_error(i, tensor.type_str());
    if (!first && regs_[d.symbol] != got) {
      return fail(Code::bad_input, "input '{}': extent {} of axis {} contradicts {} = {} of an input before it",
                  plan_.graph->input_names()[i], got, axis, plan_.graph->scope().symbol_name(d.symbol),
                  regs_[d.symbol]);
    }
    if (regs_bound_.size() <= d.symbol) regs_bound_.resize(d.symbol + 1, 0);
    regs_bound_[d.symbol] = 1;
    regs_[d.symbol] = got;
  }
  return {};
}

/// Extents declared as expressions of other extents (2*N beside N).
Status Session::check_input_expressions() const {
  for (std::size_t i = 0; i < plan_.input_dims.size(); ++i) {
    for (std::size_t axis = 0; axis < plan_.input_dims[i].size(); ++axis) {
      const Reg expected = plan_.input_dims[i][axis].equals;
      if (expected == kNoReg) continue;
      const Tensor& t = held_inputs_[i];
      if (t.defined() && t.sizes()[axis] != regs_[expected]) return input_error(i, t.type_str());
    }
  }
  return {};
}

/// "value 'y' f32[1000,1000] of node 'Expand_3' (Expand)".
std::string Session::account_of(const Slot& slot) const {
  if (!slot.value) return "a value";
  Sizes sizes;
  sizes_of(slot, sizes);
  const std::string& name = plan_.graph->value_name(slot.value);
  const auto node = plan_.graph->producer(slot.value);
  return fmt::format("value {}{}{}", name.empty() ? "" : fmt::format("'{}' ", name), type_str(slot.elem, sizes),
                     node ? " of " + plan_.graph->describe(*node) : "");
}

/// Of the largest value that lies there; a part or a rearrangement of it has no name.
std::string Session::account_of(std::uint32_t storage) const {
  const Slot* largest = nullptr;
  std::int64_t most = 0;
  for (const Slot& slot : plan_.slots) {
    if (slot.storage != storage || slot.object) continue;
    auto count = static_cast<std::int64_t>(byte_size(slot.elem));
    for (const Reg r : slot.dims) count = sym::sat_mul(count, regs_[r]);
    if (largest != nullptr && (count < most || (count == most && !slot.value))) continue;
    largest = &slot;
    most = count;
  }
  return largest == nullptr ? "a value" : account_of(*largest);
}

Status Session::check_size(std::uint32_t storage, std::size_t bytes) const {
  if (bytes > limits_.memory_bytes) {
    return fail(Code::limit, "{} takes {} bytes, the memory limit is {}", account_of(storage), bytes,
                limits_.memory_bytes);
  }
  if (bytes <= limits_.tensor_elements) return {};
  const auto at = std::ranges::find(plan_.slots, storage, &Slot::storage);
  const std::size_t elements = at == plan_.slots.end() ? 0 : bytes / byte_size(at->elem);
  if (elements <= limits_.tensor_elements) return {};
  return fail(Code::limit, "{} has more elements than the limit of {}", account_of(storage), limits_.tensor_elements);
}

/// Of memory that stays with the session: `before` bytes of it become `after`.
Status Session::check_arena(std::string_view what, std::size_t before, std::size_t after) const {
  const std::size_t others = arena_.size() + scratch_.size() + growing_bytes_ - before;
  if (after <= limits_.arena_bytes && others <= limits_.arena_bytes - after) return {};
  return fail(Code::limit, "{} would take the {} bytes that the session keeps to {}, the arena limit is {}", what,
              others + before, after > SIZE_MAX - others ? SIZE_MAX : others + after, limits_.arena_bytes);
}

Status Session::lay_out_arena() {
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.place == Place::arena && s.pool != kNone && s.bytes != kNoReg) {
      FRAZIL_CHECK(check_size(i, static_cast<std::size_t>(std::max<std::int64_t>(regs_[s.bytes], 0))));
    }
  }
  std::size_t total = 0;
  for (std::size_t p = 0; p < plan_.pools.size(); ++p) {
    pool_offset_[p] = total;
    std::int64_t most = 0;
    for (Reg r : plan_.pools[p]) most = std::max(most, regs_[r]);
    if (total > limits_.memory_bytes) break;
    total += aligned(static_cast<std::size_t>(most));
  }
  if (total > limits_.memory_bytes) {
    return fail(Code::limit, "the values of this run take at least {} bytes together, the memory limit is {}", total,
                limits_.memory_bytes);
  }
  if (total > arena_.size()) {
    FRAZIL_CHECK(check_arena("the values of this run", arena_.size(), total));
    arena_ = Buffer();
    FRAZIL_TRY(arena_, Buffer::allocate(total));
  }
  for (std::size_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.place == Place::arena && s.pool != kNone) base_[i] = arena_.data() + pool_offset_[s.pool];
  }
  return {};
}

void Session::sizes_of(const Slot& slot, Sizes& sizes) const {
  sizes.clear();
  for (Reg r : slot.dims) sizes.push_back(regs_[r]);
}

Result<Tensor> Session::fresh_tensor(Elem elem, const Sizes& sizes, Datum& reuse) {
  if (reuse.is_tensor()) {
    const Tensor& old = reuse.tensor();
    if (old.elem() == elem && old.sizes() == sizes && old.contiguous() && old.buffer().unique() &&
        old.buffer().writable()) {
      return std::move(reuse.mutable_tensor());
    }
  }
  return Tensor::make(elem, sizes);
}

/// Results whose extents are known are written in place; the others are copied out at the end.
Status Session::make_outputs(std::vector<Datum>& outputs) {
  outputs.resize(plan_.outputs.size());
  for (std::size_t k = 0; k < plan_.outputs.size(); ++k) {
    const Slot& slot = plan_.slots[plan_.outputs[k]];
    const Storage& storage = plan_.storages[slot.storage];
    if (storage.place != Place::output || storage.index != k) continue;
    sizes_of(slot, sizes_);
    const std::uint32_t append = append_of_output_[k];
    auto t = append == kNone ? fresh_tensor(slot.elem, sizes_, outputs[k]) : grown_result(append, outputs[k]);
    if (!t) return within(account_of(slot) + ": ", std::move(t).error());
    base_[slot.storage] = t->mutable_data();
    outputs[k] = Datum(std::move(*t));
  }
  return {};
}

Result<Tensor> Session::copy_out(std::uint32_t id, Datum& reuse) {
  const Slot& slot = plan_.slots[id];
  sizes_of(slot, sizes_);
  FRAZIL_TRY(Tensor t, fresh_tensor(slot.elem, sizes_, reuse));
  const Sizes plain = contiguous_strides(sizes_);
  Sizes from;
  for (Reg r : slot.strides) from.push_back(regs_[r]);
  kernel::copy_strided(t.mutable_data(), plain, pointer(id), slot.strides.empty() ? plain : from, sizes_,
                       static_cast<std::int64_t>(byte_size(slot.elem)));
  return t;
}

Status Session::take_outputs(std::vector<Datum>& outputs) {
  for (std::size_t k = 0; k < plan_.outputs.size(); ++k) {
    const Slot& slot = plan_.slots[plan_.outputs[k]];
    const Storage& storage = plan_.storages[slot.storage];
    if (storage.place == Place::output && storage.index == k) continue;
    if (slot.object) {
      outputs[k] = objects_[slot.storage];
      continue;
    }
    auto t = copy_out(plan_.outputs[k], outputs[k]);
    if (!t) return within(account_of(slot) + ": ", std::move(t).error());
    outputs[k] = Datum(std::move(*t));
  }
  return {};
}

std::byte* Session::pointer(std::uint32_t id) const {
  const Slot& slot = plan_.slots[id];
  std::byte* base = base_[slot.storage];
  if (slot.offset == kNoReg || base == nullptr) return base;
  return moved(base, regs_[slot.offset], byte_size(slot.elem));
}

Tensor Session::tensor_of(std::uint32_t id) const {
  const Slot& slot = plan_.slots[id];
  if (slot.object) return objects_[slot.storage].tensor();
  Sizes sizes;
  sizes_of(slot, sizes);
  const auto bytes = static_cast<std::size_t>(element_count(sizes)) * byte_size(slot.elem);
  const Buffer view = Buffer::borrow({pointer(id), bytes}, nullptr);
  Sizes strides = contiguous_strides(sizes);
  return Tensor(slot.elem, std::move(sizes), std::move(strides), view, 0);
}

Datum Session::datum_of(std::uint32_t id) const {
  const Slot& slot = plan_.slots[id];
  return slot.object ? objects_[slot.storage] : Datum(tensor_of(id));
}

Result<Datum> Session::owned_datum_of(std::uint32_t id) {
  if (plan_.slots[id].object) return objects_[plan_.slots[id].storage];
  Datum none;
  FRAZIL_TRY(Tensor copy, copy_out(id, none));
  return Datum(std::move(copy));
}

std::string Session::where(const Step& step) const {
  return step.node ? plan_.graph->describe(step.node) + ": " : std::string();
}

}  // namespace frazil
