#include "base/value/elem.h"

#include <array>
#include <string>

namespace frazil {
namespace {

struct ElemInfo {
  std::string_view name;
  std::uint8_t bytes;
  std::uint8_t bits;
};

constexpr std::uint8_t kStringBytes = sizeof(std::string);

constexpr std::array<ElemInfo, kElemCount> kInfo = {{
    {"bool", 1, 8},     {"i8", 1, 8},         {"i16", 2, 16},    {"i32", 4, 32},
    {"i64", 8, 64},     {"u8", 1, 8},         {"u16", 2, 16},    {"u32", 4, 32},
    {"u64", 8, 64},     {"f16", 2, 16},       {"bf16", 2, 16},   {"f32", 4, 32},
    {"f64", 8, 64},     {"c64", 8, 64},       {"c128", 16, 128}, {"string", kStringBytes, 0},
    {"f8e4m3fn", 1, 8}, {"f8e4m3fnuz", 1, 8}, {"f8e5m2", 1, 8},  {"f8e5m2fnuz", 1, 8},
    {"f8e8m0", 1, 8},   {"f4e2m1", 1, 4},     {"i4", 1, 4},      {"u4", 1, 4},
    {"i2", 1, 2},       {"u2", 1, 2},
}};

constexpr const ElemInfo& info(Elem e) { return kInfo[static_cast<std::size_t>(e)]; }

static_assert(info(Elem::f16).name == "f16" && info(Elem::string).name == "string" && info(Elem::u2).name == "u2");

}  // namespace

std::string_view name_of(Elem e) { return info(e).name; }

std::optional<Elem> elem_from_name(std::string_view name) {
  for (int i = 0; i < kElemCount; ++i) {
    if (kInfo[i].name == name) return static_cast<Elem>(i);
  }
  return std::nullopt;
}

std::size_t byte_size(Elem e) { return info(e).bytes; }

int bit_width(Elem e) { return e == Elem::string ? 8 * kStringBytes : info(e).bits; }

}  // namespace frazil
