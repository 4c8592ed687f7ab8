#pragma once

#include <string>
#include <vector>

/// Fresh processes, for what a process can be asked only once: loading, and the most memory it ever held.
namespace bench {

/// This program.
std::string self_path();

/// Runs a command and returns what it prints. Throws std::runtime_error when it fails.
std::string output_of(std::vector<std::string> command);

/// A line of /proc/self/status, in bytes. getrusage would not do: its peak includes the parent's, from before exec.
double status_bytes(const std::string& key);

}  // namespace bench
