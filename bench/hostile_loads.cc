// Measures the time and memory that loading and planning take for small files that stand for much work: hostile_loads
// prints a row per family and size. hostile_loads MODEL... prints what the verification of plans adds to loads of these
// files.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/limits/load_scope.h"
#include "bench/child.h"
#include "exec/run/executable.h"
#include "hostile_models.h"
#include "ir/graph/source_bytes.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"
#include "plan/model/verify_plan.h"

namespace {

using frazil::test::hostile::kFamilies;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// One row, in a process of its own because of the peak memory.
void measure(std::size_t family, int n) {
  frazil::link_operators();
  const std::string bytes = kFamilies[family].make(n);
  const double before = bench::status_bytes("VmHWM");
  const frazil::LoadBounds bounds;
  const auto begin = Clock::now();
  auto graph = frazil::import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr);
  const double load_ms = ms_since(begin);
  std::string outcome = graph ? "planned" : graph.error().text();
  double plan_ms = 0;
  if (graph) {
    const auto shared = std::make_shared<const frazil::Graph>(std::move(*graph));
    const auto planning = Clock::now();
    const frazil::LoadScope scope(bounds, "planning the model", frazil::source_bytes(*shared));
    const auto made = frazil::exec::Executable::make(shared);
    plan_ms = ms_since(planning);
    if (!made) outcome = made.error().text();
  }
  std::printf("%-31s %7d %9.1f %9.1f %9.1f %8.1f  %.90s\n", kFamilies[family].name, n,
              static_cast<double>(bytes.size()) / 1e3, load_ms, plan_ms, (bench::status_bytes("VmHWM") - before) / 1e6,
              outcome.c_str());
}

/// The least time of some attempts, in milliseconds.
double least_ms(const auto& work) {
  constexpr int kAttempts = 7;
  double least = 1e300;
  for (int i = 0; i < kAttempts; ++i) {
    const auto begin = Clock::now();
    work();
    least = std::min(least, ms_since(begin));
  }
  return least;
}

void print_verification(const std::string& path) {
  frazil::link_operators();
  std::shared_ptr<const frazil::Graph> graph;
  const double load_ms = least_ms([&] {
    auto read = frazil::import_onnx(path);
    if (!read) throw std::runtime_error(read.error().text());
    graph = std::make_shared<const frazil::Graph>(std::move(*read));
  });
  std::shared_ptr<frazil::exec::Executable> made;
  const double plan_ms = least_ms([&] {
    auto planned = frazil::exec::Executable::make(graph);
    if (!planned) throw std::runtime_error(planned.error().text());
    made = std::move(*planned);
  });
  const double verify_ms = least_ms([&] { (void)frazil::verify(made->plan()); });
  std::printf("%9.2f %9.2f %9.3f %7.2f %%  %s\n", load_ms, plan_ms, verify_ms, 100 * verify_ms / (load_ms + plan_ms),
              path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--row") == 0) {
    measure(std::stoul(argv[2]), std::stoi(argv[3]));
    return 0;
  }
  if (argc > 1) {
    std::printf("%9s %9s %9s %9s  %s\n", "load ms", "plan ms", "verify ms", "of both", "model");
    for (int i = 1; i < argc; ++i) print_verification(argv[i]);
    return 0;
  }
  std::printf("%-31s %7s %9s %9s %9s %8s  %s\n", "family", "n", "file kB", "load ms", "plan ms", "peak MB", "outcome");
  for (std::size_t family = 0; family < std::size(kFamilies); ++family) {
    const int large = kFamilies[family].large;
    for (const int n : {kFamilies[family].small, large / 4, large / 2, large}) {
      std::fputs(bench::output_of({bench::self_path(), "--row", std::to_string(family), std::to_string(n)}).c_str(),
                 stdout);
      std::fflush(stdout);
    }
  }
  return 0;
}
