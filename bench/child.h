#pragma once

#include <string>
#include <vector>

/// Child processes, for measurements that need a fresh process: loading and peak memory.
namespace bench {

/// Returns the path of this program.
std::string self_path();

/// Returns the folder of this program, to which generated models are written.
std::string scratch_dir();

/// Runs a command and returns its output. Throws std::runtime_error if it fails.
std::string output_of(std::vector<std::string> command);

/// Returns a line of /proc/self/status, in bytes. getrusage is unsuitable: its peak includes the parent's before exec.
double status_bytes(const std::string& key);

}  // namespace bench
