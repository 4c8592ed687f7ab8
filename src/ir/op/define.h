#pragma once

#include <array>
#include <utility>

#include "ir/edit/builder.h"
#include "ir/op/op.h"
#include "ir/op/opaque.h"

// Operator definitions. Each is one FRAZIL_OP line:
//   FRAZIL_OP(Add, elementwise<2>({"Add", 14, "A + B with broadcasting."}, binary<elems::kNumeric>,
//                                 [](Sx a, Sx b) { return a + b; }));
namespace frazil {

struct OpInfo {
  std::string_view name;
  OpsetRange since = 1;
  std::string_view doc = {};
  std::string_view domain = {};
  bool stateful = false;
};
constexpr OpInfo stateful(OpInfo info) {  // sets OpDef::stateful
  info.stateful = true;
  return info;
}

struct Ports {
  std::span<const Port> in, out;
};

/// An operator object: its definition, callable on Exprs.
template <class A>
struct Op : OpDef {
  /// Calls with one output: Add(x, y), Softmax({x}, {.axis = 1}).
  template <class... E>
    requires(sizeof...(E) > 0 && (std::same_as<E, Expr> && ...))
  Expr operator()(E... e) const {
    const std::array<Expr, sizeof...(E)> in{e...};
    return call(in, A{}, 1)[0];
  }
  Expr operator()(std::initializer_list<Expr> in, A with = {}) const {
    return call(std::span(in.begin(), in.size()), std::move(with), 1)[0];
  }
  Expr operator()(std::span<const Expr> in, A with = {}) const { return call(in, std::move(with), 1)[0]; }
  /// Calls with `count` results.
  std::vector<Expr> call(std::span<const Expr> in, A with, std::size_t count) const {
    return in[0].builder->add(*this, in, shared_attrs(std::move(with)), count);
  }
  std::vector<Expr> call(std::initializer_list<Expr> in, A with, std::size_t count) const {
    return call(std::span(in.begin(), in.size()), std::move(with), count);
  }
};

namespace detail {

/// Calls a body lambda with N scalars, and with the attributes if it takes them.
template <class F, class A, std::size_t N>
Sx call_body(std::span<const Sx> x, const void* attrs) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (std::is_invocable_v<F, decltype((void)I, x[I])..., const A&>) {
      return F{}(x[I]..., *static_cast<const A*>(attrs));
    } else {
      return F{}(x[I]...);
    }
  }(std::make_index_sequence<N>{});
}

}  // namespace detail

template <std::size_t N, class A = NoAttrs, class F>
constexpr Op<A> elementwise(OpInfo info, Ports ports, F, Elem (*result)(const void*, std::span<const Elem>) = nullptr,
                            Status (*check)(const void*) = nullptr, PlainBody plain = nullptr) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out,
           Elementwise{&detail::call_body<F, A, N>, result, check, plain}}};
}
/// Makes an elementwise operator with string operands or results.
template <class A = NoAttrs>
constexpr Op<A> plain_elementwise(OpInfo info, Ports ports, PlainBody plain) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out,
           Elementwise{nullptr, nullptr, nullptr, plain}}};
}
template <std::size_t N, class A = NoAttrs, class F>
constexpr Op<A> contraction(OpInfo info, Ports ports, Status (*space)(InferCx&, Space&), F,
                            Elem (*result)(const void*, std::span<const Elem>) = nullptr) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out,
           Contraction{space, &detail::call_body<F, A, N>, result}}};
}
template <class A = NoAttrs>
constexpr Op<A> view(OpInfo info, Ports ports, Status (*maps)(InferCx&, std::vector<ViewMap>&)) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out, View{maps}}};
}
template <class A = NoAttrs>
constexpr Op<A> composite(OpInfo info, Ports ports, void (*body)(CompositeCx&),
                          Elem (*result)(const void*, std::span<const Elem>) = nullptr) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out, Composite{body, result},
           info.stateful}};
}
template <class A = NoAttrs>
constexpr Op<A> opaque(OpInfo info, Ports ports, Status (*types)(InferCx&), Status (*run)(OpaqueCall&),
                       std::string_view reason, Opaque::Work work = Opaque::Work::linear) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out,
           Opaque{types, run, reason, false, work}, info.stateful}};
}
template <class A = NoAttrs>
constexpr Op<A> region(OpInfo info, Ports ports, Region form) {
  return {{info.name, info.domain, info.since, info.doc, attr_table<A>(), ports.in, ports.out, form}};
}

// ---- frequent port lists ----
template <ElemSet S>
inline constexpr std::array<Port, 1> kPortX{{{"X", "T", S}}};
template <ElemSet S>
inline constexpr std::array<Port, 1> kPortY{{{"Y", "T", S}}};
template <ElemSet S>
inline constexpr std::array<Port, 2> kPortAB{{{"A", "T", S}, {"B", "T", S}}};
inline constexpr std::array<Port, 1> kPortBool{{{"C", "", elems::kBool}}};

template <ElemSet S>
inline constexpr Ports unary{kPortX<S>, kPortY<S>};
template <ElemSet S>
inline constexpr Ports binary{kPortAB<S>, kPortY<S>};
template <ElemSet S>
inline constexpr Ports compare{kPortAB<S>, kPortBool};

}  // namespace frazil

/// Registers an operator. Hundreds of library sources include the headers of operators, so in the library only
/// ops/core/registry.cc registers them.
#ifdef FRAZIL_LIBRARY
#define FRAZIL_REGISTER_OP(NAME) static_assert(true)
#else
#define FRAZIL_REGISTER_OP(NAME) \
  inline const OpRegistration NAME##_registration { NAME }
#endif

#define FRAZIL_OP(NAME, ...)                \
  inline constexpr auto NAME = __VA_ARGS__; \
  FRAZIL_REGISTER_OP(NAME)
