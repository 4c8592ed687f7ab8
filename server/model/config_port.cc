#include "server/model/config_port.h"

#include <algorithm>
#include <iterator>

#include "server/core/port.h"

namespace frazil::server {
namespace {

struct TritonType {
  api::Dtype dtype;
  std::int32_t number;
  std::string_view name;
};

constexpr TritonType kTritonTypes[] = {
    {api::Dtype::boolean, 1, "TYPE_BOOL"},   {api::Dtype::u8, 2, "TYPE_UINT8"},   {api::Dtype::u16, 3, "TYPE_UINT16"},
    {api::Dtype::u32, 4, "TYPE_UINT32"},     {api::Dtype::u64, 5, "TYPE_UINT64"}, {api::Dtype::i8, 6, "TYPE_INT8"},
    {api::Dtype::i16, 7, "TYPE_INT16"},      {api::Dtype::i32, 8, "TYPE_INT32"},  {api::Dtype::i64, 9, "TYPE_INT64"},
    {api::Dtype::f16, 10, "TYPE_FP16"},      {api::Dtype::f32, 11, "TYPE_FP32"},  {api::Dtype::f64, 12, "TYPE_FP64"},
    {api::Dtype::string, 13, "TYPE_STRING"}, {api::Dtype::bf16, 14, "TYPE_BF16"}};

ConfigPort config_of(const api::Port& port, std::optional<std::size_t> batch) {
  ConfigPort config{.name = port.name, .type = "TYPE_INVALID", .dims = protocol_shape(port)};
  const auto* const type = std::ranges::find(kTritonTypes, port.dtype, &TritonType::dtype);
  if (port.kind == api::Array::Kind::tensor && type != std::end(kTritonTypes)) {
    config.type = type->name;
    config.number = type->number;
  }
  if (batch == 0) config.dims.erase(config.dims.begin());
  return config;
}

}  // namespace

std::vector<api::Port> client_inputs(const Served& served) {
  std::vector<api::Port> list = served.inputs();
  std::erase_if(list, [&](const api::Port& port) { return is_state(served, port.name); });
  return list;
}

std::vector<ConfigPort> config_inputs(const Served& served) {
  std::vector<ConfigPort> list;
  const std::vector<api::Port>& inputs = served.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_state(served, inputs[i].name)) list.push_back(config_of(inputs[i], served.batch_axis_of_input(i)));
  }
  return list;
}

std::vector<ConfigState> config_states(const Served& served) {
  std::vector<ConfigState> list;
  for (const StateLink& link : served.config().sequences.states) {
    const auto at = position_of(served.inputs(), link.input);
    if (!at) continue;
    list.push_back({.input = config_of(served.inputs()[*at], served.batch_axis_of_input(*at)), .output = link.output});
  }
  return list;
}

Scheduling scheduling_of(const Served& served) {
  if (!served.config().sequences.states.empty()) return Scheduling::sequence_batching;
  return served.config().batching.most > 0 ? Scheduling::dynamic_batching : Scheduling::none;
}

std::vector<ConfigPort> config_outputs(const Served& served) {
  std::vector<ConfigPort> list;
  for (const api::Port& port : all_outputs(served)) {
    list.push_back(config_of(port, served.batch_axis_of_output(list.size())));
  }
  return list;
}

}  // namespace frazil::server
