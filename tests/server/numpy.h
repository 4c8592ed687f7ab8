#pragma once

#include <cstdlib>
#include <string>

// The Python of steps in tests.
namespace frazil::test {

/// One that has NumPy; empty: none.
inline std::string python() {
  for (const char* interpreter : {"python3", "/usr/bin/python3"}) {
    const std::string command = std::string(interpreter) + " -c 'import numpy' 2>/dev/null";
    if (std::system(command.c_str()) == 0) return interpreter;
  }
  return "";
}

}  // namespace frazil::test
