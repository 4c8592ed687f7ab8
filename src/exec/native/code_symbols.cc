#include "exec/native/code_symbols.h"

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "base/os/knobs.h"
#include "base/thread/mutex.h"

// Names and layout follow "JIT Compilation Interface" in GDB's manual.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): gdb looks for these
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version, action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
[[gnu::noinline, gnu::used, gnu::visibility("default")]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
[[gnu::used, gnu::visibility("default")]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
// NOLINTEND(bugprone-reserved-identifier)
}

namespace frazil::exec {
namespace {

enum Action : std::uint32_t { kNothing, kRegister, kUnregister };

Mutex gdb_mutex;

void tell_gdb(Action action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = kNothing;
}

/// An object registered with gdb.
class Registration {
 public:
  explicit Registration(std::span<const std::byte> object) : object_(object.begin(), object.end()) {
    const std::scoped_lock lock(gdb_mutex);
    entry_ = {__jit_debug_descriptor.first_entry, nullptr, reinterpret_cast<const char*>(object_.data()),
              object_.size()};
    if (entry_.next_entry != nullptr) entry_.next_entry->prev_entry = &entry_;
    __jit_debug_descriptor.first_entry = &entry_;
    tell_gdb(kRegister, &entry_);
  }
  ~Registration() {
    const std::scoped_lock lock(gdb_mutex);
    if (entry_.next_entry != nullptr) entry_.next_entry->prev_entry = entry_.prev_entry;
    jit_code_entry*& before =
        entry_.prev_entry != nullptr ? entry_.prev_entry->next_entry : __jit_debug_descriptor.first_entry;
    before = entry_.next_entry;
    tell_gdb(kUnregister, &entry_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  std::vector<std::byte> object_;
  jit_code_entry entry_{};
};

std::string_view wanted() { return knobs() ? std::string_view(knobs()->code_symbols) : "off"; }

void tell_perf(std::string_view name, const void* begin, std::size_t bytes) {
  static Mutex mutex;
  const std::scoped_lock lock(mutex);
  const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
  if (std::FILE* const file = std::fopen(path.c_str(), "ae")) {
    fmt::print(file, "{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(begin), bytes, name);
    (void)std::fclose(file);
  }
}

}  // namespace

bool symbols_are_enabled() { return wanted() != "off"; }

std::shared_ptr<void> register_symbols(std::string_view name, const void* begin, std::size_t bytes,
                                       std::span<const std::byte> object) {
  if (wanted().find("perf") != std::string_view::npos) tell_perf(name, begin, bytes);
  if (wanted().find("gdb") == std::string_view::npos) return nullptr;
  return std::make_shared<Registration>(object);
}

}  // namespace frazil::exec
