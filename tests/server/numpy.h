#pragma once

#include <cstdlib>
#include <string>

// The Python of steps in tests.
namespace frazil::test {

/// One that has NumPy; empty: none.
inline const std::string& python() {
  static const std::string found = [] {
    for (const char* interpreter : {"python3", "/usr/bin/python3"}) {
      const std::string command = std::string(interpreter) + " -c 'import numpy' 2>/dev/null";
      if (std::system(command.c_str()) == 0) return std::string(interpreter);
    }
    return std::string();
  }();
  return found;
}

}  // namespace frazil::test
