#include "server/core/datatype.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace frazil::server {
namespace {

constexpr std::pair<api::Dtype, std::string_view> kDatatypes[] = {
    {api::Dtype::boolean, "BOOL"}, {api::Dtype::u8, "UINT8"},     {api::Dtype::u16, "UINT16"},
    {api::Dtype::u32, "UINT32"},   {api::Dtype::u64, "UINT64"},   {api::Dtype::i8, "INT8"},
    {api::Dtype::i16, "INT16"},    {api::Dtype::i32, "INT32"},    {api::Dtype::i64, "INT64"},
    {api::Dtype::f16, "FP16"},     {api::Dtype::bf16, "BF16"},    {api::Dtype::f32, "FP32"},
    {api::Dtype::f64, "FP64"},     {api::Dtype::string, "BYTES"},
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
