#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace frazil {

template <class Signature>
class FunctionRef;

/// A non-owning reference to a function object: two pointers, no allocation. The object must outlive it: pass a
/// temporary as an argument, do not store the reference.
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && !std::is_function_v<std::remove_reference_t<F>> &&
             std::is_invocable_r_v<R, F&, A...>)
  FunctionRef(F&& function) noexcept  // NOLINT(bugprone-forwarding-reference-overload): constrained above
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, A... arguments) -> R {
          return std::invoke_r<R>(*static_cast<std::remove_reference_t<F>*>(object), std::forward<A>(arguments)...);
        }) {}

  R operator()(A... arguments) const { return call_(object_, std::forward<A>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace frazil
