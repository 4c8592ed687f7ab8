#include "server/host/sandbox_filter.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/core/file_descriptor.h"

namespace frazil::server {
namespace {

constexpr std::uint32_t kAllBits = 0xffff'ffff, kRefuse = SCMP_ACT_ERRNO(EPERM), kUnknown = SCMP_ACT_ERRNO(ENOSYS);
/// Stands for the id of the process in a filter; no process has it.
constexpr std::uint32_t kOwnProcess = 0x7eed'5a9dU;

/// Calls that are refused with any arguments.
constexpr const char* kRefused[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "ioprio_set", "migrate_pages",
    "move_pages", "fork", "vfork",
    // namespaces and file systems
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "open_by_handle_at",
    "name_to_handle_at", "fanotify_init", "fanotify_mark", "acct",
    // parts of the kernel that few programs need
    "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key", "request_key", "bpf", "userfaultfd",
    "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog", "iopl", "ioperm", "modify_ldt", "vhangup",
    "sethostname", "setdomainname", "lookup_dcookie", "nfsservctl", "vmsplice",
    // memory outside of the limit, and objects that other processes of the user can reach
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd", "msgrcv", "msgctl",
    "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify",
    "mq_getsetattr", "listen",
    // files that Landlock does not cover
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr",
    "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes", "futimesat", "utimensat", "truncate"};
/// Calls that are newer than the library: fchmodat2, setxattrat, removexattrat, file_setattr, open_tree_attr. All
/// architectures have the same numbers.
constexpr int kRefusedNumbers[] = {452, 463, 466, 467, 469};
/// Programs fall back to older calls, which have rules.
constexpr const char* kNotThere[] = {"clone3", "openat2"};

scmp_arg_cmp condition(unsigned argument, scmp_compare how, std::uint64_t value, std::uint64_t masked = 0) {
  return {.arg = argument, .op = how, .datum_a = value, .datum_b = masked};
}

struct FilterDeleter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

/// Collects rules. All calls without a rule are allowed.
class FilterMaker {
 public:
  FilterMaker() : filter_(::seccomp_init(SCMP_ACT_ALLOW)) {
    if (filter_ == nullptr) throw std::runtime_error("a filter of system calls cannot be made");
    check("its options", ::seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  }

  template <class... Conditions>
  void refuse(const char* call, Conditions... conditions) {
    add(kRefuse, call, conditions...);
  }
  void unknown(const char* call) { add(kUnknown, call); }
  void refuse_number(int call) {
    const int error = ::seccomp_rule_add_array(filter_.get(), kRefuse, call, 0, nullptr);
    check(std::to_string(call), error);
  }
  /// Refuses values of an argument of type int, of which the kernel ignores the upper half.
  void refuse_values(const char* call, unsigned argument, std::initializer_list<std::uint32_t> values) {
    for (const std::uint32_t value : values) refuse(call, condition(argument, SCMP_CMP_MASKED_EQ, kAllBits, value));
  }
  /// Refuses values of an argument of which one bit at least is set.
  void refuse_bits(const char* call, unsigned argument, std::initializer_list<std::uint64_t> bits) {
    for (const std::uint64_t bit : bits) refuse(call, condition(argument, SCMP_CMP_MASKED_EQ, bit, bit));
  }

  SyscallFilter finish() const {
    const FileDescriptor file(::memfd_create("filter", MFD_CLOEXEC));
    if (!file) throw std::runtime_error("a filter of system calls: " + text_of_errno(errno));
    check("its program", ::seccomp_export_bpf(filter_.get(), file.get()));
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    SyscallFilter program(static_cast<std::size_t>(size) / sizeof(sock_filter));
    if (::pread(file.get(), program.data(), static_cast<std::size_t>(size), 0) != size) {
      throw std::runtime_error("a filter of system calls cannot be read");
    }
    return program;
  }

 private:
  template <class... Conditions>
  void add(std::uint32_t action, const char* call, Conditions... conditions) {
    const std::array<scmp_arg_cmp, sizeof...(Conditions)> list{conditions...};
    const int number = ::seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR) throw std::runtime_error(std::string("libseccomp lacks the system call ") + call);
    check(call, ::seccomp_rule_add_array(filter_.get(), action, number, list.size(), list.data()));
  }
  static void check(const std::string& what, int error) {
    if (error == 0) return;
    throw std::runtime_error("a filter of system calls cannot be made, " + what + ": " + text_of_errno(-error));
  }

  std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, FilterDeleter> filter_;
};

void add_socket_rules(FilterMaker& maker, bool network) {
  if (!network) maker.refuse("socket");
  constexpr std::uint32_t kFamilies = 64;  // more than the kernel has
  for (std::uint32_t family = 0; family < kFamilies; ++family) {
    if (network && family != AF_INET && family != AF_INET6) maker.refuse_values("socket", 0, {family});
    if (family != AF_UNIX) maker.refuse_values("socketpair", 0, {family});
  }
}

/// Threads are allowed, processes and namespaces are not.
void add_clone_rules(FilterMaker& maker) {
  maker.refuse("clone", condition(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  maker.refuse_bits(
      "clone", 0,
      {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET});
}

/// Refuses signals to other processes, also those that the kernel sends for input of a descriptor.
void add_signal_rules(FilterMaker& maker) {
  for (const char* call : {"kill", "tgkill"}) maker.refuse(call, condition(0, SCMP_CMP_NE, kOwnProcess));
  maker.refuse_values("fcntl", 1, {F_SETOWN, F_SETOWN_EX, F_SETSIG});
  maker.refuse_values("ioctl", 1, {FIOSETOWN, SIOCSPGRP});
}

/// Refuses settings of other processes.
void add_setting_rules(FilterMaker& maker) {
  for (const char* call : {"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"}) {
    maker.refuse(call, condition(0, SCMP_CMP_NE, 0));
  }
  maker.refuse("setpriority", condition(1, SCMP_CMP_NE, 0));
  maker.refuse_values("setpriority", 0, {PRIO_PGRP, PRIO_USER});
  maker.refuse("personality", condition(0, SCMP_CMP_NE, kAllBits));
}

/// Refuses input for terminals, and to empty a file that may only be read.
void add_file_rules(FilterMaker& maker) {
  constexpr std::uint32_t kTioclinux = 0x541c, kOpenMode = O_TRUNC | O_ACCMODE;
  maker.refuse_values("ioctl", 1, {TIOCSTI, kTioclinux});
  maker.refuse("open", condition(1, SCMP_CMP_MASKED_EQ, kOpenMode, O_TRUNC | O_RDONLY));
  maker.refuse("openat", condition(2, SCMP_CMP_MASKED_EQ, kOpenMode, O_TRUNC | O_RDONLY));
}

}  // namespace

SyscallFilter start_filter(const SyscallRules& rules) {
  FilterMaker maker;
  for (const char* call : kRefused) maker.refuse(call);
  for (const int call : kRefusedNumbers) maker.refuse_number(call);
  for (const char* call : kNotThere) maker.unknown(call);
  add_socket_rules(maker, rules.network);
  add_clone_rules(maker);
  if (!rules.isolated) add_signal_rules(maker);
  add_setting_rules(maker);
  add_file_rules(maker);
  return maker.finish();
}

void set_own_process(SyscallFilter& filter, pid_t process) noexcept {
  for (sock_filter& step : filter) {
    if (step.k == kOwnProcess) step.k = static_cast<std::uint32_t>(process);
  }
}

SyscallFilter run_filter() {
  FilterMaker maker;
  for (const char* call : {"execve", "execveat"}) maker.refuse(call);
  maker.refuse_values("prctl", 0, {PR_SET_PDEATHSIG, PR_SET_DUMPABLE});
  return maker.finish();
}

}  // namespace frazil::server
