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

/// Machine code and where it came from.
struct MadeCode {
  std::shared_ptr<const NativeCode> code;
  double milliseconds = 0;
  bool cached = false;  ///< read from the cache on disk
};

/// The code for `key`, which tells all that it depends on: from the cache on disk, else from the code generator, and
/// then kept in the cache. `name` is its function's. Thread-safe. Code::unsupported where FRAZIL_JIT forbids generated
/// code, and where there is no code generator.
Result<MadeCode> make_code(const std::string& key, std::string_view name,
                           const std::function<Result<std::string>(const code::NativeModule&)>& generate);
/// The same from the cache alone; null where it is not there.
std::shared_ptr<const NativeCode> cached_code(const std::string& key, std::string_view name);

/// Objects that this process knows, by the digest of their key, besides those on disk: what know_code() was told and,
/// after keep_known_code(), all that is made or read from the cache. Thread-safe.
using KnownCode = std::map<std::string, std::shared_ptr<const std::string>>;
KnownCode known_code();
void know_code(const std::string& key_digest, std::string object);
void keep_known_code();

/// What make_code() did, for traces.
struct CodeEvent {
  std::string what;  ///< the beginning of the key
  std::chrono::steady_clock::time_point begin, end;
  std::size_t bytes = 0;
  bool cached = false;
  std::thread::id thread;
};
/// The last kMostEvents of this process. Thread-safe.
std::vector<CodeEvent> code_events();
inline constexpr std::size_t kMostEvents = 4096;

}  // namespace frazil::exec
