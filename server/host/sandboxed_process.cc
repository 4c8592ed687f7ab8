#include "server/host/sandboxed_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/core/file_descriptor.h"
#include "server/host/sandbox_files.h"
#include "server/host/sandbox_filter.h"

// The child shares the memory of the server until it starts its program, and the server's other threads go on. It may
// only make system calls.
#define FRAZIL_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

namespace frazil::server {
namespace {

struct Limit {
  decltype(RLIMIT_AS) resource;
  rlim_t value;
};

/// Everything that the child needs, made before it exists.
struct ChildPlan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  pid_t parent = 0;
  int input = -1, output = -1, link = -1;  ///< descriptors from kFirstFree
  int filter_file = -1;                    ///< becomes descriptor kFilterOfBubblewrap; -1: none
  int rules = -1;                          ///< of Landlock, applied in the child; -1: none
  int rules_of_program = -1;               ///< becomes descriptor kRulesOfProgram; -1: none
  bool confined = false;                   ///< no new privileges, and `limits`
  bool keeps_capabilities = false;         ///< bubblewrap drops them
  std::vector<Limit> limits;
  SyscallFilter filter;  ///< empty: none
  const char* failed = nullptr;
  int error = 0;
};

constexpr int kLink = 3, kFilterOfBubblewrap = 4, kFirstFree = 10, kExitOfChild = 127;
static_assert(kRulesOfProgram == kFilterOfBubblewrap + 1);
constexpr rlim_t kOpenFiles = 256, kTasksOfUser = 4096;

FRAZIL_IN_CHILD bool place_descriptors(const ChildPlan& plan) noexcept {
  if (::dup2(plan.input, STDIN_FILENO) < 0 || ::dup2(plan.output, STDOUT_FILENO) < 0) return false;
  if (::dup2(plan.output, STDERR_FILENO) < 0) return false;
  if (plan.link < 0) ::close(kLink);
  if (plan.link >= 0 && ::dup2(plan.link, kLink) < 0) return false;
  unsigned first = kLink + 1;
  if (plan.filter_file >= 0) {
    if (::dup2(plan.filter_file, kFilterOfBubblewrap) < 0 || ::dup2(plan.rules_of_program, kRulesOfProgram) < 0) {
      return false;
    }
    first = kRulesOfProgram + 1;
  }
  return ::syscall(SYS_close_range, first, ~0U, 0U) == 0;
}

FRAZIL_IN_CHILD void reset_signals() noexcept {
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);
}

FRAZIL_IN_CHILD bool drop_privileges(bool keep_capabilities) noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (keep_capabilities) return true;
  if (::syscall(SYS_capget, &header, now) != 0) return false;
  const bool has_none = (now[0].permitted | now[1].permitted | now[0].inheritable | now[1].inheritable) == 0;
  return has_none || ::syscall(SYS_capset, &header, none) == 0;  // services may not make this call
}

FRAZIL_IN_CHILD bool limit_resources(const ChildPlan& plan) noexcept {
  const Limit* const limits = plan.limits.data();
  for (std::size_t i = 0; i < plan.limits.size(); ++i) {
    struct rlimit now = {};
    if (::getrlimit(limits[i].resource, &now) != 0) return false;
    const rlim_t value = limits[i].value < now.rlim_max ? limits[i].value : now.rlim_max;
    const struct rlimit next = {.rlim_cur = value, .rlim_max = value};
    if (::setrlimit(limits[i].resource, &next) != 0) return false;
  }
  return true;
}

FRAZIL_IN_CHILD bool load_filter(ChildPlan& plan) noexcept {
  if (plan.filter.empty()) return true;
  set_own_process(plan.filter, ::getpid());
  const sock_fprog program = {.len = static_cast<unsigned short>(plan.filter.size()), .filter = plan.filter.data()};
  // Otherwise kernels before 5.16 slow down the process: it guards no secret of its own.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

/// Returns the failed part, or null.
FRAZIL_IN_CHILD const char* set_up(ChildPlan& plan) noexcept {
  if (::setsid() < 0) return "its session";
  reset_signals();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != plan.parent) return "its end with the server";
  if (plan.confined && !drop_privileges(plan.keeps_capabilities)) return "its privileges";
  if (plan.confined && !limit_resources(plan)) return "its limits";
  if (plan.rules >= 0 && !apply_file_rules(plan.rules)) return "its rules for files";
  if (!place_descriptors(plan)) return "its descriptors";
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  return load_filter(plan) ? nullptr : "its filter of system calls";
}

FRAZIL_IN_CHILD int run_child(void* of_parent) noexcept {
  ChildPlan& plan = *static_cast<ChildPlan*>(of_parent);
  plan.failed = set_up(plan);
  if (plan.failed == nullptr) {
    ::execve(plan.program, plan.arguments, plan.environment);
    plan.failed = plan.program;
  }
  plan.error = errno;
  ::_exit(kExitOfChild);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Returns a copy with a number from kFirstFree, so that placing one descriptor does not replace another.
FileDescriptor placeable(int descriptor) {
  FileDescriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstFree));
  if (!copy) throw std::runtime_error("descriptor " + std::to_string(descriptor) + ": " + text_of_errno(errno));
  return copy;
}

/// Runs the child until it has started its program.
pid_t start_child(ChildPlan& plan) {
  constexpr std::size_t kStack = 256U << 10U;
  void* const stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) throw std::runtime_error("a stack for the process: " + text_of_errno(errno));
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler of the server must not run in the child
  const pid_t child = ::clone(run_child, static_cast<char*>(stack) + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::munmap(stack, kStack);
  if (child < 0) throw std::runtime_error("a process cannot be made: " + text_of_errno(error));
  if (plan.failed == nullptr) return child;
  ::waitpid(child, nullptr, 0);
  const bool starts = plan.failed == plan.program;
  throw std::runtime_error((starts ? "'" + std::string(plan.failed) + "' cannot be started"
                                   : "the sandbox cannot set up " + std::string(plan.failed)) +
                           ": " + text_of_errno(plan.error));
}

std::vector<Limit> limits_of(const SandboxSpec& spec) {
  return {{RLIMIT_AS, spec.memory_bytes != 0 ? spec.memory_bytes : default_memory()},
          {RLIMIT_FSIZE, spec.file_bytes},
          {RLIMIT_NOFILE, kOpenFiles},
          {RLIMIT_NPROC, kTasksOfUser},
          {RLIMIT_MSGQUEUE, 0},
          {RLIMIT_CORE, 0}};
}

FileDescriptor file_with(const SyscallFilter& filter) {
  const std::size_t size = filter.size() * sizeof(sock_filter);
  FileDescriptor file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file || ::pwrite(file.get(), filter.data(), size, 0) != static_cast<ssize_t>(size)) {
    throw std::runtime_error("the filter of system calls for bubblewrap: " + text_of_errno(errno));
  }
  return file;
}

bool made_by_bubblewrap(const SandboxPath& path) {
  return !path.required && (path.path.starts_with("/dev/") || path.path.starts_with("/proc/"));
}

void add_mount(std::vector<std::string>& to, const SandboxPath& path) {
  if (made_by_bubblewrap(path)) return;
  std::string how = path.use == SandboxPath::Use::write ? "--dev-bind" : "--ro-bind";
  if (path.use == SandboxPath::Use::list) return void(to.insert(to.end(), {"--dir", path.path}));
  if (!path.required) how += "-try";
  to.insert(to.end(), {how, path.path, path.path});
}

/// Returns the command of bubblewrap that runs a program in namespaces of its own. File systems in memory are closed
/// for writing, because no limit applies to them.
std::vector<std::string> in_namespaces(std::vector<std::string> program, std::span<const SandboxPath> paths,
                                       const std::string& bubblewrap) {
  std::vector<std::string> command = {bubblewrap};
  for (const char* space : {"user", "pid", "net", "ipc", "uts"}) command.push_back(std::string("--unshare-") + space);
  command.insert(command.end(), {"--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"});
  command.insert(command.end(), {"--proc", "/proc", "--dev", "/dev"});
  for (const SandboxPath& path : paths) add_mount(command, path);
  const std::string filter = std::to_string(kFilterOfBubblewrap);
  command.insert(command.end(),
                 {"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--seccomp", filter, "--"});
  command.insert(command.end(), std::make_move_iterator(program.begin()), std::make_move_iterator(program.end()));
  return command;
}

struct SandboxParts {
  std::optional<FileDescriptor> rules, filter_file;
};

/// Fills in what the level needs.
SandboxParts confine(ChildPlan& plan, ProcessStart& start, const SandboxSpec& spec, SandboxLevel level,
                     const std::string& bubblewrap) {
  SandboxParts parts;
  if (level == SandboxLevel::none) return parts;
  plan.confined = true;
  plan.limits = limits_of(spec);
  std::vector<SandboxPath> paths = system_paths(spec.network);
  paths.insert(paths.end(), spec.paths.begin(), spec.paths.end());
  if (level == SandboxLevel::isolated) {
    parts.filter_file.emplace(placeable(file_with(start_filter({.network = spec.network, .isolated = true})).get()));
    plan.filter_file = parts.filter_file->get();
    parts.rules.emplace(placeable(file_rules(paths, {.network = spec.network, .only_writes = true}).get()));
    plan.rules_of_program = parts.rules->get();
    plan.keeps_capabilities = ::geteuid() == 0;  // the kernel requires them to map the user 0
    start.arguments = in_namespaces(std::move(start.arguments), paths, bubblewrap);
    return parts;
  }
  plan.filter = start_filter({.network = spec.network});
  if (landlock_version() == 0) return parts;
  parts.rules.emplace(placeable(file_rules(paths, {.network = spec.network}).get()));
  plan.rules = parts.rules->get();
  return parts;
}

std::string read_to_end(int pipe) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(pipe, part.data(), part.size())) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

pid_t start_sandboxed(ProcessStart start, const SandboxSpec& spec, SandboxLevel level, const std::string& bubblewrap) {
  ChildPlan plan{.parent = ::getpid()};
  const SandboxParts parts = confine(plan, start, spec, level, bubblewrap);
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const FileDescriptor input = placeable(nothing.get());
  const FileDescriptor output = placeable(start.output >= 0 ? start.output : nothing.get());
  std::optional<FileDescriptor> link;
  if (start.link >= 0) link.emplace(placeable(start.link));
  plan.input = input.get();
  plan.output = output.get();
  plan.link = link ? link->get() : -1;
  const std::vector<char*> arguments = pointers_to(start.arguments), environment = pointers_to(start.environment);
  plan.program = arguments[0];
  plan.arguments = arguments.data();
  plan.environment = environment.data();
  return start_child(plan);
}

std::string program_on_path(std::string_view name) {
  if (name.contains('/')) return std::string(name);
  const char* const folders = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing here changes it
  std::string_view left = folders == nullptr ? "/usr/bin:/bin" : folders;
  while (!left.empty()) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    const auto path = std::filesystem::absolute(std::filesystem::path(folder) / name);
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string error_of_namespaces(const std::string& bubblewrap) try {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "a pipe: " + text_of_errno(errno);
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  const SandboxSpec spec{.paths = {{.path = bubblewrap, .use = SandboxPath::Use::run}}};
  const pid_t process = start_sandboxed({.arguments = {bubblewrap, "--version"}, .output = to.get()}, spec,
                                        SandboxLevel::isolated, bubblewrap);
  to.close();
  const std::string output = read_to_end(from.get());
  int status = 0;
  ::waitpid(process, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return "bubblewrap cannot make namespaces: " + (output.empty() ? "it ended without a message" : output);
} catch (const std::runtime_error& error) {
  return std::string("bubblewrap cannot make namespaces: ") + error.what();
}

}  // namespace frazil::server
