#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

/// Calls `serve` on `threads` threads while `edits` runs; `serve` ends when `done` is set.
inline void beside(int threads, const std::function<void(const std::atomic<bool>& done)>& serve,
                   const std::function<void()>& edits) {
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back([&] { serve(done); });
  edits();
  done = true;
  for (std::thread& worker : workers) worker.join();
}
