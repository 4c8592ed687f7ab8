#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "concurrent/configurations.h"
#include "concurrent/edits.h"

// The programs of configurations_test.cc for FUZZ_SECONDS seconds (60), from seed FUZZ_SEED (1000) on. Run it with
// `make fuzz-configurations`. It goes on after a finding, and prints each one with its program. With the argument
// `edits` it makes the random edits of edits_test.cc instead.
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  if (end != text && *end == '\0') return number;
  std::fprintf(stderr, "%s: expected a number, got '%s'\n", name, text);
  std::exit(2);
}

unsigned long long number(std::uint64_t n) { return n; }

/// Checks one seed after the other until the time is over. Returns the number of findings.
std::uint64_t fuzz(auto check) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number_of("FUZZ_SECONDS", 60));
  std::uint64_t findings = 0;
  for (std::uint64_t seed = number_of("FUZZ_SEED", 1000); std::chrono::steady_clock::now() < end; ++seed) {
    const auto wrong = check(seed);
    if (!wrong) continue;
    ++findings;
    std::printf("FINDING %s\n", wrong->c_str());
    std::fflush(stdout);
  }
  return findings;
}

std::uint64_t fuzz_edits() {
  constexpr int kEdits = 20;  // of one program
  frazil::test::RandomEdits edits;
  const std::uint64_t findings = fuzz([&](std::uint64_t seed) { return edits.check(seed, kEdits); });
  const auto& done = edits.done();
  std::printf("%llu edits, %llu findings; %llu inside of regions, %llu of weights, %llu nodes removed; %llu runs\n",
              number(done.edits), number(findings), number(done.inside), number(done.weights), number(done.removed),
              number(done.runs));
  return findings;
}

std::uint64_t fuzz_configurations() {
  const frazil::test::EagerSharing eager;
  frazil::test::Configurations configurations;
  const std::uint64_t findings = fuzz([&](std::uint64_t seed) { return configurations.check(seed); });
  const auto& done = configurations.done();
  std::printf(
      "%llu programs, %llu findings; %llu runs, %llu of them stopped; %llu steps beside others; code entered %llu "
      "times, left at guards %llu times; %llu requests resumed\n",
      number(done.programs), number(findings), number(done.runs), number(done.stopped), number(done.together),
      number(done.entered), number(done.missed), number(done.resumed));
  return findings;
}

}  // namespace

int main(int argc, char** argv) {
  frazil::link_operators();
  const bool edits = argc == 2 && std::string_view(argv[1]) == "edits";
  return (edits ? fuzz_edits() : fuzz_configurations()) == 0 ? 0 : 1;
}
