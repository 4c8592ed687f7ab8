// What it takes to load and plan small files that stand for much work: hostile_loads prints a row per family and size.
#include <cstdio>
#include <cstring>

#include "base/load_scope.h"
#include "bench/child.h"
#include "exec/executable.h"
#include "ir/source_bytes.h"
#include "onnx/hostile_models.h"
#include "onnx/import.h"
#include "ops/registry.h"

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
  std::string outcome = graph ? "planned" : graph.error().message;
  double plan_ms = 0;
  if (graph) {
    const auto shared = std::make_shared<const frazil::Graph>(std::move(*graph));
    const auto planning = Clock::now();
    const frazil::LoadScope scope(bounds, "planning the model", frazil::source_bytes(*shared));
    const auto made = frazil::exec::Executable::make(shared);
    plan_ms = ms_since(planning);
    if (!made) outcome = made.error().message;
  }
  std::printf("%-31s %7d %9.1f %9.1f %9.1f %8.1f  %.90s\n", kFamilies[family].name, n,
              static_cast<double>(bytes.size()) / 1e3, load_ms, plan_ms, (bench::status_bytes("VmHWM") - before) / 1e6,
              outcome.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--row") == 0) {
    measure(std::stoul(argv[2]), std::stoi(argv[3]));
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
