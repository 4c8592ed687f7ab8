#include "exec/native_compiler.h"

#include <chrono>
#include <span>
#include <utility>

#include "base/execution_limits.h"
#include "base/log.h"
#include "exec/backend.h"
#include "kernel/isa.h"

namespace frazil::exec {
namespace {

constexpr const char* kName = "frazil_loop";

/// What is compiled in this process.
class Shared {
 public:
  std::shared_ptr<const NativeCompiler::Made> find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto at = made_.find(key);
    return at == made_.end() ? nullptr : at->second.lock();
  }
  void keep(const std::string& key, const std::shared_ptr<const NativeCompiler::Made>& made) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    made_[key] = made;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const NativeCompiler::Made>> made_;
};

Shared& shared() {
  static Shared all;
  return all;
}

Result<std::shared_ptr<const NativeCode>> compile(const NativeModule& module, const NativeRequest& request) {
  FRAZIL_TRY(const std::string object, module.compile(request));
  return NativeCode::load(std::as_bytes(std::span(object)), request.name);
}

NativeCompiler::Made make(const NativeModule& module, const TileCode& code, const LoopForm& form, std::string isa) {
  NativeCompiler::Made made{.why_not = why_not_native(code, form)};
  if (!made.why_not.empty()) return made;
  const auto begin = std::chrono::steady_clock::now();
  auto compiled = compile(module, {.isa = std::move(isa), .name = kName, .loop = &code, .form = form});
  made.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (compiled) {
    made.code = *std::move(compiled);
  } else {
    made.why_not = std::move(compiled).error().message;
  }
  return made;
}

}  // namespace

Result<std::shared_ptr<NativeCompiler>> NativeCompiler::make() {
  FRAZIL_TRY(const NativeModule* const module, native_module());
  return std::shared_ptr<NativeCompiler>(new NativeCompiler(*module));
}

NativeLoop NativeCompiler::find(const TileCode& code, const LoopForm& form) {
  const LimitsScope nobody(nullptr);
  std::string isa(kernel::name_of(kernel::current_isa()));
  const std::string key = fmt::format("{} {} {}", isa, form.str(), key_of(code));
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Made>& made = made_[key];
  if (made == nullptr) made = shared().find(key);
  if (made == nullptr) {
    made = std::make_shared<const Made>(exec::make(module_, code, form, std::move(isa)));
    logging::debug(4, "tier 1: {} instructions in {:.1f} ms{}", code.body.size(), made->milliseconds,
                   made->why_not.empty() ? "" : ": none, as " + made->why_not);
    shared().keep(key, made);
  }
  return made->code == nullptr ? nullptr : made->code->entry<NativeLoop>();
}

std::string NativeCompiler::explain() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& [key, made] : made_) {
    text += made->code != nullptr
                ? fmt::format("tier 1: {} bytes in {:.1f} ms: {}\n", made->code->bytes(), made->milliseconds, key)
                : fmt::format("tier 0: {}: {}\n", made->why_not, key);
  }
  return text;
}

}  // namespace frazil::exec
