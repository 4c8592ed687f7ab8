#include "server/host/python_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/core/embed.h"
#include "server/host/host_node.h"
#include "server/host/sandbox_filter.h"
#include "server/host/sandboxed_process.h"

// The program that runs a function. FRAZIL_HOST_FILES is defined by the build.
FRAZIL_EMBED(frazil_python_runner, FRAZIL_HOST_FILES "/python_runner.py");

namespace frazil::server {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Returns the runner's filter as hexadecimal digits; empty: none.
std::string hex_of_run_filter(SandboxLevel level) {
  if (level == SandboxLevel::none) return "";
  std::string hex;
  const SyscallFilter filter = run_filter();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(filter.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < filter.size() * sizeof(sock_filter); ++i) {
    hex += kDigits[bytes[i] >> 4U];
    hex += kDigits[bytes[i] & 15U];
  }
  return hex;
}

std::string interpreter_path(const std::string& interpreter) {
  const std::string path = program_on_path(interpreter);
  if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
    python_failed("'" + interpreter + "' cannot be started: " + text_of_errno(path.empty() ? ENOENT : errno));
  }
  std::array<char, 2> begin = {};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) == "#!") {
    python_failed("cannot be started: '" + path +
                  "' is a script that starts another program; give the path of Python " + "itself as 'interpreter'");
  }
  return fs::absolute(path);
}

/// Creates a connected pair of sockets. The first belongs to the server.
std::pair<FileDescriptor, FileDescriptor> new_link() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) python_failed(text_of_errno(errno));
  std::pair<FileDescriptor, FileDescriptor> link{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  const int on = 1;
  ::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  return link;
}

/// Creates a pipe. The first end is for reading and belongs to the server.
std::pair<FileDescriptor, FileDescriptor> new_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) python_failed(text_of_errno(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// Returns the process that sent a message, or 0.
pid_t sender_of(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(at), sizeof sender);
    return sender.pid;
  }
  return 0;
}

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void python_failed(const std::string& what) {
  throw ExternalFailure(Http::internal, kPythonFailed, "the Python process " + what);
}

TemporaryFolder::TemporaryFolder() : path_(fs::temp_directory_path() / "frazil-step-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("'" + path_ + "': " + text_of_errno(errno));
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code error;  // what cannot be removed stays
  fs::remove_all(path_, error);
}

PythonProcess::PythonProcess(const PythonCommand& command, const Tick& tick)
    : level_(command.level),
      memory_(command.sandbox.memory_bytes != 0 ? command.sandbox.memory_bytes : default_memory()),
      cpu_limit_(command.cpu_limit) {
  try {
    spawn(command);
    wait_for_start(tick);
  } catch (...) {
    end();
    throw;
  }
}

bool PythonProcess::ended() { return ended_ || reap(WNOHANG); }

void PythonProcess::spawn(const PythonCommand& command) {
  const std::string interpreter = interpreter_path(command.interpreter);
  auto [link, link_of_process] = new_link();
  auto [output, output_of_process] = new_pipe();
  const std::string rules = level_ == SandboxLevel::isolated ? std::to_string(kRulesOfProgram) : "";
  ProcessStart start{.arguments = {interpreter, "-u", "-c", frazil_python_runner, hex_of_run_filter(level_), rules,
                                   command.file, command.function},
                     .environment = command.environment,
                     .link = link_of_process.get(),
                     .output = command.silent ? -1 : output_of_process.get()};
  start.arguments.insert(start.arguments.end(), command.outputs.begin(), command.outputs.end());
  SandboxSpec sandbox = command.sandbox;
  if (sandbox.tmp) {
    tmp_.emplace();
    sandbox.paths.push_back({.path = tmp_->path(), .use = SandboxPath::Use::write, .required = true});
    start.environment.push_back("TMPDIR=" + tmp_->path());
  }
  try {
    process_ = start_sandboxed(std::move(start), sandbox, level_, sandbox_support().bubblewrap);
  } catch (const std::runtime_error& error) {
    python_failed(error.what());
  }
  ended_ = false;
  link_ = std::move(link);
  output_ = std::move(output);
}

void PythonProcess::wait_for_start(const Tick& tick) {
  constexpr std::chrono::seconds kToStart{60};
  const std::string answer = receive(Clock::now() + kToStart, tick);
  if (answer[0] == 0) throw ExternalFailure(Http::internal, kPythonFailed, answer.substr(1));
}

std::string PythonProcess::exchange(std::string_view message, Clock::time_point until, const Tick& tick) {
  if (cpu_limit_) cpu_before_ = cpu_time();
  std::uint64_t size = message.size();
  send({reinterpret_cast<const char*>(&size), sizeof size}, until, tick);
  send(message, until, tick);
  std::string answer = receive(until, tick);
  relay_output();
  return answer;
}

bool PythonProcess::reap(int how) {
  if (::waitpid(process_, &status_, how) == process_) ended_ = true;
  return ended_;
}

void PythonProcess::end() {
  link_.close();
  if (process_ < 0) return;
  ::kill(-process_, SIGKILL);  // including its child processes
  if (!ended_) reap(0);
  relay_output();
}

void PythonProcess::fail() {
  for (int i = 0; i < 100 && !ended(); ++i) std::this_thread::sleep_for(milliseconds(1));
  relay_output();
  std::string how = ended_ ? how_it_ended() : "has closed its connection";
  if (peer_ == 0 && !last_line_.empty()) how += ": " + last_line_;
  python_failed(how);
}

std::string PythonProcess::how_it_ended() const {
  constexpr int kSignalOfBubblewrap = 128;  // bubblewrap adds it to the number of a signal
  int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  const int status = WEXITSTATUS(status_);
  if (signal == 0 && level_ == SandboxLevel::isolated && status > kSignalOfBubblewrap) {
    signal = status - kSignalOfBubblewrap;
  }
  if (signal == 0) return "ended with status " + std::to_string(status);
  const std::string text = "was ended by signal " + std::to_string(signal);
  const bool out_of_memory = signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS;
  if (level_ == SandboxLevel::none || !out_of_memory) return text;
  return text + "; its memory is limited to " + std::to_string(memory_) + " bytes";
}

void PythonProcess::relay_output() {
  std::array<char, std::size_t{16} << 10U> part{};
  while (output_) {
    const ssize_t got = ::read(output_.get(), part.data(), part.size());
    if (got < 0) return;
    if (got == 0) return void(output_.close());
    const std::string_view text(part.data(), static_cast<std::size_t>(got));
    write_stderr(text);
    const std::string_view lines = text.substr(0, text.find_last_not_of('\n') + 1);
    last_line_ = lines.substr(lines.rfind('\n') + 1);
    if (text.size() < part.size()) return;
  }
}

Clock::duration PythonProcess::cpu_time() const {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(peer_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return cpu_before_;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void PythonProcess::check_cpu() const {
  if (!cpu_limit_ || peer_ == 0 || cpu_time() - cpu_before_ <= *cpu_limit_) return;
  throw Refusal(Http::timeout, "the Python function used more processor time than its limit of " +
                                   std::to_string(cpu_limit_->count()) + " ms; its process is started again");
}

void PythonProcess::wait(short events, Clock::time_point until, const Tick& tick) {
  for (;;) {
    pollfd both[] = {{.fd = link_.get(), .events = events, .revents = 0},
                     {.fd = output_.get(), .events = POLLIN, .revents = 0}};
    ::poll(both, std::size(both), 10);
    if (both[1].revents != 0) relay_output();
    if (both[0].revents != 0) return;
    tick();
    check_cpu();
    if (Clock::now() >= until) {
      throw Refusal(Http::timeout, "the Python function did not end in time; its process is started again");
    }
  }
}

void PythonProcess::send(std::string_view bytes, Clock::time_point until, const Tick& tick) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(link_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) fail();
    if (sent < 0) wait(POLLOUT, until, tick);
  }
}

/// As recv(). The first message tells the process that sent it.
ssize_t PythonProcess::take(char* to, std::size_t size) {
  if (peer_ != 0) return ::recv(link_.get(), to, size, 0);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  iovec part{.iov_base = to, .iov_len = size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(link_.get(), &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return got;
  peer_ = sender_of(message);
  const int off = 0;
  ::setsockopt(link_.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
  return got;
}

void PythonProcess::receive(char* to, std::size_t size, Clock::time_point until, const Tick& tick) {
  while (size > 0) {
    const ssize_t got = take(to, size);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) fail();
    if (got < 0) {
      wait(POLLIN, until, tick);
    } else {
      to += got;
      size -= static_cast<std::size_t>(got);
    }
  }
}

std::string PythonProcess::receive(Clock::time_point until, const Tick& tick) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 31U;
  std::uint64_t size = 0;
  receive(reinterpret_cast<char*>(&size), sizeof size, until, tick);
  if (size == 0 || size > kMax) python_failed("sent a malformed answer");
  std::string answer(size, '\0');
  receive(answer.data(), answer.size(), until, tick);
  return answer;
}

}  // namespace frazil::server
