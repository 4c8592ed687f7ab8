#include "server/datatype.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace frazil::server {
namespace {

using enum api::Dtype;

constexpr std::pair<api::Dtype, std::string_view> kDatatypes[] = {
    {boolean, "BOOL"}, {u8, "UINT8"},  {u16, "UINT16"}, {u32, "UINT32"},   {u64, "UINT64"},
    {i8, "INT8"},      {i16, "INT16"}, {i32, "INT32"},  {i64, "INT64"},    {f16, "FP16"},
    {bf16, "BF16"},    {f32, "FP32"},  {f64, "FP64"},   {string, "BYTES"},
};

}  // namespace

std::string_view datatype_of(api::Dtype dtype) {
  const auto at = std::ranges::find(kDatatypes, dtype, &std::pair<api::Dtype, std::string_view>::first);
  return at == std::end(kDatatypes) ? std::string_view() : at->second;
}

std::optional<api::Dtype> dtype_from(std::string_view datatype) {
  const auto at = std::ranges::find(kDatatypes, datatype, &std::pair<api::Dtype, std::string_view>::second);
  return at == std::end(kDatatypes) ? std::nullopt : std::optional(at->first);
}

}  // namespace frazil::server
