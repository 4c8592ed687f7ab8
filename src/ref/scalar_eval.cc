#include "ref/scalar_eval.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/limits/execution_limits.h"
#include "base/value/float.h"

namespace frazil::ref {
namespace {

template <class T>
inline constexpr bool is_text = std::is_same_v<T, Text>;
template <class T>
inline constexpr bool is_truth = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !is_truth<T>;
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_complex_value = !std::is_arithmetic_v<T> && !is_text<T>;

template <class T>
const T* in(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
T* out(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// ---- integers wrap: computed on 64-bit unsigned integers ----

using U64 = std::uint64_t;

template <class T>
T int_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<U64>(a));
  }
  return static_cast<T>(a / b);
}

template <class T>
T int_fmod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <class T>
T int_mod(T a, T b) {
  const T r = int_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

template <class T>
T int_pow(T base, T power) {
  if (power < 0) {
    if (base == static_cast<T>(-1)) return (power & 1) != 0 ? base : T{1};
    return base == 1 ? T{1} : T{0};
  }
  U64 result = 1, square = static_cast<U64>(base);
  for (auto left = static_cast<U64>(power); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
bool shift_fits(T count) {
  return count >= 0 && static_cast<U64>(count) < 8 * sizeof(T);
}

template <class T>
T shift_left(T a, T count) {
  return shift_fits(count) ? static_cast<T>(static_cast<U64>(a) << count) : T{0};
}

template <class T>
T shift_right(T a, T count) {
  return shift_fits(count) ? static_cast<T>(a >> count) : T{0};
}

// ---- floats: functions of one operand are computed in double and rounded once ----

double logistic(double x) {
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }

double python_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

using RealFn = double (*)(double);

RealFn real_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg: return [](double x) { return -x; };
    case ScalarOp::abs: return [](double x) { return std::fabs(x); };
    case ScalarOp::sign: return sign;
    case ScalarOp::floor: return [](double x) { return std::floor(x); };
    case ScalarOp::ceil: return [](double x) { return std::ceil(x); };
    case ScalarOp::round: return [](double x) { return std::nearbyint(x); };
    case ScalarOp::trunc: return [](double x) { return std::trunc(x); };
    case ScalarOp::sqrt: return [](double x) { return std::sqrt(x); };
    case ScalarOp::exp: return [](double x) { return std::exp(x); };
    case ScalarOp::log: return [](double x) { return std::log(x); };
    case ScalarOp::log1p: return [](double x) { return std::log1p(x); };
    case ScalarOp::expm1: return [](double x) { return std::expm1(x); };
    case ScalarOp::sin: return [](double x) { return std::sin(x); };
    case ScalarOp::cos: return [](double x) { return std::cos(x); };
    case ScalarOp::tan: return [](double x) { return std::tan(x); };
    case ScalarOp::asin: return [](double x) { return std::asin(x); };
    case ScalarOp::acos: return [](double x) { return std::acos(x); };
    case ScalarOp::atan: return [](double x) { return std::atan(x); };
    case ScalarOp::sinh: return [](double x) { return std::sinh(x); };
    case ScalarOp::cosh: return [](double x) { return std::cosh(x); };
    case ScalarOp::tanh: return [](double x) { return std::tanh(x); };
    case ScalarOp::asinh: return [](double x) { return std::asinh(x); };
    case ScalarOp::acosh: return [](double x) { return std::acosh(x); };
    case ScalarOp::atanh: return [](double x) { return std::atanh(x); };
    case ScalarOp::erf: return [](double x) { return std::erf(x); };
    case ScalarOp::logistic: return logistic;
    default: return nullptr;
  }
}

// ---- one instruction on a batch; false if it is not defined for the type ----

/// The registers of one instruction.
struct Slots {
  std::byte* r;
  const std::byte *a, *b, *c;
  std::size_t n;
};

template <class R, class T, class F>
bool each(const Slots& s, F f) {
  for (std::size_t i = 0; i < s.n; ++i) out<R>(s.r)[i] = f(in<T>(s.a)[i]);
  return true;
}

template <class R, class T, class F>
bool each2(const Slots& s, F f) {
  for (std::size_t i = 0; i < s.n; ++i) out<R>(s.r)[i] = f(in<T>(s.a)[i], in<T>(s.b)[i]);
  return true;
}

template <class T>
bool text_op(ScalarOp op, const Slots& s) {
  if (op != ScalarOp::eq) return false;
  return each2<bool, T>(s, [](T a, T b) { return *a == *b; });
}

template <class T>
bool truth_op(ScalarOp op, const Slots& s) {
  switch (op) {
    case ScalarOp::lnot: return each<T, T>(s, [](T a) { return !a; });
    case ScalarOp::land:
    case ScalarOp::min: return each2<T, T>(s, [](T a, T b) { return a && b; });
    case ScalarOp::lor:
    case ScalarOp::max: return each2<T, T>(s, [](T a, T b) { return a || b; });
    case ScalarOp::lxor: return each2<T, T>(s, [](T a, T b) { return a != b; });
    case ScalarOp::eq: return each2<T, T>(s, [](T a, T b) { return a == b; });
    default: return false;
  }
}

template <class T>
bool complex_op(ScalarOp op, const Slots& s) {
  switch (op) {
    case ScalarOp::neg: return each<T, T>(s, [](T a) { return -a; });
    case ScalarOp::add: return each2<T, T>(s, [](T a, T b) { return a + b; });
    case ScalarOp::sub: return each2<T, T>(s, [](T a, T b) { return a - b; });
    case ScalarOp::mul: return each2<T, T>(s, [](T a, T b) { return a * b; });
    case ScalarOp::div: return each2<T, T>(s, [](T a, T b) { return a / b; });
    case ScalarOp::eq: return each2<bool, T>(s, [](T a, T b) { return a == b; });
    default: return false;
  }
}

template <class T>
bool integer_bits(ScalarOp op, const Slots& s) {
  switch (op) {
    case ScalarOp::lnot: return each<T, T>(s, [](T a) { return static_cast<T>(~a); });
    case ScalarOp::land: return each2<T, T>(s, [](T a, T b) { return static_cast<T>(a & b); });
    case ScalarOp::lor: return each2<T, T>(s, [](T a, T b) { return static_cast<T>(a | b); });
    case ScalarOp::lxor: return each2<T, T>(s, [](T a, T b) { return static_cast<T>(a ^ b); });
    case ScalarOp::shl: return each2<T, T>(s, shift_left<T>);
    case ScalarOp::shr: return each2<T, T>(s, shift_right<T>);
    default: return false;
  }
}

template <class T>
bool integer_op(ScalarOp op, const Slots& s) {
  switch (op) {
    case ScalarOp::neg: return each<T, T>(s, [](T a) { return static_cast<T>(-static_cast<U64>(a)); });
    case ScalarOp::abs: return each<T, T>(s, [](T a) { return a < 0 ? static_cast<T>(-static_cast<U64>(a)) : a; });
    case ScalarOp::sign: return each<T, T>(s, [](T a) { return static_cast<T>((a > 0) - (a < 0)); });
    case ScalarOp::add:
      return each2<T, T>(s, [](T a, T b) { return static_cast<T>(static_cast<U64>(a) + static_cast<U64>(b)); });
    case ScalarOp::sub:
      return each2<T, T>(s, [](T a, T b) { return static_cast<T>(static_cast<U64>(a) - static_cast<U64>(b)); });
    case ScalarOp::mul:
      return each2<T, T>(s, [](T a, T b) { return static_cast<T>(static_cast<U64>(a) * static_cast<U64>(b)); });
    case ScalarOp::div: return each2<T, T>(s, int_divide<T>);
    case ScalarOp::mod: return each2<T, T>(s, int_mod<T>);
    case ScalarOp::fmod: return each2<T, T>(s, int_fmod<T>);
    case ScalarOp::pow: return each2<T, T>(s, int_pow<T>);
    default: return integer_bits<T>(op, s);
  }
}

template <class T>
bool real_op(ScalarOp op, const Slots& s) {
  if (const RealFn f = real_function(op)) return each<T, T>(s, [f](T a) { return static_cast<T>(f(a)); });
  switch (op) {
    case ScalarOp::isnan: return each<bool, T>(s, [](T a) { return std::isnan(a); });
    case ScalarOp::isinf: return each<bool, T>(s, [](T a) { return std::isinf(a); });
    case ScalarOp::add: return each2<T, T>(s, [](T a, T b) { return a + b; });
    case ScalarOp::sub: return each2<T, T>(s, [](T a, T b) { return a - b; });
    case ScalarOp::mul: return each2<T, T>(s, [](T a, T b) { return a * b; });
    case ScalarOp::div: return each2<T, T>(s, [](T a, T b) { return a / b; });
    case ScalarOp::mod: return each2<T, T>(s, [](T a, T b) { return static_cast<T>(python_mod(a, b)); });
    case ScalarOp::fmod:
      return each2<T, T>(s, [](T a, T b) { return static_cast<T>(std::fmod(double{a}, double{b})); });
    case ScalarOp::pow: return each2<T, T>(s, [](T a, T b) { return static_cast<T>(std::pow(double{a}, double{b})); });
    default: return false;
  }
}

template <class T>
bool order_op(ScalarOp op, const Slots& s) {
  switch (op) {
    case ScalarOp::min: return each2<T, T>(s, smaller<T>);
    case ScalarOp::max: return each2<T, T>(s, larger<T>);
    case ScalarOp::lt: return each2<bool, T>(s, [](T a, T b) { return a < b; });
    case ScalarOp::le: return each2<bool, T>(s, [](T a, T b) { return a <= b; });
    case ScalarOp::eq: return each2<bool, T>(s, [](T a, T b) { return a == b; });
    default: return false;
  }
}

template <class T>
bool apply(ScalarOp op, const Slots& s) {
  if constexpr (is_text<T>)
    return text_op<T>(op, s);
  else if constexpr (is_truth<T>)
    return truth_op<T>(op, s);
  else if constexpr (is_complex_value<T>)
    return complex_op<T>(op, s);
  else if constexpr (is_real<T>)
    return order_op<T>(op, s) || real_op<T>(op, s);
  else
    return order_op<T>(op, s) || integer_op<T>(op, s);
}

template <class T>
bool select_op(const Slots& s) {
  for (std::size_t i = 0; i < s.n; ++i) out<T>(s.r)[i] = in<bool>(s.a)[i] ? in<T>(s.b)[i] : in<T>(s.c)[i];
  return true;
}

// ---- casts ----

template <class To, class From>
To real_to_int(From x) {
  const From past = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (std::isnan(x)) return 0;
  if (x >= past) return std::numeric_limits<To>::max();
  if (x < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}

template <class To, class From>
inline constexpr bool has_cast =
    std::is_same_v<To, From> || (!is_text<To> && !is_text<From> && (is_complex_value<To> || !is_complex_value<From>));

template <class To, class From>
To cast_value(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_complex_value<To> && is_complex_value<From>)
    return To(x);
  else if constexpr (is_complex_value<To>)
    return To(static_cast<typename To::value_type>(x));
  else if constexpr (is_truth<To>)
    return x != From{0};
  else if constexpr (is_integer<To> && is_real<From>)
    return real_to_int<To>(x);
  else
    return static_cast<To>(x);
}

}  // namespace

bool cast_elements(Elem from, Elem to, const std::byte* from_reg, std::byte* to_reg, std::size_t n) {
  return with_register_type(from, [&]<class From>() {
    return with_register_type(to, [&]<class To>() {
      if constexpr (has_cast<To, From>) {
        for (std::size_t i = 0; i < n; ++i) out<To>(to_reg)[i] = cast_value<To>(in<From>(from_reg)[i]);
      }
      return has_cast<To, From>;
    });
  });
}

// ---- between memory and registers ----

namespace {

template <class Stored, class R, class F>
void gather(const std::byte* data, std::int64_t offset, std::int64_t step, std::size_t n, std::byte* reg,
            std::size_t at, F convert) {
  const Stored* from = in<Stored>(data);
  for (std::size_t i = 0; i < n; ++i) {
    out<R>(reg)[at + i] = convert(from[offset + step * static_cast<std::int64_t>(i)]);
  }
}

std::int8_t sign_extended(std::int8_t value, int bits) {
  return static_cast<std::int8_t>(static_cast<std::int8_t>(static_cast<unsigned>(value) << (8 - bits)) >> (8 - bits));
}

/// Sign-extends or masks stored elements of a sub-byte type.
void wrap_elements(Elem elem, std::byte* data, std::int64_t offset, std::size_t n) {
  const int bits = bit_width(elem);
  for (std::size_t i = 0; i < n; ++i) {
    std::byte& b = data[offset + static_cast<std::int64_t>(i)];
    b = is_signed_int(elem) ? static_cast<std::byte>(sign_extended(static_cast<std::int8_t>(b), bits))
                            : b & static_cast<std::byte>((1 << bits) - 1);
  }
}

}  // namespace

void load_elements(Elem elem, const std::byte* data, std::int64_t offset, std::int64_t step, std::size_t n,
                   std::byte* reg, std::size_t at) {
  const auto read = [&]<class Stored, class R>(auto convert) {
    gather<Stored, R>(data, offset, step, n, reg, at, convert);
  };
  if (elem == Elem::boolean) return read.operator()<std::uint8_t, bool>([](std::uint8_t b) { return b != 0; });
  if (elem == Elem::string) return read.operator()<std::string, Text>([](const std::string& s) { return &s; });
  if (elem == Elem::f16) return read.operator()<std::uint16_t, float>(half_to_float);
  if (elem == Elem::bf16) return read.operator()<std::uint16_t, float>(bfloat16_to_float);
  if (is_small_float(elem)) {
    return read.operator()<std::uint8_t, float>([elem](std::uint8_t b) { return small_to_float(elem, b); });
  }
  with_register_type(compute_elem(elem), [&]<class T>() {
    read.template operator()<T, T>([](T x) { return x; });
    return true;
  });
}

void store_elements(Elem elem, std::byte* data, std::int64_t offset, const std::byte* reg, std::size_t n) {
  if (elem == Elem::string) {
    for (std::size_t i = 0; i < n; ++i)
      assign_text(out<std::string>(data)[offset + static_cast<std::int64_t>(i)], *in<Text>(reg)[i]);
    return;
  }
  const std::size_t width = byte_size(elem);
  std::byte* to = data + offset * static_cast<std::int64_t>(width);
  if (is_small_float(elem)) {
    from_f32(elem, in<float>(reg), to, n, false);
  } else {
    std::memcpy(to, reg, n * width);
    if (bit_width(elem) < 8) wrap_elements(elem, data, offset, n);
  }
}

// ---- the scalar program ----

Result<TapeRun> TapeRun::make(ScalarTape tape) {
  TapeRun run;
  run.tape_ = std::move(tape);
  run.registers_.resize(run.tape_.code.size());
  for (std::size_t i = 0; i < run.tape_.code.size(); ++i) {
    const ScalarIns& ins = run.tape_.code[i];
    if (ins.op == ScalarOp::constant) run.fill_constant(i);
    if (run.step(i, 0)) continue;
    const Elem operand = arity(ins.op) > 0 ? run.tape_.code[ins.a].type : ins.type;
    return fail(Code::unsupported, "{} is not defined for {}", name_of(ins.op), name_of(operand));
  }
  return run;
}

void TapeRun::fill_constant(std::size_t i) {
  const ScalarIns& ins = tape_.code[i];
  with_register_type(ins.type, [&]<class T>() {
    T value{};
    if constexpr (is_real<T>)
      value = static_cast<T>(ins.real);
    else if constexpr (is_complex_value<T>)
      value = T(static_cast<typename T::value_type>(ins.integer));
    else if constexpr (!is_text<T>)
      value = cast_value<T>(ins.integer);
    for (std::size_t k = 0; k < kBatch; ++k) out<T>(registers_[i].data())[k] = value;
    return true;
  });
}

std::byte* TapeRun::operand(std::size_t k) {
  for (std::size_t i = 0; i < tape_.code.size(); ++i) {
    if (tape_.code[i].op == ScalarOp::load && tape_.code[i].operand == k) return registers_[i].data();
  }
  return nullptr;
}

bool TapeRun::step(std::size_t i, std::size_t n) {
  const ScalarIns& ins = tape_.code[i];
  if (ins.op == ScalarOp::load) return true;
  if (ins.op == ScalarOp::constant) return ins.type != Elem::string;
  const Slots s{registers_[i].data(), registers_[ins.a].data(), registers_[ins.b].data(), registers_[ins.c].data(), n};
  if (ins.op == ScalarOp::select) return with_register_type(ins.type, [&]<class T>() { return select_op<T>(s); });
  const Elem operand = tape_.code[ins.a].type;
  if (ins.op == ScalarOp::cast) return cast_elements(operand, ins.type, s.a, s.r, n);
  return with_register_type(operand, [&]<class T>() { return apply<T>(ins.op, s); });
}

void TapeRun::run(std::size_t n) {
  for (std::size_t i = 0; i < tape_.code.size(); ++i) step(i, n);
}

}  // namespace frazil::ref
