// The files that a step in Python may use.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "server/host/python_process.h"
#include "server/host/sandboxed_process.h"

namespace frazil::server {
namespace {

namespace fs = std::filesystem;
using PathUse = SandboxPath::Use;

void add_path(std::vector<SandboxPath>& to, const fs::path& path, PathUse use) {
  to.push_back({.path = path.lexically_normal(), .use = use});
}

/// Returns the entries of a folder; none if it cannot be read.
std::vector<fs::path> entries_in(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  std::ranges::sort(entries);
  return entries;
}

bool has_python(const fs::path& prefix) {
  return std::ranges::any_of(entries_in(prefix / "lib"),
                             [](const fs::path& path) { return path.filename().string().starts_with("python3"); });
}

/// Adds the installation of a folder of programs PREFIX/bin, if it is one of Python.
void add_installation(std::vector<SandboxPath>& to, const fs::path& programs) {
  const fs::path prefix = programs.parent_path();
  if (programs.filename() != "bin" || prefix == prefix.root_path()) return;
  std::ifstream environment(prefix / "pyvenv.cfg");
  if (environment || has_python(prefix)) add_path(to, prefix, PathUse::run);
  for (std::string line; std::getline(environment, line);) {
    if (!line.starts_with("home")) continue;
    const fs::path home = line.substr(std::min(line.find_first_not_of(" =", 4), line.size()));
    if (home.parent_path() != prefix && has_python(home.parent_path())) add_installation(to, home);
  }
}

void add_interpreter(std::vector<SandboxPath>& to, const std::string& interpreter) {
  std::error_code error;  // a missing interpreter is reported when it is started
  const fs::path path = fs::absolute(program_on_path(interpreter), error), real = fs::canonical(path, error);
  for (const fs::path& one : {path, real}) {
    if (one.empty()) continue;
    add_path(to, one, PathUse::run);
    add_installation(to, one.parent_path());
  }
}

/// Adds the Python files and packages of a folder.
void add_modules(std::vector<SandboxPath>& to, const fs::path& folder) {
  add_path(to, folder, PathUse::list);
  for (const fs::path& entry : entries_in(folder)) {
    std::error_code error;
    const bool package = fs::exists(entry / "__init__.py", error) || entry.filename() == "__pycache__";
    if (entry.extension() == ".py" || package) add_path(to, entry, PathUse::read);
  }
}

/// Adds the folders in a variable NAME=FOLDER:FOLDER.
void add_folders_of(std::vector<SandboxPath>& to, std::string_view variable) {
  variable.remove_prefix(variable.find('=') + 1);
  while (!variable.empty()) {
    const std::string_view folder = variable.substr(0, variable.find(':'));
    if (folder.starts_with('/')) add_path(to, folder, PathUse::run);
    variable.remove_prefix(std::min(variable.size(), folder.size() + 1));
  }
}

}  // namespace

std::vector<SandboxPath> python_paths(const PythonCommand& command) {
  std::vector<SandboxPath> paths;
  add_interpreter(paths, command.interpreter);
  add_modules(paths, fs::path(command.file).parent_path());
  add_path(paths, command.file, PathUse::read);
  for (const std::string& variable : command.environment) {
    if (variable.starts_with("PYTHONPATH=") || variable.starts_with("LD_LIBRARY_PATH=")) {
      add_folders_of(paths, variable);
    }
  }
  return paths;
}

}  // namespace frazil::server
