#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "concurrent/configurations.h"

// The programs of configurations_test.cc for FUZZ_SECONDS seconds (60), from seed FUZZ_SEED (1000) on. Run it with
// `make fuzz-configurations`. It goes on after a finding, and prints each one with its program.
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

}  // namespace

int main() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number_of("FUZZ_SECONDS", 60));
  std::uint64_t seed = number_of("FUZZ_SEED", 1000), findings = 0;
  frazil::link_operators();
  const frazil::test::EagerSharing eager;
  frazil::test::Configurations configurations;
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    const auto wrong = configurations.check(seed);
    if (!wrong) continue;
    ++findings;
    std::printf("FINDING %s\n", wrong->c_str());
    std::fflush(stdout);
  }
  const auto& done = configurations.done();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%llu programs, %llu findings; %llu runs, %llu of them stopped; %llu steps beside others; code entered %llu "
      "times, "
      "left at guards %llu times; %llu requests resumed\n",
      number(done.programs), number(findings), number(done.runs), number(done.stopped), number(done.together),
      number(done.entered), number(done.missed), number(done.resumed));
  return findings == 0 ? 0 : 1;
}
