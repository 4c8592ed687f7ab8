// The cost of sandboxes of steps in Python: the start of a process, and a call. Levels take turns, because the machine
// may be shared: sandbox_cost [INTERPRETER]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/host/python_process.h"
#include "server/host/sandbox.h"

namespace {

using namespace frazil::server;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kStarts = 21, kRounds = 20000;
constexpr std::array kLevels = {SandboxLevel::none, SandboxLevel::no_network, SandboxLevel::isolated};

/// A small step: it allocates, computes, and asks for the time.
constexpr const char* kStep = R"(
import time
import numpy as np
def step():
    x = np.ones((64, 64), np.float32)
    return np.float32((x @ x).sum() + 0 * time.time())
)";

PythonCommand command_at(SandboxLevel level, const std::string& interpreter, const std::string& file) {
  PythonCommand command{.interpreter = interpreter,
                        .file = file,
                        .function = "step",
                        .outputs = {"y=<f4"},
                        .environment = {"OPENBLAS_NUM_THREADS=1"},
                        .sandbox = {.least = level, .most = level}};
  command.level = require_reach(command.sandbox, sandbox_support()).level;
  command.sandbox.paths = python_paths(command);
  return command;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void call(PythonProcess& process) {
  const std::string none(sizeof(std::uint32_t), '\0');  // no arguments
  if (process.exchange(none, Clock::now() + std::chrono::seconds(10), [] {}).at(0) == 0) throw std::exception();
}

template <class Function>
double milliseconds_of(const Function& function) {
  const auto began = Clock::now();
  function();
  return Milliseconds(Clock::now() - began).count();
}

void measure(const std::string& interpreter, const std::string& file) {
  std::array<std::vector<double>, kLevels.size()> starts, calls;
  std::array<std::unique_ptr<PythonProcess>, kLevels.size()> processes;
  for (int i = 0; i < kStarts; ++i) {
    for (std::size_t at = 0; at < kLevels.size(); ++at) {
      const PythonCommand command = command_at(kLevels[at], interpreter, file);
      starts[at].push_back(milliseconds_of([&] { processes[at] = std::make_unique<PythonProcess>(command, [] {}); }));
    }
  }
  for (int i = 0; i < kRounds; ++i) {
    for (std::size_t at = 0; at < kLevels.size(); ++at) {
      calls[at].push_back(milliseconds_of([&] { call(*processes[at]); }));
    }
  }
  for (std::size_t at = 0; at < kLevels.size(); ++at) {
    std::printf("%-10s  start %6.1f ms  call %7.1f us (%+.1f %%)\n", std::string(name_of(kLevels[at])).c_str(),
                median(starts[at]), median(calls[at]) * 1000, (median(calls[at]) / median(calls[0]) - 1) * 100);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/step.py";
  std::ofstream(file) << kStep;
  measure(argc > 1 ? argv[1] : "python3", file);
} catch (const std::exception& error) {
  std::fprintf(stderr, "sandbox_cost: %s\n", error.what());
  return 1;
}
