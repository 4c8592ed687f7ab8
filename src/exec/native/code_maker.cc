#include "exec/native/code_maker.h"

#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "base/os/knobs.h"
#include "base/thread/mutex.h"
#include "base/value/sha256.h"
#include "exec/native/backend.h"
#include "exec/native/code_cache.h"

namespace frazil::exec {
namespace {

Mutex events_mutex;
std::deque<CodeEvent>& events() {
  static auto& all = *new std::deque<CodeEvent>;
  return all;
}

void note(CodeEvent event) {
  const std::scoped_lock lock(events_mutex);
  if (events().size() == kMaxEvents) events().pop_front();
  events().push_back(std::move(event));
}

Result<std::shared_ptr<const NativeCode>> loaded(const std::string& object, std::string_view name) {
  return NativeCode::load(std::as_bytes(std::span(object)), name);
}

struct Known {
  Mutex mutex;
  bool keeps = false;
  RegisteredCode code;

  static Known& all() {
    static Known& known = *new Known;
    return known;
  }
  void insert(const std::string& key, const std::string& object) {
    const std::scoped_lock lock(mutex);
    if (keeps) code[digest_of(key)] = std::make_shared<const std::string>(object);
  }
  std::shared_ptr<const std::string> find(const std::string& key) {
    const std::scoped_lock lock(mutex);
    if (code.empty()) return nullptr;
    const auto at = code.find(digest_of(key));
    return at == code.end() ? nullptr : at->second;
  }
  static std::string digest_of(const std::string& key) { return sha256(std::as_bytes(std::span(key))); }
};

bool forbidden() { return knobs() && !knobs()->jit; }

}  // namespace

RegisteredCode registered_code() {
  const std::scoped_lock lock(Known::all().mutex);
  return Known::all().code;
}

void register_code(const std::string& key_digest, std::string object) {
  const std::scoped_lock lock(Known::all().mutex);
  Known::all().code[key_digest] = std::make_shared<const std::string>(std::move(object));
}

void keep_registered_code() {
  const std::scoped_lock lock(Known::all().mutex);
  Known::all().keeps = true;
}

std::vector<CodeEvent> code_events() {
  const std::scoped_lock lock(events_mutex);
  return {events().begin(), events().end()};
}

std::shared_ptr<const NativeCode> cached_code(const std::string& key, std::string_view name) {
  if (forbidden()) return nullptr;
  auto object = Known::all().find(key);
  if (object == nullptr) {
    auto stored = CodeCache::instance().load(key);
    if (!stored) return nullptr;
    Known::all().insert(key, *stored);
    object = std::make_shared<const std::string>(*std::move(stored));
  }
  auto code = loaded(*object, name);
  return code ? *std::move(code) : nullptr;
}

Result<MadeCode> make_code(const std::string& key, std::string_view name,
                           const std::function<Result<std::string>(const code::NativeModule&)>& generate) {
  if (forbidden()) return fail(Code::unsupported, "FRAZIL_JIT is off, so that no code may be generated");
  const NoFork whole;  // the code generator has its own locks
  constexpr std::size_t kShown = 80;
  CodeEvent event{
      .what = key.substr(0, kShown), .begin = std::chrono::steady_clock::now(), .thread = std::this_thread::get_id()};
  MadeCode made{.code = cached_code(key, name)};
  made.cached = event.cached = made.code != nullptr;
  if (!made.cached) {
    const auto module = native_module();
    if (!module) {
      warn_of_missing_module(module.error());
      return std::unexpected(module.error());
    }
    FRAZIL_TRY(const std::string object, generate(**module));
    FRAZIL_TRY(made.code, loaded(object, name));
    CodeCache::instance().store(key, object);
    Known::all().insert(key, object);
  }
  event.end = std::chrono::steady_clock::now();
  event.bytes = made.code->bytes();
  made.milliseconds = std::chrono::duration<double, std::milli>(event.end - event.begin).count();
  note(std::move(event));
  return made;
}

}  // namespace frazil::exec
