#include "base/knobs.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace frazil {
namespace {

using Set = Status (*)(Knobs& knobs, const Knob& knob, std::string_view text);

template <auto Member, std::uint64_t Min, std::uint64_t Max>
Status set_integer(Knobs& knobs, const Knob& knob, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < Min || value > Max) {
    return fail(Code::bad_input, "{}: expected an integer in {}, got '{}'", knob.name, knob.range, text);
  }
  knobs.*Member = static_cast<std::remove_reference_t<decltype(knobs.*Member)>>(value);
  return {};
}

Status set_isa(Knobs& knobs, const Knob& knob, std::string_view text) {
  if (text != "base" && text != "avx2" && text != "avx512") {
    return fail(Code::bad_input, "{}: expected {}, got '{}'", knob.name, knob.type, text);
  }
  knobs.isa = text;
  return {};
}

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

constexpr std::array<Knob, 6> kTable{{
    {"FRAZIL_DEBUG", "integer", "0", "0..6",
     "What is logged to stderr: 1 calls, 2 plans, 3 passes, 4 scalar tapes, 5 LLVM IR, 6 assembly; each adds to the "
     "ones before."},
    {"FRAZIL_VERIFY", "integer", "0", "0..3",
     "How much graphs are checked: 0 as they are loaded, 3 after every patch with a round trip through the text form."},
    {"FRAZIL_ISA", "base, avx2 or avx512", "", "",
     "The widest instruction set that kernels may use; unset: the widest that the machine has."},
    {"FRAZIL_THREADS", "integer", "1", "0..1024", "Threads of one run; 0: one per core. Results do not depend on it."},
    {"FRAZIL_MEMORY_LIMIT", "integer", "1099511627776", "0..18446744073709551615",
     "Bytes that one session may hold for values."},
    {"FRAZIL_MAX_STEPS", "integer", "18446744073709551615", "0..18446744073709551615",
     "Steps after which a run is stopped."},
}};

constexpr std::array<Set, kTable.size()> kSetters{
    &set_integer<&Knobs::debug, 0, 6>,
    &set_integer<&Knobs::verify, 0, 3>,
    &set_isa,
    &set_integer<&Knobs::threads, 0, 1024>,
    &set_integer<&Knobs::memory_limit, 0, kAny>,
    &set_integer<&Knobs::max_steps, 0, kAny>,
};

std::optional<std::string> from_environment(std::string_view name) {
  const char* text = std::getenv(std::string(name).c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

std::span<const Knob> knob_table() { return kTable; }

Result<Knobs> parse_knobs(const std::function<std::optional<std::string>(std::string_view)>& get) {
  Knobs knobs;
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const std::optional<std::string> text = get(kTable[i].name);
    if (text && !text->empty()) FRAZIL_CHECK(kSetters[i](knobs, kTable[i], *text));
  }
  return knobs;
}

const Result<Knobs>& knobs() {
  static const Result<Knobs> parsed = parse_knobs(from_environment);
  return parsed;
}

}  // namespace frazil
