#include "base/os/knobs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace frazil {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxDurationMs = 1'000'000'000'000;  // about 30 years; fits a duration

using Set = Status (*)(Knobs& knobs, const Knob& knob, std::string_view text);

Result<std::uint64_t> integer(const Knob& knob, std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return fail(Code::bad_input, "{}: expected an integer in {}, got '{}'", knob.name, knob.range, text);
  }
  return value;
}

template <auto Member, std::uint64_t Min, std::uint64_t Max>
Status set_integer(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(const std::uint64_t value, integer(knob, text, Min, Max));
  knobs.*Member = static_cast<std::remove_reference_t<decltype(knobs.*Member)>>(value);
  return {};
}

template <auto Member>
Status set_limit(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(knobs.limits.*Member, integer(knob, text, 0, kAny));
  return {};
}

template <auto Member>
Status set_load_limit(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(knobs.load.*Member, integer(knob, text, 0, kAny));
  return {};
}

Status set_memory(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(knobs.limits.memory_bytes, integer(knob, text, 0, kAny));
  knobs.load.memory_bytes = knobs.limits.memory_bytes;
  return {};
}

Status set_elements(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(knobs.limits.tensor_elements, integer(knob, text, 0, kAny));
  knobs.load.tensor_elements = knobs.limits.tensor_elements;
  return {};
}

Status set_time(std::optional<std::chrono::steady_clock::duration>& time, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(const std::uint64_t ms, integer(knob, text, 0, kMaxDurationMs));
  if (ms > 0) time = std::chrono::milliseconds(ms);
  return {};
}

Status set_deadline(Knobs& knobs, const Knob& knob, std::string_view text) {
  return set_time(knobs.limits.time, knob, text);
}

Status set_load_deadline(Knobs& knobs, const Knob& knob, std::string_view text) {
  return set_time(knobs.load_time, knob, text);
}

Status set_fill(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_TRY(const std::uint64_t byte, integer(knob, text, 0, 255));
  knobs.fill = static_cast<std::uint8_t>(byte);
  return {};
}

Status one_of(std::initializer_list<std::string_view> words, const Knob& knob, std::string_view text) {
  if (std::ranges::find(words, text) != words.end()) return {};
  return fail(Code::bad_input, "{}: expected {}, got '{}'", knob.name, knob.type, text);
}

Status set_isa(Knobs& knobs, const Knob& knob, std::string_view text) {
  auto features = parse_cpu_features(text);
  if (!features) return within(fmt::format("{}: ", knob.name), std::move(features).error());
  knobs.features = *features;
  return {};
}

Status set_tier(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_CHECK(one_of({"auto", "0", "1", "2"}, knob, text));
  knobs.tier = text;
  return {};
}

Status set_jit(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_CHECK(one_of({"on", "off"}, knob, text));
  knobs.jit = text == "on";
  return {};
}

Status set_onnxruntime(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_CHECK(one_of({"0", "1"}, knob, text));
  knobs.onnxruntime = text == "1";
  return {};
}

Status set_code_generator(Knobs& knobs, const Knob&, std::string_view text) {
  knobs.code_generator = text;
  return {};
}

Status set_code_cache(Knobs& knobs, const Knob&, std::string_view text) {
  knobs.code_cache = text;
  return {};
}

Status set_code_symbols(Knobs& knobs, const Knob& knob, std::string_view text) {
  FRAZIL_CHECK(one_of({"off", "perf", "gdb", "perf,gdb"}, knob, text));
  knobs.code_symbols = text;
  return {};
}

Status set_tuning(Knobs& knobs, const Knob&, std::string_view text) {
  knobs.tuning = text;
  return {};
}

Status set_passes(Knobs& knobs, const Knob& knob, std::string_view text) {
  auto set = parse_pass_set(text);
  if (!set) return within(fmt::format("{}: ", knob.name), std::move(set).error());
  knobs.passes = *set;
  return {};
}

struct Row {
  Knob knob;
  Set set;
};
constexpr std::array<Row, 23> kTable{{
    {{"FRAZIL_DEBUG", "integer", "0", "0..6",
      "What is logged to stderr besides warnings: 1 loads, new plans and code of whole plans, 2 plans, missed guards "
      "and "
      "each compilation, 3 passes; each adds to the ones before."},
     &set_integer<&Knobs::debug, 0, 6>},
    {{"FRAZIL_VERIFY", "integer", "0", "0..3",
      "Verification level of graphs: 0 checks them when they are loaded, 3 after every patch and pass, with a round "
      "trip through the text form."},
     &set_integer<&Knobs::verify, 0, 3>},
    {{"FRAZIL_ISA", kCpuFeaturesForm, "", "",
      "The widest vector set that kernels may use, without the extensions that follow, each after a minus: avx512-vnni "
      "is AVX-512 without VNNI. A bare name allows all extensions that the machine has. Unset, or a vector set that "
      "the machine lacks: all that the machine supports."},
     &set_isa},
    {{"FRAZIL_TIER", "auto, 0, 1 or 2", "auto", "",
      "The tier of runs that do not name one: 0 makes no code, 1 compiles the bodies of fused kernels at once, 2 also "
      "the plan for the extents at hand; auto begins as 0 and compiles in the background what takes time; see "
      "docs/explanation/tiers.md."},
     &set_tier},
    {{"FRAZIL_JIT", "on or off", "on", "",
      "off: no machine code is generated or loaded from a cache, whatever the tier; no page becomes executable."},
     &set_jit},
    {{"FRAZIL_CODE_GENERATOR", "a file", "", "",
      "The code generator, libfrazil_jit.so; unset: beside the program or the library, where it is installed, or where "
      "the dynamic linker looks."},
     &set_code_generator},
    {{"FRAZIL_CODE_CACHE", "a folder or off", "", "",
      "Where generated code is kept from one process to the next; unset: in $XDG_CACHE_HOME/frazil/code or "
      "~/.cache/frazil/code."},
     &set_code_cache},
    {{"FRAZIL_CODE_SYMBOLS", "off, perf, gdb or perf,gdb", "off", "",
      "Who is told of generated code: perf by /tmp/perf-PID.map, gdb by its JIT interface."},
     &set_code_symbols},
    {{"FRAZIL_TUNING", "a file or off", "", "",
      "The table of what work takes on this machine, which frazil tune makes; unset: the user's own in "
      "$XDG_CACHE_HOME/frazil or ~/.cache/frazil, if it is there; see docs/how-to/tuning.md."},
     &set_tuning},
    {{"FRAZIL_THREADS", "integer", "1", "0..1024", "Threads of one run; 0: one per core. Results do not depend on it."},
     &set_integer<&Knobs::threads, 0, 1024>},
    {{"FRAZIL_PASSES", "all, none, -NAME, +NAME", "all", "",
      "The passes that graphs go through before planning: words separated by commas, as in -cse,-fold; see "
      "docs/reference/passes.md."},
     &set_passes},
    {{"FRAZIL_LAZY_BYTES", "integer", "67108864", "0..18446744073709551615",
      "Maximum bytes of the graphs and plans that a process keeps for structures of recorded operators; see "
      "docs/explanation/define-by-run.md."},
     &set_integer<&Knobs::lazy_bytes, 0, kAny>},
    {{"FRAZIL_MEMORY_LIMIT", "integer", "", "0..18446744073709551615",
      "Maximum bytes of a session's values, or of what a load makes: its graph, and tensor data copied out of the "
      "file. By default four fifths of the memory of the machine or its control group."},
     &set_memory},
    {{"FRAZIL_ARENA_LIMIT", "integer", "18446744073709551615", "0..18446744073709551615",
      "Maximum bytes of a session's values kept between runs: arena, growing values, scratch."},
     &set_limit<&Limits::arena_bytes>},
    {{"FRAZIL_MAX_ELEMENTS", "integer", "68719476736", "0..18446744073709551615",
      "Maximum number of elements of a tensor."},
     &set_elements},
    {{"FRAZIL_MAX_STEPS", "integer", "1000000000", "0..18446744073709551615", "Maximum number of steps of a run."},
     &set_limit<&Limits::steps>},
    {{"FRAZIL_DEADLINE_MS", "integer", "0", "0..1000000000000", "Maximum duration of a run in milliseconds; 0: none."},
     &set_deadline},
    {{"FRAZIL_LOAD_DEADLINE_MS", "integer", "0", "0..1000000000000",
      "Maximum duration of loading a model, and again of planning it, in milliseconds; 0: none."},
     &set_load_deadline},
    {{"FRAZIL_FILL", "integer", "", "0..255",
      "A byte that new buffers, and before each run the session's arena, growing values and scratch, are filled with: "
      "a test of kernels that leave bytes of a result unwritten; unset: they are not filled."},
     &set_fill},
    {{"FRAZIL_MAX_NODES", "integer", "10000000", "0..18446744073709551615",
      "Maximum number of nodes of a model, including those of inlined functions."},
     &set_load_limit<&LoadLimits::nodes>},
    {{"FRAZIL_MAX_NESTING", "integer", "20000", "0..18446744073709551615",
      "Maximum nesting depth of subgraphs and function calls."},
     &set_load_limit<&LoadLimits::nesting>},
    {{"FRAZIL_MAX_NAME_BYTES", "integer", "4096", "0..18446744073709551615",
      "Maximum length of a name in a model, in bytes."},
     &set_load_limit<&LoadLimits::name_bytes>},
    {{"FRAZIL_ONNXRUNTIME", "0 or 1", "0", "",
      "1: where Python imports frazil, import onnxruntime means frazil.onnxruntime; see "
      "docs/how-to/onnxruntime-python.md."},
     &set_onnxruntime},
}};

std::optional<std::string> from_environment(std::string_view name) {
  const char* text = std::getenv(std::string(name).c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

std::span<const Knob> knob_table() {
  static const auto knobs = [] {
    std::array<Knob, kTable.size()> all;
    std::ranges::transform(kTable, all.begin(), &Row::knob);
    return all;
  }();
  return knobs;
}

Result<Knobs> parse_knobs(const std::function<std::optional<std::string>(std::string_view)>& get) {
  Knobs knobs;
  for (const auto& [knob, set] : kTable) {
    const std::optional<std::string> text = get(knob.name);
    if (text && !text->empty()) FRAZIL_CHECK(set(knobs, knob, *text));
  }
  return knobs;
}

const Result<Knobs>& knobs() {
  static const Result<Knobs> parsed = parse_knobs(from_environment);
  return parsed;
}

}  // namespace frazil
