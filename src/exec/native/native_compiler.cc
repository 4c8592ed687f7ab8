#include "exec/native/native_compiler.h"

#include <utility>

#include "base/limits/execution_limits.h"
#include "base/os/log.h"
#include "base/thread/mutex.h"
#include "exec/native/code_maker.h"
#include "exec/native/compile_thread.h"
#include "kernel/simd/isa.h"

namespace frazil::exec {
namespace {

constexpr const char* kLoopName = "frazil_loop";

/// The code compiled in this process.
class Shared {
 public:
  std::shared_ptr<const NativeCompiler::Made> find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto at = made_.find(key);
    return at == made_.end() ? nullptr : at->second.lock();
  }
  void insert(const std::string& key, const std::shared_ptr<const NativeCompiler::Made>& made) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    made_[key] = made;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<const NativeCompiler::Made>> made_;
};

Shared& shared() {
  static Shared& all = *new Shared;
  return all;
}

std::string key_for(const code::TileCode& code, const code::LoopForm& form) {
  return fmt::format("body for {}: {}: {}", name_of(kernel::features().isa), form.str(), code::key_of(code));
}

NativeCompiler::Made compile(const code::TileCode& code, const code::LoopForm& form, const std::string& key) {
  NativeCompiler::Made made{.why_not = code::why_not_native(code, form)};
  if (!made.why_not.empty()) return made;
  auto compiled = make_code(key, kLoopName, [&](const code::NativeModule& module) {
    return module.compile(
        {.isa = std::string(name_of(kernel::features().isa)), .name = kLoopName, .loop = &code, .form = form});
  });
  if (!compiled) {
    made.why_not = std::move(compiled).error().text();
    return made;
  }
  made.code = std::move(compiled->code);
  made.milliseconds = compiled->milliseconds;
  return made;
}

}  // namespace

std::shared_ptr<const NativeCompiler::Made> NativeCompiler::make(const code::TileCode& code,
                                                                 const code::LoopForm& form) const {
  const LimitsScope nobody(nullptr);
  const std::string key = key_for(code, form);
  if (auto known = shared().find(key)) return known;
  auto made = std::make_shared<const Made>(compile(code, form, key));
  logging::debug(2, "code", "tier 1: {} instructions in {:.1f} ms{}", code.body.size(), made->milliseconds,
                 made->why_not.empty() ? "" : ": none, as " + made->why_not);
  shared().insert(key, made);
  return made;
}

/// Returns code that needs no code generator: from another executable or the cache on disk. Null if there is none.
std::shared_ptr<const NativeCompiler::Made> NativeCompiler::known(const code::TileCode& code,
                                                                  const code::LoopForm& form) const {
  const LimitsScope nobody(nullptr);
  const std::string key = key_for(code, form);
  if (auto known = shared().find(key)) return known;
  auto cached = cached_code(key, kLoopName);
  if (cached == nullptr) return nullptr;
  auto made = std::make_shared<const Made>(std::move(cached));
  shared().insert(key, made);
  return made;
}

code::NativeLoop NativeCompiler::find(const code::TileCode& code, const code::LoopForm& form) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Made>& made = made_[{&code, form}];
  if (made == nullptr && when_ == Compiling::later) {
    missing_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  if (made == nullptr) made = make(code, form);
  return made->code == nullptr ? nullptr : made->code->entry<code::NativeLoop>();
}

std::vector<NativeCompiler::Place> NativeCompiler::missing() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Place> places;
  for (const auto& [place, made] : made_) {
    if (made == nullptr) places.push_back(place);
  }
  return places;
}

void NativeCompiler::fill(const Place& place, std::shared_ptr<const Made> made) {
  const std::scoped_lock lock(mutex_);
  made_[place] = std::move(made);
}

void NativeCompiler::find_missing() {
  bool any = false;
  for (const Place& place : missing()) {
    if (CompileThread::instance().stopping()) return;
    auto made = known(*place.first, place.second);
    if (made == nullptr) continue;
    fill(place, std::move(made));
    any = true;
  }
  if (any) generation_.fetch_add(1, std::memory_order_release);
}

void NativeCompiler::compile_missing(const std::function<bool(const code::TileCode&)>& needless) {
  missing_.store(false, std::memory_order_relaxed);
  const std::vector<Place> places = missing();
  for (const Place& place : places) {
    if (CompileThread::instance().stopping()) return;
    if (needless(*place.first) && left_out_.insert(place).second) continue;
    fill(place, make(*place.first, place.second));
  }
  if (!places.empty()) generation_.fetch_add(1, std::memory_order_release);
}

std::string NativeCompiler::why_not(const code::TileCode& code) const {
  const std::scoped_lock lock(mutex_);
  std::string why = "it has not run";
  for (const auto& [place, made] : made_) {
    if (place.first != &code) continue;
    if (made != nullptr && made->code != nullptr) return {};
    why = made == nullptr ? "it has not taken enough time" : made->why_not;
  }
  return why;
}

std::string NativeCompiler::explain() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& [place, made] : made_) {
    const std::string what = fmt::format("{}: {}", place.second.str(), code::key_of(*place.first));
    if (made == nullptr) {
      text += fmt::format("tier 0: not compiled yet: {}\n", what);
    } else if (made->code != nullptr) {
      text += fmt::format("tier 1: {} bytes in {:.1f} ms: {}\n", made->code->bytes(), made->milliseconds, what);
    } else {
      text += fmt::format("tier 0: {}: {}\n", made->why_not, what);
    }
  }
  return text;
}

}  // namespace frazil::exec
