#include "exec/code_maker.h"

#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "base/knobs.h"
#include "exec/backend.h"
#include "exec/code_cache.h"

namespace frazil::exec {
namespace {

std::mutex events_mutex;
std::deque<CodeEvent>& events() {
  static std::deque<CodeEvent> all;
  return all;
}

void note(CodeEvent event) {
  const std::scoped_lock lock(events_mutex);
  if (events().size() == kMostEvents) events().pop_front();
  events().push_back(std::move(event));
}

Result<std::shared_ptr<const NativeCode>> loaded(const std::string& object, std::string_view name) {
  return NativeCode::load(std::as_bytes(std::span(object)), name);
}

bool forbidden() { return knobs() && !knobs()->jit; }

}  // namespace

std::vector<CodeEvent> code_events() {
  const std::scoped_lock lock(events_mutex);
  return {events().begin(), events().end()};
}

std::shared_ptr<const NativeCode> cached_code(const std::string& key, std::string_view name) {
  if (forbidden()) return nullptr;
  const auto object = CodeCache::instance().load(key);
  if (!object) return nullptr;
  auto code = loaded(*object, name);
  return code ? *std::move(code) : nullptr;
}

Result<MadeCode> make_code(const std::string& key, std::string_view name,
                           const std::function<Result<std::string>(const NativeModule&)>& generate) {
  if (forbidden()) return fail(Code::unsupported, "FRAZIL_JIT is off, so that no code may be generated");
  constexpr std::size_t kShown = 80;
  CodeEvent event{
      .what = key.substr(0, kShown), .begin = std::chrono::steady_clock::now(), .thread = std::this_thread::get_id()};
  MadeCode made{.code = cached_code(key, name)};
  made.cached = event.cached = made.code != nullptr;
  if (!made.cached) {
    FRAZIL_TRY(const NativeModule* const module, native_module());
    FRAZIL_TRY(const std::string object, generate(*module));
    FRAZIL_TRY(made.code, loaded(object, name));
    CodeCache::instance().store(key, object);
  }
  event.end = std::chrono::steady_clock::now();
  event.bytes = made.code->bytes();
  made.milliseconds = std::chrono::duration<double, std::milli>(event.end - event.begin).count();
  note(std::move(event));
  return made;
}

}  // namespace frazil::exec
