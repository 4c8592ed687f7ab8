#include "python/src/log.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "python/src/python.h"

namespace frazil::python {
namespace {

constexpr std::size_t kMostWaiting = 10'000;
constexpr int kPythonDebug = 10;

struct Line {
  Severity severity;
  std::string category, text;
};

/// Messages on their way to Python's loggers. The library may hold locks when it logs, so its threads must not wait for
/// the interpreter's lock: a thread of this class does.
class Delivery {
 public:
  void put(const LogMessage& message) {
    const std::scoped_lock lock(mutex_);
    if (ending_ || lines_.size() >= kMostWaiting) {
      ++dropped_;
      return;
    }
    lines_.push_back({message.severity, std::string(message.category), std::string(message.text)});
    if (!thread_.joinable()) thread_ = std::thread(&Delivery::run, this);
    changed_.notify_all();
  }

  /// Precondition: this thread does not have the interpreter's lock.
  void wait_until_empty(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (thread_.get_id() == std::this_thread::get_id()) return;
    changed_.wait_for(lock, time, [&] { return lines_.empty() && !busy_; });
  }
  bool empty() {
    const std::scoped_lock lock(mutex_);
    return lines_.empty() && !busy_;
  }

  /// Delivers the waiting messages and ends the thread. Same precondition.
  void end() {
    std::thread thread;
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      thread.swap(thread_);
    }
    changed_.notify_all();
    if (thread.joinable()) thread.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !lines_.empty(); });
      if (lines_.empty()) return;
      const Line line = std::move(lines_.front());
      lines_.pop_front();
      const std::size_t dropped = std::exchange(dropped_, 0);
      busy_ = true;
      lock.unlock();
      deliver(line, dropped);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  static void deliver(const Line& line, std::size_t dropped) try {
    const Locked locked;
    try {
      const py::object get = py::module_::import("logging").attr("getLogger");
      const auto log = [&](int level, const std::string& category, const std::string& text) {
        get("frazil." + category).attr("log")(level, "%s", py::bytes(text).attr("decode")("utf-8", "replace"));
      };
      log(kPythonDebug * (static_cast<int>(line.severity) + 1), line.category, line.text);
      if (dropped > 0) log(kPythonDebug * 3, "log", std::to_string(dropped) + " messages were dropped");
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("frazil's log");
    }
  } catch (const Error&) {  // the interpreter ends
    return;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;
  std::size_t dropped_ = 0;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

/// Never destroyed, because threads of the library log until the process ends. A child of fork() has another one: the
/// thread is its parent's.
std::atomic<Delivery*> delivery = nullptr;
bool to_stderr = false;  ///< FRAZIL_DEBUG selects messages for stderr
Severity least = Severity::warning;

void install(Severity wanted) {
  least = wanted;
  set_log({.function = [](const LogMessage& message) { delivery.load()->put(message); }, .least = wanted});
}

}  // namespace

void flush_log() {
  if (to_stderr || delivery.load()->empty()) return;
  unlocked([] { delivery.load()->wait_until_empty(std::chrono::seconds(1)); });
}

void refresh_log() {
  if (to_stderr) return;
  static PyObject* const logger = py::module_::import("logging").attr("getLogger")("frazil").release().ptr();
  const bool debug = py::handle(logger).attr("isEnabledFor")(kPythonDebug).cast<bool>();
  const Severity wanted = debug ? Severity::debug : Severity::info;
  if (wanted != least) install(wanted);
}

void bind_log(py::module_& m) {
  delivery = new Delivery;
  const char* const debug = std::getenv("FRAZIL_DEBUG");
  to_stderr = debug != nullptr && std::atoi(debug) > 0;
  refresh_log();
  m.def("flush_log", &flush_log);
  if (to_stderr) return;
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    unlocked([] { delivery.load()->end(); });
    set_log({});
  }));
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function([] { delivery = new Delivery; }));
}

}  // namespace frazil::python
