#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "bench/child.h"
#include "bench/models.h"
#include "bench/overhead_sections.h"

namespace bench {
namespace {

constexpr int kLayers = 100, kWidth = 1024, kLoads = 7;
constexpr double kBoundMs = 100, kBoundMemory = 1.15;

nlohmann::json load_in_child(const std::string& path, int rows) {
  return nlohmann::json::parse(output_of({self_path(), "--load-child", path, std::to_string(rows)}));
}

/// Writes back the file's pages and drops them from the page cache, so that the next reader reads the disk.
void evict(const std::string& path) {
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error(path + ": cannot be opened");
  fsync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

void print_memory(const nlohmann::json& child) {
  constexpr double kMiB = 1 << 20;
  auto mib = [&](const char* key) { return child[key].get<double>() / kMiB; };
  std::printf(
      "memory   %d rows: peak %.1f MiB of %.1f MiB touched (weights %.1f): %.3fx (bound %.2fx); before the load %.1f, "
      "after it %.1f; at the end files %.1f, own %.1f MiB; first run %.1f ms\n",
      child["rows"].get<int>(), mib("peak_bytes"), mib("touched_bytes"), mib("weight_bytes"),
      child["peak_over_touched"].get<double>(), kBoundMemory, mib("start_bytes"), mib("loaded_bytes"),
      mib("file_bytes"), mib("own_bytes"), child["run_ms"].get<double>());
}

}  // namespace

void load_child(const std::string& path, std::int64_t rows) {
  double start_bytes = status_bytes("VmHWM");
  auto start = detail::Clock::now();
  std::shared_ptr<frazil::exec::Executable> executable = load_frazil(path);
  double load_ms = detail::since_ms(start), loaded_bytes = status_bytes("VmHWM");

  HostTensor x(Elem::f32, {rows, kWidth});
  for (std::size_t i = 0; i < x.size(); ++i) x.as<float>()[i] = static_cast<float>(i % 7) - 3;
  FrazilRunner runner(executable, {{"x", x}});
  start = detail::Clock::now();
  runner.run();
  double run_ms = detail::since_ms(start), weights = weight_bytes(executable->plan());
  double touched = weights + static_cast<double>(2 * x.data.size() + runner.session().held_bytes());
  double peak = status_bytes("VmHWM");
  nlohmann::json json = {{"rows", rows},
                         {"load_ms", load_ms},
                         {"run_ms", run_ms},
                         {"start_bytes", start_bytes},
                         {"loaded_bytes", loaded_bytes},
                         {"peak_bytes", peak},
                         {"file_bytes", status_bytes("RssFile")},
                         {"own_bytes", status_bytes("RssAnon")},
                         {"weight_bytes", weights},
                         {"touched_bytes", touched},
                         {"peak_over_touched", peak / touched}};
  std::printf("%s\n", json.dump().c_str());
}

nlohmann::json large_load(const std::string& scratch_dir) {
  std::string path = scratch_dir + "/large.onnx";
  write_products(path, kLayers, kWidth);
  evict(path);
  double cold = load_in_child(path, 1)["load_ms"];
  std::vector<double> loads;
  nlohmann::json memory = nlohmann::json::array();
  for (int i = 0; i < kLoads; ++i) {
    nlohmann::json child = load_in_child(path, 1);
    loads.push_back(child["load_ms"]);
    if (i == 0) memory.push_back(child);
  }
  memory.push_back(load_in_child(path, 8));
  double bytes = static_cast<double>(std::filesystem::file_size(path));
  std::filesystem::remove(path);

  double median = detail::quantile(loads, 0.5), low = detail::quantile(loads, 0), high = detail::quantile(loads, 1);
  std::printf("load     %.0f MB: %.1f ms (%.1f..%.1f), from the disk %.1f ms (bound %.0f)\n", bytes * 1e-6, median, low,
              high, cold, kBoundMs);
  for (const nlohmann::json& child : memory) print_memory(child);
  std::fflush(stdout);
  return {{"bytes", bytes},       {"load_ms", median},    {"load_low_ms", low}, {"load_high_ms", high},
          {"cold_load_ms", cold}, {"bound_ms", kBoundMs}, {"memory", memory},   {"bound_memory", kBoundMemory}};
}

}  // namespace bench
