#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "server/core/clock.h"
#include "server/core/file_descriptor.h"
#include "server/host/sandbox.h"

// Processes that run a Python function of the user.
namespace frazil::server {

inline constexpr const char* kPythonFailed = "the Python function failed; the server's log has the reason";

/// Throws ExternalFailure: "the Python process WHAT" in the log, kPythonFailed for callers.
[[noreturn]] void python_failed(const std::string& what);

struct PythonCommand {
  std::string interpreter = "python3";  ///< a path, or a name in the server's PATH
  std::string file, function;
  std::vector<std::string> outputs;      ///< NAME=TYPE, as NumPy writes the type
  std::vector<std::string> environment;  ///< NAME=VALUE, the complete environment
  SandboxSpec sandbox;
  bool silent = false;                                 ///< what it prints is discarded
  SandboxLevel level = SandboxLevel::none;             ///< a level that the system reaches
  std::optional<std::chrono::milliseconds> cpu_limit;  ///< processor time of one call, of all threads
};

/// Returns the paths that a command uses: those of the interpreter and its packages, the Python files and packages in
/// the folder of its file, and the folders in its PYTHONPATH and LD_LIBRARY_PATH.
std::vector<SandboxPath> python_paths(const PythonCommand& command);

/// A folder for temporary files, which the destructor removes with its content.
class TemporaryFolder {
 public:
  /// Throws std::runtime_error if it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One process. It belongs to the thread that started it and ends with that thread. What it prints is written to the
/// server's stderr while a call runs.
class PythonProcess {
 public:
  /// Called every 10 ms while waiting; may throw.
  using Tick = std::function<void()>;

  /// Throws Refusal or ExternalFailure if the process cannot be started or cannot load the function.
  PythonProcess(const PythonCommand& command, const Tick& tick);
  ~PythonProcess() { end(); }
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  bool ended();

  /// Sends a message and returns the answer. Throws Refusal after `until`, or after the limit of processor time, and
  /// ExternalFailure. After an exception the process is unusable.
  std::string exchange(std::string_view message, Clock::time_point until, const Tick& tick);

 private:
  void spawn(const PythonCommand& command);
  void wait_for_start(const Tick& tick);
  bool reap(int how);
  void end();
  [[noreturn]] void fail();
  std::string how_it_ended() const;
  void relay_output();
  void check_cpu() const;
  Clock::duration cpu_time() const;
  void wait(short events, Clock::time_point until, const Tick& tick);
  void send(std::string_view bytes, Clock::time_point until, const Tick& tick);
  ssize_t take(char* to, std::size_t size);
  void receive(char* to, std::size_t size, Clock::time_point until, const Tick& tick);
  std::string receive(Clock::time_point until, const Tick& tick);

  const SandboxLevel level_;
  const std::uint64_t memory_;
  const std::optional<std::chrono::milliseconds> cpu_limit_;
  std::optional<TemporaryFolder> tmp_;
  FileDescriptor link_, output_;
  pid_t process_ = -1;  ///< the started one; of bubblewrap, if it runs the interpreter
  pid_t peer_ = 0;      ///< the interpreter; 0: not yet known
  int status_ = 0;
  bool ended_ = true;
  Clock::duration cpu_before_{};  ///< of the running call
  std::string last_line_;         ///< of the output
};

}  // namespace frazil::server
