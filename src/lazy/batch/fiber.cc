#include "lazy/batch/fiber.h"

#include <cstring>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cxxabi.h>

#include "base/os/sanitizers.h"

#if FRAZIL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if FRAZIL_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace frazil::lazy {
namespace {

namespace context = boost::context;

/// The exceptions that the code of a stack handles. libstdc++ stores them per thread.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;

  void swap() {
    Exceptions now;
    std::memcpy(static_cast<void*>(&now), static_cast<const void*>(abi::__cxa_get_globals()), sizeof now);
    std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), static_cast<const void*>(this), sizeof now);
    *this = now;
  }
};

/// The data that sanitizers keep for a stack.
struct Announced {
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* thread = nullptr;
};

void leave([[maybe_unused]] Announced& here, [[maybe_unused]] const Announced& there, [[maybe_unused]] bool for_good) {
#if FRAZIL_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &here.fake_stack, there.bottom, there.size);
#endif
#if FRAZIL_TSAN
  here.thread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(there.thread, 0);
#endif
}

/// Finishes a switch. Stores the bounds of the stack that it came from in `from`.
void arrive([[maybe_unused]] const Announced& here, [[maybe_unused]] Announced* from) {
#if FRAZIL_ASAN
  __sanitizer_finish_switch_fiber(here.fake_stack, from == nullptr ? nullptr : &from->bottom,
                                  from == nullptr ? nullptr : &from->size);
#endif
}

}  // namespace

struct Stacks::Impl {
  explicit Impl(std::size_t bytes) : allocator(bytes) {}
  ~Impl() {
    for (context::stack_context& stack : free) allocator.deallocate(stack);
  }
  context::stack_context take() {
    if (free.empty()) {
      free.reserve(++made);  // so that returning a stack does not allocate
      return allocator.allocate();
    }
    const context::stack_context stack = free.back();
    free.pop_back();
    return stack;
  }

  context::protected_fixedsize_stack allocator;
  std::vector<context::stack_context> free;
  std::size_t made = 0;
};

Stacks::Stacks(std::size_t bytes) : impl_(std::make_unique<Impl>(bytes)) {}
Stacks::~Stacks() = default;

namespace {

/// A stack allocator that returns stacks to their pool.
struct Pooled {
  std::vector<context::stack_context>* free;
  void deallocate(context::stack_context& stack) { free->push_back(stack); }
};

}  // namespace

struct Fiber::Impl {
  std::function<void()> body;
  context::fiber inside, outside;
  Announced here, resumer;
  Exceptions exceptions;
  Fiber* outer = nullptr;  // the fiber that resumed this one
  bool ended = false;
};

namespace {

thread_local Fiber* current_fiber = nullptr;

}  // namespace

Fiber::Fiber(Stacks& stacks, std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  Impl& self = *impl_;
  self.body = std::move(body);
  const context::stack_context stack = stacks.impl_->take();
  self.here.bottom = static_cast<const std::byte*>(stack.sp) - stack.size;
  self.here.size = stack.size;
#if FRAZIL_TSAN
  self.here.thread = __tsan_create_fiber(0);
#endif
  self.inside = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
                               Pooled{&stacks.impl_->free}, [&self](context::fiber&& resumer) {
                                 self.outside = std::move(resumer);
                                 arrive(self.here, &self.resumer);
                                 self.body();
                                 self.ended = true;
                                 leave(self.here, self.resumer, true);
                                 return std::move(self.outside);
                               });
}

Fiber::~Fiber() {
#if FRAZIL_TSAN
  if (impl_->here.thread != nullptr) __tsan_destroy_fiber(impl_->here.thread);
#endif
}

void Fiber::resume() {
  Impl& self = *impl_;
  self.outer = std::exchange(current_fiber, this);
  self.exceptions.swap();
  leave(self.resumer, self.here, false);
  self.inside = std::move(self.inside).resume();
  arrive(self.resumer, nullptr);
  self.exceptions.swap();
  current_fiber = self.outer;
}

bool Fiber::ended() const { return impl_->ended; }

Fiber* Fiber::current() { return current_fiber; }

void Fiber::suspend() {
  Impl& self = *current_fiber->impl_;
  leave(self.here, self.resumer, false);
  self.outside = std::move(self.outside).resume();
  arrive(self.here, &self.resumer);
}

}  // namespace frazil::lazy
