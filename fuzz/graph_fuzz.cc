#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coverage.h"
#include "differ.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "random_graph.h"
#include "reduce.h"

// Random graphs on both executors. Beside libFuzzer's own flags:
//   graph_fuzz -reduce FILE|SEED...      shows what is found for inputs of libFuzzer or seeds of -hunt, reduced
//   graph_fuzz -hunt SECONDS [SEED]      runs random graphs without libFuzzer and goes on after a finding
// With FRAZIL_FUZZ_COVERAGE set, a table of the operators that ran is printed at the end.
extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace frazil::fuzz {
namespace {

std::string kind_found(const Case& c) {
  const auto found = check(c);
  return found ? found->kind : std::string();
}

/// The same in a process of its own, which may die.
std::string kind_found_apart(const Case& c) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    __sanitizer_set_death_callback(nullptr);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    const std::string kind = kind_found(c);
    (void)!write(ends[1], kind.data(), kind.size());
    _exit(0);
  }
  close(ends[1]);
  std::string kind(4096, ' ');
  kind.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], kind.data(), kind.size()), 0)));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? kind : "a crash";
}

void show(const Case& c, const Finding& finding, bool apart = false) {
  fmt::print(stderr, "FINDING {}: {}\n", finding.kind, finding.message);
  const Case small = reduce(c, finding.kind, apart ? kind_found_apart : kind_found);
  const auto left = apart ? std::optional(finding) : check(small);
  fmt::print(stderr, "; {}: {}; kernels for {}, passes {}\n", finding.kind, left ? left->message : "it went away",
             name_of(c.isa), str(c.passes));
  fmt::print(stderr, "{}\n", as_test(small, finding.kind, apart));
}

/// What is found for one input; null when nothing is.
std::optional<Finding> examine(std::span<const std::uint8_t> bytes, std::optional<Case>& c) {
  Choices choices(bytes);
  auto made = random_case(choices);
  if (!made) return made.error();
  c = std::move(*made);
  Coverage::global().built(c->graph);
  return check(*c);
}

/// The process dies: what it was doing.
void last_words() {
  const Journal& j = journal();
  fmt::print(stderr, "; while {}\n", j.stage);
  if (j.op) {
    fmt::print(stderr, "; last operator {} of", j.op->name);
    for (Value v : j.inputs) fmt::print(stderr, " {}", v ? str(j.graph->type(v), j.graph->scope()) : "_");
    fmt::print(stderr, "\n");
  }
  if (j.graph) fmt::print(stderr, "{}\n", print(*j.graph));
}

std::vector<std::uint8_t> bytes_of(std::uint64_t seed) {
  std::vector<std::uint8_t> bytes;
  for (int k = 0; k < 8; ++k) bytes.push_back(static_cast<std::uint8_t>(seed >> (8 * k)));
  return bytes;
}

using Clock = std::chrono::steady_clock;

/// Goes on from `seed`, which outlives this process.
void hunt_until(Clock::time_point end, volatile std::uint64_t& seed) {
  std::map<std::string, int> kinds;
  for (; Clock::now() < end; seed = seed + 1) {
    std::optional<Case> c;
    const auto found = examine(bytes_of(seed), c);
    if (!found || kinds[found->kind]++ > (found->gap ? 0 : 1)) continue;
    fmt::print(stderr, "seed {}\n", seed);
    if (c) show(*c, *found);
    if (!c) fmt::print(stderr, "FINDING {}: {}\n", found->kind, found->message);
  }
  for (const auto& [kind, times] : kinds) fmt::print(stderr, "{:>6} {}\n", times, kind);
}

void hunt(double seconds, std::uint64_t first) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& seed = *static_cast<volatile std::uint64_t*>(shared);
  seed = first;
  for (int status = 1; status != 0; seed = seed + 1) {
    const pid_t child = fork();
    if (child == 0) {
      hunt_until(end, seed);
      std::exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0) fmt::print(stderr, "FINDING a crash: seed {}\n", seed);
  }
  fmt::print(stderr, "{} graphs\n", seed - first);
}

std::vector<std::uint8_t> contents(const char* path) {
  std::vector<std::uint8_t> bytes;
  if (FILE* file = std::fopen(path, "rb")) {
    for (int b = 0; (b = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<std::uint8_t>(b));
    std::fclose(file);
  }
  return bytes;
}

/// `name` is a file, or a seed of -hunt.
void reduce_input(const char* name) {
  const bool seed = std::string_view(name).find_first_not_of("0123456789") == std::string_view::npos;
  const auto bytes = seed ? bytes_of(std::strtoull(name, nullptr, 10)) : contents(name);
  Choices choices(bytes);
  const auto c = random_case(choices);
  if (!c) return fmt::print(stderr, "FINDING {}: {}\n", c.error().kind, c.error().message);
  if (kind_found_apart(*c) == "a crash") return show(*c, Finding{.kind = "a crash", .message = ""}, true);
  if (const auto found = check(*c)) return show(*c, *found);
  fmt::print(stderr, "{}: nothing is found\n{}", name, print(c->graph));
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace frazil::fuzz;
  __sanitizer_set_death_callback(last_words);
  if (std::getenv("FRAZIL_FUZZ_COVERAGE") != nullptr) {
    (void)Coverage::global();
    std::atexit([] { fmt::print(stderr, "{}", Coverage::global().table()); });
  }
  const std::string_view mode = *argc > 2 ? (*argv)[1] : "";
  if (mode == "-hunt") {
    hunt(std::atof((*argv)[2]), *argc > 3 ? std::strtoull((*argv)[3], nullptr, 10) : 0);
    std::exit(0);
  }
  if (mode == "-reduce") {
    for (int k = 2; k < *argc; ++k) reduce_input((*argv)[k]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace frazil::fuzz;
  std::optional<Case> c;
  const auto found = examine({data, size}, c);
  if (!found || found->gap) return 0;
  if (c) show(*c, *found);
  if (!c) fmt::print(stderr, "FINDING {}: {}\n", found->kind, found->message);
  std::abort();
}
