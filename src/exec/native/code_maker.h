#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "code/native/native.h"
#include "exec/native/native_code.h"

namespace frazil::exec {

/// Machine code and its origin.
struct MadeCode {
  std::shared_ptr<const NativeCode> code;
  double milliseconds = 0;
  bool cached = false;  ///< read from the cache on disk
};

/// Returns the code for `key`, which describes everything that the code depends on. Takes it from memory or from the
/// cache on disk; on a miss calls `generate` and stores the result there. `name` is the code's function. Thread-safe.
/// Returns Code::unsupported if FRAZIL_JIT forbids generated code or there is no code generator.
Result<MadeCode> make_code(const std::string& key, std::string_view name,
                           const std::function<Result<std::string>(const code::NativeModule&)>& generate);
/// Same as make_code(), but without generating code. Returns null on a miss.
std::shared_ptr<const NativeCode> cached_code(const std::string& key, std::string_view name);

/// Objects that this process keeps in memory, by the digest of their key: those passed to register_code() and, after
/// keep_registered_code(), all that are made or read from the cache. Thread-safe.
using RegisteredCode = std::map<std::string, std::shared_ptr<const std::string>>;
RegisteredCode registered_code();
void register_code(const std::string& key_digest, std::string object);
void keep_registered_code();

/// A record of one make_code() call, for traces.
struct CodeEvent {
  std::string what;  ///< the first characters of the key
  std::chrono::steady_clock::time_point begin, end;
  std::size_t bytes = 0;
  bool cached = false;
  std::thread::id thread;
};
/// Returns the last kMaxEvents events of this process. Thread-safe.
std::vector<CodeEvent> code_events();
inline constexpr std::size_t kMaxEvents = 4096;

}  // namespace frazil::exec
