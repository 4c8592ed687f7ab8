#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coverage.h"
#include "differ.h"
#include "ir/op.h"
#include "ir/text.h"
#include "random_graph.h"
#include "reduce.h"

// Random graphs on both executors. Beside libFuzzer's own flags:
//   graph_fuzz -reduce FILE...           shows what is found for inputs of libFuzzer, reduced
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
  fmt::print(stderr, "; {}: {}; kernels for {}\n", finding.kind, left ? left->message : "it went away",
             kernel::name_of(c.isa));
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

void hunt(double seconds, std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::map<std::string, int> kinds;
  std::uint64_t count = 0;
  for (; Clock::now() < end; ++count, ++seed) {
    std::optional<Case> c;
    std::uint8_t bytes[8];
    for (int k = 0; k < 8; ++k) bytes[k] = static_cast<std::uint8_t>(seed >> (8 * k));
    const auto found = examine(bytes, c);
    if (!found || kinds[found->kind]++ > 2) continue;
    fmt::print(stderr, "seed {}\n", seed);
    if (c) show(*c, *found);
    if (!c) fmt::print(stderr, "FINDING {}: {}\n", found->kind, found->message);
  }
  fmt::print(stderr, "{} graphs\n", count);
  for (const auto& [kind, times] : kinds) fmt::print(stderr, "{:>6} {}\n", times, kind);
}

std::vector<std::uint8_t> contents(const char* path) {
  std::vector<std::uint8_t> bytes;
  if (FILE* file = std::fopen(path, "rb")) {
    for (int b = 0; (b = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<std::uint8_t>(b));
    std::fclose(file);
  }
  return bytes;
}

void reduce_file(const char* path) {
  const auto bytes = contents(path);
  Choices choices(bytes);
  const auto c = random_case(choices);
  if (!c) return fmt::print(stderr, "FINDING {}: {}\n", c.error().kind, c.error().message);
  if (kind_found_apart(*c) == "a crash") return show(*c, Finding{.kind = "a crash", .message = ""}, true);
  if (const auto found = check(*c)) return show(*c, *found);
  fmt::print(stderr, "{}: nothing is found\n{}", path, print(c->graph));
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
    for (int k = 2; k < *argc; ++k) reduce_file((*argv)[k]);
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
