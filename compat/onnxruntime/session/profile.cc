#include "compat/onnxruntime/session/profile.h"

#include <chrono>
#include <ctime>
#include <fstream>

#include "compat/onnxruntime/status.h"

namespace frazil::ort {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::string write_trace(const api::Profiler& profiler, const std::string& prefix, const std::string& title) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d_%H-%M-%S", &parts);
  const std::string file = prefix + "_" + time + ".json";
  std::ofstream out(file);
  profiler.write_trace(out, title);
  out.close();
  if (!out) fail(ORT_FAIL, "the profile cannot be written to '{}'", file);
  return file;
}

}  // namespace frazil::ort
