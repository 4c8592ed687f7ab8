#include "exec/run/request.h"

#include <algorithm>

#include "ref/symbols.h"

namespace frazil::exec {

Request::Request(RunContext& context, Values& values, Memory& memory)
    : values_(values),
      plan_(values.plan),
      inputs_(plan_.inputs.size()),
      bound_(plan_.graph->scope().symbol_count(), 0),
      carried_(context, values, memory, inputs_) {}

void Request::drop() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i] = Tensor();
    if (plan_.slot(plan_.inputs[i]).object) values_.object(plan_.inputs[i]) = Datum();
  }
  for (const SlotId s : plan_.outputs) {
    const Value of = plan_.slot(s).value;
    const bool constant = of && plan_.graph->constant(of) != nullptr;  // belongs to the plan, not to a request
    if (plan_.storage(s).place == Place::object && !constant) values_.object(s) = Datum();
  }
}

Status Request::input_error(std::size_t i, std::string what) const {
  const Graph& graph = *plan_.graph;
  return fail(Code::bad_input, "input '{}': expected {}, got {}", graph.input_names()[i],
              str(graph.type(graph.main().params[i]), graph.scope()), what);
}

Status Request::bind_inputs(std::span<const Datum> inputs) {
  const Graph& graph = *plan_.graph;
  if (inputs.size() > plan_.inputs.size()) {
    return fail(Code::bad_input, "the graph takes {} inputs, got {}", plan_.inputs.size(), inputs.size());
  }
  std::ranges::fill(bound_, std::uint8_t{0});
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const Type& type = graph.type(graph.main().params[i]);
    const bool given = i < inputs.size() && (!inputs[i].empty() || type.kind == Type::Kind::optional);
    if (given) {
      FRAZIL_CHECK(bind_input(i, inputs[i]));
    } else if (const Tensor* value = graph.input_default(i)) {
      FRAZIL_CHECK(bind_input(i, Datum(*value)));
    } else {
      return fail(Code::bad_input, "input '{}' is missing: expected {}", graph.input_names()[i],
                  str(type, graph.scope()));
    }
  }
  return {};
}

Status Request::bind_input(std::size_t i, const Datum& value) {
  const Slot& slot = plan_.slot(plan_.inputs[i]);
  const Type& type = plan_.graph->type(plan_.graph->main().params[i]);
  if (type.is_tensor() != value.is_tensor() && type.kind != Type::Kind::optional) {
    return input_error(i, value.is_tensor() ? value.tensor().type_str() : "a sequence, map or empty optional");
  }
  if (value.is_tensor() && type.is_tensor()) {
    const Tensor& t = value.tensor();
    if (t.elem() != slot.elem) return input_error(i, t.type_str());
    if (type.ranked) FRAZIL_CHECK(bind_dims(i, t));
  }
  if (slot.object) return bind_object(i, value);
  const std::uint32_t a = carried_.of_input(i);
  const Plan::Append* const append = a == kNone ? nullptr : &plan_.appends[a];
  const auto capacity = append == nullptr ? std::nullopt : capacity_along(value.tensor(), append->axis);
  if (append != nullptr) values_.regs[append->input_capacity] = capacity.value_or(value.tensor().sizes()[append->axis]);
  if (capacity || value.tensor().contiguous()) {
    inputs_[i] = value.tensor();
  } else {
    FRAZIL_TRY(inputs_[i], value.tensor().packed());
  }
  values_.base[slot.storage] = inputs_[i].mutable_data();
  return {};
}

Status Request::bind_object(std::size_t i, const Datum& value) {
  const Type& type = plan_.graph->type(plan_.graph->main().params[i]);
  if (!ref::fits(type, value)) return input_error(i, ref::describe(value));
  Datum& object = values_.object(plan_.inputs[i]);
  object = value;
  inputs_[i] = Tensor();
  if (!value.is_tensor()) return {};
  FRAZIL_TRY(inputs_[i], value.tensor().packed());
  object = Datum(inputs_[i]);
  return {};
}

Status Request::bind_dims(std::size_t i, const Tensor& tensor) {
  const auto& dims = plan_.input_dims[i];
  if (tensor.rank() != dims.size()) return input_error(i, tensor.type_str());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const auto& d = dims[axis];
    if (d.constant >= 0 && d.constant != tensor.sizes()[axis]) return input_error(i, tensor.type_str());
    if (d.constant < 0 && d.symbol != kNone) FRAZIL_CHECK(bind_symbol(i, axis, tensor));
  }
  return {};
}

Status Request::bind_symbol(std::size_t i, std::size_t axis, const Tensor& tensor) {
  const auto& [symbol, bounds, equals, constant] = plan_.input_dims[i][axis];
  const std::int64_t got = tensor.sizes()[axis];
  if (got < bounds.min || got > bounds.max) return input_error(i, tensor.type_str());
  std::int64_t& held = values_.regs[symbol];
  if (bound_[symbol] != 0 && held != got) {
    return fail(Code::bad_input, "input '{}': extent {} of axis {} contradicts {} = {} of an input before it",
                plan_.graph->input_names()[i], got, axis, plan_.graph->scope().symbol_name(symbol), held);
  }
  bound_[symbol] = 1;
  held = got;
  return {};
}

Status Request::check_input_expressions() const {
  for (std::size_t i = 0; i < plan_.input_dims.size(); ++i) {
    for (std::size_t axis = 0; axis < plan_.input_dims[i].size(); ++axis) {
      const Reg expected = plan_.input_dims[i][axis].equals;
      if (expected == kNoReg) continue;
      const Tensor& t = inputs_[i];
      if (t.defined() && t.sizes()[axis] != values_.regs[expected]) return input_error(i, t.type_str());
    }
  }
  return {};
}

bool Request::in_place(std::size_t k) const {
  const Storage& storage = plan_.storage(plan_.outputs[k]);
  return storage.place == Place::output && storage.index == k;
}

Status Request::make_outputs(std::vector<Datum>& outputs) {
  outputs.resize(plan_.outputs.size());
  for (std::size_t k = 0; k < plan_.outputs.size(); ++k) {
    if (!in_place(k)) continue;
    const Slot& slot = plan_.slot(plan_.outputs[k]);
    const std::uint32_t append = carried_.of_output(k);
    Status made = append == kNone ? values_.make_tensor(slot, outputs[k]) : carried_.make(append, outputs[k]);
    if (!made) {
      FRAZIL_CHECK(values_.check_extents(slot));
      return within(values_.describe(slot) + ": ", std::move(made).error());
    }
    values_.base[slot.storage] = outputs[k].mutable_tensor().mutable_data();
  }
  return {};
}

Status Request::take_outputs(std::vector<Datum>& outputs) {
  for (std::size_t k = 0; k < plan_.outputs.size(); ++k) {
    if (in_place(k)) continue;
    const SlotId s = plan_.outputs[k];
    if (plan_.slot(s).object) {
      outputs[k] = values_.object(s);
      continue;
    }
    Status copied = values_.copy_out(s, outputs[k]);
    if (!copied) FRAZIL_CHECK(values_.check_extents(plan_.slot(s)));
    if (!copied) return within(values_.describe(plan_.slot(s)) + ": ", std::move(copied).error());
  }
  return {};
}

}  // namespace frazil::exec
