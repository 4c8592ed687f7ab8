#include <algorithm>

#include "exec/call.h"
#include "exec/session.h"
#include "ir/op.h"
#include "kernel/copy.h"
#include "ref/ref.h"

namespace frazil {

Status Session::kernel(std::uint32_t pc) try {
  const Executable::Code& code = exe_->code_[pc];
  const Step& step = plan_.steps[pc];
  if (observer_) [[unlikely]]
    observer_->step_begin(step, step.node);
  if (code.kernel == nullptr) {
    FRAZIL_CHECK(session_kernel(pc));
  } else {
    if (code.grows) FRAZIL_CHECK(ensure_outputs(step));
    if (prepared_[pc] == Ready::no) FRAZIL_CHECK(prepare(pc));
    const Executable::Operand* operand = exe_->operands_.data() + code.first;
    const int count = code.inputs + code.outputs;
    for (int k = 0; k < count; ++k) {
      const Executable::Operand& o = operand[k];
      std::byte* p = o.storage == kNone ? nullptr : base_[o.storage];
      if (o.offset != kNoReg && p != nullptr) p = moved(p, regs_[o.offset], o.elem_size);
      pointers_[static_cast<std::size_t>(k)] = p;
    }
    if (prepared_[pc] == Ready::yes)
      code.kernel->run({pointers_.data(), pointers_.data() + code.inputs, scratch_.data()}, states_ + code.state);
  }
  if (observer_) [[unlikely]]
    observer_->step_end(step, step.node);
  return {};
} catch (const std::bad_alloc&) {
  return fail(Code::out_of_memory, "{}no memory is left", where(plan_.steps[pc]));
}

namespace {

/// Extents and strides of all operands, one after the other in `memory`.
struct ShapeReader {
  const Plan& plan;
  const std::vector<std::int64_t>& regs;
  std::vector<std::int64_t>& memory;

  std::size_t needed(const Step& step) const {
    std::size_t n = 0;
    for (const auto* list : {&step.in, &step.out}) {
      for (std::uint32_t s : *list) n += s == kNone ? 0 : 2 * plan.slots[s].dims.size();
    }
    return n + step.space.size();
  }

  OperandShape read(std::uint32_t id, std::size_t& at) const {
    if (id == kNone) return {};
    const Slot& slot = plan.slots[id];
    const std::size_t rank = slot.dims.size();
    std::int64_t* dims = memory.data() + at;
    std::int64_t* strides = dims + rank;
    at += 2 * rank;
    for (std::size_t i = 0; i < rank; ++i) dims[i] = regs[slot.dims[i]];
    std::uint64_t stride = 1;  // of an empty tensor it may wrap, and is not used
    for (std::size_t i = rank; i-- > 0;) {
      strides[i] = slot.strides.empty() ? static_cast<std::int64_t>(stride) : regs[slot.strides[i]];
      stride *= static_cast<std::uint64_t>(dims[i]);
    }
    return {true, slot.elem, {dims, rank}, {strides, rank}, slot.strides.empty()};
  }
};

/// Kernels count offsets and rows with the extents beside a 0, too.
Status check_empty(const OperandShape& shape) {
  if (!shape.given || !shape.empty()) return {};
  auto bytes = byte_count(shape.elem, shape.dims);
  return bytes ? Status{} : std::unexpected(std::move(bytes).error());
}

}  // namespace

Status Session::prepare(std::uint32_t pc) {
  const Step& step = plan_.steps[pc];
  const Executable::Code& code = exe_->code_[pc];
  ++counters_.prepared;
  ShapeReader reader{plan_, regs_, shape_memory_};
  if (const std::size_t n = reader.needed(step); n > shape_memory_.size()) shape_memory_.resize(n);
  shapes_.clear();
  constants_.clear();
  std::size_t at = step.space.size();
  for (std::size_t i = 0; i < at; ++i) shape_memory_[i] = regs_[step.space[i]];
  for (const auto* list : {&step.in, &step.out}) {
    for (std::uint32_t s : *list) {
      shapes_.push_back(reader.read(s, at));
      for (std::int64_t d : shapes_.back().dims) {
        if (d < 0) return fail(Code::bad_input, "{}an extent is negative ({})", where(step), d);
      }
      if (Status t = check_empty(shapes_.back()); !t) return within(where(step), std::move(t).error());
    }
  }
  for (std::uint32_t s : step.in) {
    // A part of a weight whose place the run tells may be another one before the step is prepared again.
    const bool constant = s != kNone && plan_.slots[s].offset == kNoReg &&
                          plan_.storages[plan_.slots[s].storage].place == Place::constant;
    constants_.push_back(constant ? pointer(s) : nullptr);
  }
  PrepareCx cx{.plan = plan_,
               .step = step,
               .node = plan_.graph->node(step.node),
               .in = std::span(shapes_).first(step.in.size()),
               .out = std::span(shapes_).subspan(step.in.size()),
               .space = std::span(shape_memory_).first(step.space.size()),
               .constants = constants_,
               .packs = *exe_->packs_};
  if (Status s = code.kernel->prepare(cx, states_ + code.state); !s) return within(where(step), std::move(s).error());
  // Extents beside a 0 may be anything: loops over them would take for ever.
  const bool empty = std::ranges::all_of(cx.out, [](const OperandShape& o) { return !o.given || o.empty(); });
  if (Status s = grow_scratch(empty ? 0 : cx.scratch_bytes); !s) return within(where(step), std::move(s).error());
  prepared_[pc] = empty ? Ready::nothing_to_do : Ready::yes;
  return {};
}

/// Steps that are prepared count on the scratch memory that they asked for.
Status Session::grow_scratch(std::size_t bytes) {
  if (bytes <= scratch_.size()) return {};
  FRAZIL_CHECK(check_arena("scratch memory", scratch_.size(), bytes));
  scratch_ = Buffer();
  auto grown = Buffer::allocate(bytes);
  if (!grown) {
    std::ranges::fill(prepared_, Ready::no);
    return std::unexpected(std::move(grown).error());
  }
  scratch_ = std::move(*grown);
  return {};
}

Status Session::session_kernel(std::uint32_t pc) {
  const Step& step = plan_.steps[pc];
  if (step.kernel == Kernel::pack) return pack(step);
  Status s = check_inputs(step);
  if (s) s = step.kernel == Kernel::opaque ? opaque(step) : reference(step);
  if (!s) {
    Fault fault = std::move(s).error();
    if (fault.code == Code::bad_model) fault.code = Code::bad_input;  // the graph was fine, so its inputs are not
    const std::string name = plan_.graph->describe(step.node);
    if (fault.message.starts_with(name)) return std::unexpected(std::move(fault));
    return within(name + ": ", std::move(fault));
  }
  return {};
}

/// Of a step that is not prepared.
Status Session::check_inputs(const Step& step) {
  ShapeReader reader{plan_, regs_, shape_memory_};
  if (const std::size_t n = reader.needed(step); n > shape_memory_.size()) shape_memory_.resize(n);
  std::size_t at = 0;
  for (const std::uint32_t s : step.in) {
    if (s == kNone || plan_.slots[s].object) continue;
    FRAZIL_CHECK(check_empty(reader.read(s, at)));
  }
  return {};
}

Status Session::opaque(const Step& step) {
  SessionCall call(*this, step);
  const Status status = std::get<Opaque>(plan_.graph->node(step.node).op->form).run(call);
  for (const std::uint32_t s : step.out) {
    if (s == kNone || !plan_.slots[s].object) continue;
    const Datum& made = objects_[plan_.slots[s].storage];
    if (made.is_tensor()) made.tensor().charge_text();
  }
  return call.status() ? status : call.status();
}

Status Session::reference(const Step& step) {
  const bool keeps =
      std::ranges::any_of(step.out, [&](std::uint32_t s) { return s != kNone && plan_.slots[s].object; });
  std::vector<std::optional<Datum>> inputs(step.in.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (step.in[i] == kNone) continue;
    if (keeps) {
      FRAZIL_TRY(inputs[i], owned_datum_of(step.in[i]));
    } else {
      inputs[i] = datum_of(step.in[i]);
    }
  }
  FRAZIL_TRY(auto outputs, run_node(*plan_.graph, step.node, inputs));
  for (std::size_t k = 0; k < step.out.size(); ++k) {
    if (step.out[k] == kNone) continue;
    if (plan_.slots[step.out[k]].object) {
      FRAZIL_CHECK(put_output(step, k, std::move(outputs[k])));
      continue;
    }
    FRAZIL_TRY(const Tensor packed, outputs[k].tensor().packed());
    FRAZIL_TRY(std::byte * to, place_output(step, k, packed.sizes()));
    const Sizes plain = contiguous_strides(packed.sizes());
    kernel::copy_strided(to, plain, packed.data(), plain, packed.sizes(),
                         static_cast<std::int64_t>(byte_size(packed.elem())));
  }
  return {};
}

Result<std::byte*> Session::place_output(const Step& step, std::size_t k, std::span<const std::int64_t> sizes) {
  const Slot& slot = plan_.slots[step.out[k]];
  if (sizes.size() != slot.dims.size()) {
    return fail(Code::internal, "output {} has rank {}, planned {}", k, sizes.size(), slot.dims.size());
  }
  for (auto [symbol, place] : step.pairs) {
    if (place >> 8 == k) regs_[symbol] = sizes[place & 0xff];
  }
  FRAZIL_TRY(const std::size_t bytes, byte_count(slot.elem, sizes));
  const Storage& storage = plan_.storages[slot.storage];
  if (storage.place == Place::growing) {
    FRAZIL_CHECK(ensure(slot.storage, std::max<std::size_t>(bytes, 64)));
  } else if (bytes > static_cast<std::size_t>(regs_[storage.bytes])) {
    return fail(Code::internal, "output {} takes {} bytes, planned {}", k, bytes, regs_[storage.bytes]);
  }
  return base_[slot.storage];
}

Status Session::put_output(const Step& step, std::size_t k, Datum value) {
  objects_[plan_.slots[step.out[k]].storage] = std::move(value);
  return {};
}

}  // namespace frazil
