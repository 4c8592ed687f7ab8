#pragma once

#include <string>

#include <nlohmann/json.hpp>

/// Load time, first inference and peak memory, measured in child processes that alternate between the sides.
namespace bench {

/// Measurements of one process.
struct Start {
  double ms = 0;     ///< load and first inference
  double bytes = 0;  ///< total peak memory
  /// The measured parts of Frazil: packed weights and resident pages of the file; plan memory, inputs and results;
  /// program, libraries, graph and plan. Their sum should be `bytes`.
  double weights = 0, values = 0, process = 0;
  double planned() const { return weights + values + process; }
};
struct Starts {
  Start ours, peer;                      ///< medians
  double ms_ratio = 0, bytes_ratio = 0;  ///< ours / peer, medians of the pairs
  double ms_low = 0, ms_high = 0;        ///< quartiles of the pairs
  double bytes_low = 0, bytes_high = 0;
};

/// `library` is the peer's. The model's pages are cached before the first pair.
Starts time_starts(const std::string& path, const std::string& specs, const std::string& library, int pairs);

/// Runs as the child process and prints a Start as JSON. An empty `library` selects Frazil.
void start_child(const std::string& path, const std::string& specs, const std::string& library);

/// Returns true for the arguments of start_child: "--start" PATH SPECS LIBRARY.
bool is_start_child(int argc, char** argv);

}  // namespace bench
