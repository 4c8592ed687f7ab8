#pragma once

#include <pty.h>

#include "error/tool.h"

namespace frazil::test {

/// Runs the command with stdin, stdout and stderr on a terminal of `columns` columns. `out` has all that it wrote, with
/// line breaks as "\n".
inline Ended run_tool_on_terminal(const std::vector<std::string>& arguments, unsigned short columns,
                                  const std::vector<std::string>& environment = {}) {
  const std::string tool = tool_path();
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    std::vector<char*> argv{const_cast<char*>(tool.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    for (const std::string& e : environment) putenv(const_cast<char*>(e.c_str()));
    execv(tool.c_str(), argv.data());
    _exit(98);
  }
  Ended ended;
  char part[4096];
  for (ssize_t n = 0; (n = read(terminal, part, sizeof part)) > 0;) ended.out.append(part, static_cast<std::size_t>(n));
  std::erase(ended.out, '\r');
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace frazil::test
