#include "base/value/cpu_features.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace frazil {
namespace {

constexpr std::string_view kIsaNames[] = {"base", "avx2", "avx512", "neon"};

constexpr CpuExtension kExtensions[] = {
    {Isa::avx512, "vnni", &CpuFeatures::byte_dot},
    {Isa::avx512, "bf16", &CpuFeatures::bf16_dot},
    {Isa::neon, "dotprod", &CpuFeatures::byte_dot},
};

/// Returns true if each machine with `wide` also has `narrow`: a partial order, in which neither avx512 nor neon
/// includes the other.
constexpr bool includes(Isa wide, Isa narrow) {
  return narrow == wide || narrow == Isa::base || (wide == Isa::avx512 && narrow == Isa::avx2);
}

/// Removes an extension; returns false if the features lack it.
bool remove(CpuFeatures& features, std::string_view name) {
  for (const CpuExtension& e : kExtensions) {
    if (e.isa != features.isa || e.name != name) continue;
    return std::exchange(features.*e.member, false);
  }
  return false;
}

std::optional<CpuFeatures> parsed(std::string_view text) {
  const std::size_t end = std::min(text.find('-'), text.size());
  const auto isa = isa_from_name(text.substr(0, end));
  if (!isa) return std::nullopt;
  CpuFeatures features = CpuFeatures::all_of(*isa);
  for (std::string_view rest = text.substr(end); !rest.empty();) {
    rest.remove_prefix(1);
    const std::size_t next = std::min(rest.find('-'), rest.size());
    if (!remove(features, rest.substr(0, next))) return std::nullopt;
    rest.remove_prefix(next);
  }
  return features;
}

}  // namespace

std::string_view name_of(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> isa_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kIsaNames, name);
  if (found == std::end(kIsaNames)) return std::nullopt;
  return static_cast<Isa>(found - kIsaNames);
}

CpuFeatures CpuFeatures::all_of(Isa isa) {
  CpuFeatures all{.isa = isa};
  for (const CpuExtension& e : kExtensions) {
    if (e.isa == isa) all.*e.member = true;
  }
  return all;
}

CpuFeatures CpuFeatures::clamped_to(const CpuFeatures& machine) const {
  if (!includes(machine.isa, isa)) return machine;
  CpuFeatures both{.isa = isa};
  for (const CpuExtension& e : kExtensions) {
    if (e.isa == isa) both.*e.member = this->*e.member && machine.*e.member;
  }
  return both;
}

std::span<const CpuExtension> cpu_extensions() { return kExtensions; }

Result<CpuFeatures> parse_cpu_features(std::string_view text) {
  if (const auto features = parsed(text)) return *features;
  return fail(Code::bad_input, "expected {}, got '{}'", kCpuFeaturesForm, text);
}

std::string str(const CpuFeatures& features) {
  std::string text(name_of(features.isa));
  for (const CpuExtension& e : kExtensions) {
    if (e.isa == features.isa && !(features.*e.member)) text += fmt::format("-{}", e.name);
  }
  return text;
}

}  // namespace frazil
