#include "server/config_port.h"

#include <algorithm>
#include <iterator>

#include "server/port.h"

namespace frazil::server {
namespace {

using enum api::Dtype;

struct Type {
  api::Dtype dtype;
  std::int32_t number;
  std::string_view name;
};

constexpr Type kTypes[] = {{boolean, 1, "TYPE_BOOL"},   {u8, 2, "TYPE_UINT8"},   {u16, 3, "TYPE_UINT16"},
                           {u32, 4, "TYPE_UINT32"},     {u64, 5, "TYPE_UINT64"}, {i8, 6, "TYPE_INT8"},
                           {i16, 7, "TYPE_INT16"},      {i32, 8, "TYPE_INT32"},  {i64, 9, "TYPE_INT64"},
                           {f16, 10, "TYPE_FP16"},      {f32, 11, "TYPE_FP32"},  {f64, 12, "TYPE_FP64"},
                           {string, 13, "TYPE_STRING"}, {bf16, 14, "TYPE_BF16"}};

ConfigPort config_of(const api::Port& port, std::optional<std::size_t> batch) {
  ConfigPort config{.name = port.name, .type = "TYPE_INVALID", .dims = protocol_shape(port)};
  const auto* const type = std::ranges::find(kTypes, port.dtype, &Type::dtype);
  if (port.kind == api::Array::Kind::tensor && type != std::end(kTypes)) {
    config.type = type->name;
    config.number = type->number;
  }
  if (batch == 0) config.dims.erase(config.dims.begin());
  return config;
}

}  // namespace

std::vector<ConfigPort> config_inputs(const Served& served) {
  std::vector<ConfigPort> list;
  for (const api::Port& port : served.inputs())
    list.push_back(config_of(port, served.batch_axis_of_input(list.size())));
  return list;
}

std::vector<ConfigPort> config_outputs(const Served& served) {
  std::vector<ConfigPort> list;
  for (const api::Port& port : served.all_outputs()) {
    list.push_back(config_of(port, served.batch_axis_of_output(list.size())));
  }
  return list;
}

}  // namespace frazil::server
