#include "python/src/interrupt.h"

#include <chrono>

namespace frazil::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSurelyUnchanged = std::chrono::microseconds(20);

unsigned long main_thread = 0;
std::atomic<bool> interrupted{false};
struct sigaction pythons = {};
Clock::time_point last_end;

}  // namespace

std::atomic<const Interruptible*> Interruptible::active{nullptr};

void Interruptible::on_signal(int number, siginfo_t* info, void* context) {
  if (const Interruptible* running = active.load()) {
    interrupted = true;
    running->cancel_(running->session_);
  }
  if ((pythons.sa_flags & SA_SIGINFO) != 0) {
    pythons.sa_sigaction(number, info, context);
  } else {
    pythons.sa_handler(number);
  }
}

void Interruptible::install() {
  struct sigaction now = {};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
  const bool plain = (now.sa_flags & SA_SIGINFO) == 0;
  if (ours || (plain && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))) return;
  pythons = now;
  now.sa_flags |= SA_SIGINFO;
  now.sa_sigaction = on_signal;
  sigaction(SIGINT, &now, nullptr);
}

void remember_main_thread() {
  main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
}

Interruptible::Interruptible(Session& session)
    : Interruptible(&session, [](void* of) { static_cast<Session*>(of)->cancel(); }) {}
Interruptible::Interruptible(LiveSession& session)
    : Interruptible(&session, [](void* of) { static_cast<LiveSession*>(of)->cancel(); }) {}
Interruptible::Interruptible(Debugger& debugger)
    : Interruptible(&debugger, [](void* of) { static_cast<Debugger*>(of)->cancel(); }) {}
Interruptible::Interruptible(const std::function<void()>& cancel)
    : Interruptible(const_cast<std::function<void()>*>(&cancel),
                    [](void* of) { (*static_cast<std::function<void()>*>(of))(); }) {}

Interruptible::Interruptible(void* session, Cancel cancel)
    : session_(session), cancel_(cancel), main_(PyThread_get_thread_ident() == main_thread) {
  if (!main_) return;
  if (Clock::now() - last_end > kSurelyUnchanged) install();
  before_ = active.load();
  if (before_ == nullptr) interrupted = false;
  active = this;
}

Interruptible::~Interruptible() {
  if (!main_) return;
  active = before_;
  last_end = Clock::now();
}

void Interruptible::raise_pending() const {
  if (main_ && interrupted.load() && PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace frazil::python
