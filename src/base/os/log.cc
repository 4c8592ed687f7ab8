#include "base/os/log.h"

#include <atomic>
#include <memory>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include "base/os/knobs.h"
#include "base/thread/mutex.h"

namespace frazil::logging {
namespace {

thread_local const SinkScope* innermost = nullptr;

std::atomic<int>& stderr_level() {
  static std::atomic<int> level = knobs() ? knobs()->debug : 0;
  return level;
}

/// The process's sink. It is never destroyed, because the compile thread logs until the process ends.
struct ProcessSink {
  static constexpr int kNone = -1;
  Mutex mutex;
  SinkPtr sink;
  std::atomic<int> level = kNone;  ///< level of `sink`; kNone without one

  static ProcessSink& instance() {
    static ProcessSink& sink = *new ProcessSink;
    return sink;
  }
  SinkPtr get() {
    if (level.load(std::memory_order_relaxed) == kNone) return nullptr;
    const std::scoped_lock lock(mutex);
    return sink;
  }
};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("frazil", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>());
    made->set_pattern("%T.%e frazil %^%l%$ %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

/// Writes one line at a time.
void write_to_stderr(const Message& message) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn};
  static Mutex mutex;
  const std::scoped_lock lock(mutex);
  logger().log(kLevels[static_cast<int>(message.severity)], "{}", message.text);
}

void put(Severity severity, std::string_view category, std::string_view text) noexcept try {
  const Message message{severity, category, text};
  SinkPtr sink = SinkScope::current();
  if (sink == nullptr) sink = ProcessSink::instance().get();
  if (sink == nullptr) return write_to_stderr(message);
  sink->function(message);
} catch (...) {  // a message that cannot be delivered must not end a run
  return;
}

}  // namespace

void set_sink(SinkPtr sink) {
  ProcessSink& process = ProcessSink::instance();
  const std::scoped_lock lock(process.mutex);
  process.level = sink == nullptr ? ProcessSink::kNone : sink->level;
  process.sink.swap(sink);
}

SinkScope::SinkScope(SinkPtr sink) noexcept : sink_(std::move(sink)), outer_(innermost) {
  if (sink_ != nullptr) innermost = this;
}

SinkScope::~SinkScope() { innermost = outer_; }

SinkPtr SinkScope::current() noexcept { return innermost == nullptr ? nullptr : innermost->sink_; }

void set_level(int level) { stderr_level().store(level, std::memory_order_relaxed); }

bool enabled(int level) {
  if (const SinkPtr sink = SinkScope::current()) return level <= sink->level;
  const int sink_level = ProcessSink::instance().level.load(std::memory_order_relaxed);
  return level <= (sink_level == ProcessSink::kNone ? stderr_level().load(std::memory_order_relaxed) : sink_level);
}

void write(int level, std::string_view category, std::string_view text) noexcept {
  put(level <= 1 ? Severity::info : Severity::debug, category, text);
}

void warn(std::string_view category, std::string_view text) noexcept { put(Severity::warning, category, text); }

}  // namespace frazil::logging
