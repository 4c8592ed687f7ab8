#pragma once

#include <string>
#include <vector>

/// Child processes, for measurements that need a fresh process: loading and peak memory.
namespace bench {

/// This program.
std::string self_path();

/// The folder of this program, to which generated models are written.
std::string scratch_dir();

/// Runs a command and returns what it prints. Throws std::runtime_error when it fails.
std::string output_of(std::vector<std::string> command);

/// A line of /proc/self/status, in bytes. getrusage is not suitable: its peak includes the parent's from before exec.
double status_bytes(const std::string& key);

}  // namespace bench
