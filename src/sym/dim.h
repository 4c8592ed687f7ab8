#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value/error.h"

namespace frazil {

namespace sym {
class Nodes;
}

/// A symbolic integer: an extent of a tensor or a value of a shape tensor.
///
/// A Dim is a constant or a canonical expression in one Scope. Two Dims of a Scope are equal as expressions if and only
/// if their bits are equal. Dims of different Scopes must not be mixed. Debug builds check this; release builds store
/// no owner.
///
/// Constants are clamped to [kMin, kMax], and arithmetic beyond that range saturates. This is harmless: extents near
/// the bounds exceed the limits before anything is allocated.
class Dim {
 public:
  static constexpr std::int64_t kMax = (std::int64_t{1} << 61) - 1;
  static constexpr std::int64_t kMin = -kMax;

  constexpr Dim() = default;
  constexpr Dim(std::int64_t constant) : bits_(clamp(constant) * 2) {}

  constexpr bool is_const() const { return (bits_ & 1) == 0; }
  /// Requires is_const().
  constexpr std::int64_t value() const { return bits_ >> 1; }
  constexpr bool operator==(const Dim&) const = default;
  constexpr std::uint64_t bits() const { return static_cast<std::uint64_t>(bits_); }

 private:
  friend class sym::Nodes;
  static constexpr std::int64_t clamp(std::int64_t v) { return v > kMax ? kMax : v < kMin ? kMin : v; }
  // `owner` < 2^30; 0 in release builds.
  static constexpr Dim expression(std::uint32_t index, std::uint32_t owner) {
    Dim d;
    d.bits_ = (static_cast<std::int64_t>(owner) << 32 | index) * 2 + 1;
    return d;
  }
  constexpr std::uint32_t owner() const { return static_cast<std::uint32_t>(bits_ >> 33); }
  std::int64_t bits_ = 0;
};

/// Inclusive bounds.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = Dim::kMax;
  bool operator==(const Bounds&) const = default;
};

enum class Proof : std::uint8_t { yes, no, maybe };  ///< maybe: a run-time check must decide

/// A symbol's index in its Scope, dense from 0.
using SymbolId = std::uint32_t;

/// A straight-line integer program that evaluates Dims for given symbol values. Registers [0, symbols) hold the
/// symbols; each instruction writes the next register. Arithmetic saturates like that of Dim. Division and modulo by
/// zero give 0 and set the fault flag.
struct DimProgram {
  enum class Op : std::uint8_t { constant, add, sub, mul, floordiv, mod, min, max };
  struct Ins {
    Op op;
    std::uint32_t dst, a, b;  ///< registers
    std::int64_t imm;         ///< constant: the value
  };
  std::vector<Ins> code;
  std::uint32_t registers = 0;  ///< including the symbols

  /// Runs code[from, to) on `regs`, which has at least `registers` elements. Returns false if a division by zero
  /// occurred.
  bool run(std::span<std::int64_t> regs, std::size_t from, std::size_t to) const;
  /// Runs the same on ranges. The range of a register contains its value for all values of the symbols in their ranges.
  /// A divisor of 0 is left out.
  void run_bounds(std::span<Bounds> regs, std::size_t from, std::size_t to) const;
};

/// Owns symbols and hash-consed expressions. Adding expressions is not thread-safe. While nothing is added, several
/// threads may call const members.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(Scope&&) noexcept;
  Scope& operator=(Scope&&) noexcept;
  Scope(const Scope&);  ///< copies symbols and expressions: Dims of the original are valid in the copy
  Scope& operator=(const Scope&);

  /// Returns the symbol of this name, always as the same Dim. Bounds of a known name narrow the existing ones, also in
  /// existing expressions. Contradictory bounds are ignored. Bounds with min > max mean no bounds.
  Dim symbol(std::string_view name, Bounds bounds = {});
  /// Returns a new unbacked symbol, named "?0", "?1", ...: an extent that depends on data. is_unbacked() tests the
  /// name, so the property survives the text form.
  Dim unbacked(Bounds bounds = {});

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  /// Rounds towards minus infinity. Returns 0 for a constant divisor 0, which callers report first.
  Dim floordiv(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  /// Returns the extent that a and b broadcast to, if they can: they are equal, or one of them is 1. The order of
  /// operands does not matter. Broadcasting with an extent that is already part of a result does not change the result.
  Dim broadcast(Dim a, Dim b);

  /// Returns the bounds of d over all symbol values without a division by zero, computed exactly and then clamped.
  Bounds bounds(Dim d) const;
  Proof equal(Dim a, Dim b) const;
  Proof less(Dim a, Dim b) const;  ///< a < b
  Proof less_equal(Dim a, Dim b) const;

  std::size_t symbol_count() const;
  std::string_view symbol_name(SymbolId id) const;
  Dim symbol_dim(SymbolId id) const;
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  /// Returns the symbol if d is exactly one symbol.
  std::optional<SymbolId> as_symbol(Dim d) const;
  /// Returns the symbols that d reads, ascending, without duplicates.
  std::vector<SymbolId> symbols_of(Dim d) const;

  /// Appends code for d to `program` and returns the register that holds d. `known` maps emitted sub-expressions to
  /// registers and is updated, so common sub-expressions are computed once. The first emit into a program reserves the
  /// registers of the symbols; it cannot read symbols that are made later.
  std::uint32_t emit(Dim d, DimProgram& program, class DimRegisters& known) const;

  /// Returns a text such as "N", "2*N + 1", "floordiv(N + 1, 2)" or "min(N, 8)"; mod(N, 8) is "N - 8*floordiv(N, 8)".
  /// The text depends only on names and structure.
  /// parse_dim() reads it back, unless bounds were narrowed after d was made or the text exceeds its limits. These are
  /// 1 MiB (longer texts end in "...") and 200 levels of nesting.
  std::string str(Dim d) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Dim ceildiv(Scope& scope, Dim a, Dim b);  ///< -floordiv(-a, b)
Dim mod(Scope& scope, Dim a, Dim b);      ///< a - b * floordiv(a, b)
Dim product(Scope& scope, std::span<const Dim> dims);

/// Returns the constant that equals d for all symbol values, if bounds determine it.
std::optional<std::int64_t> constant_of(const Scope& scope, Dim d);
Bounds symbol_bounds(const Scope& scope, SymbolId id);
/// Returns true if the symbol's name is one that Scope::unbacked() gives.
bool is_unbacked(const Scope& scope, SymbolId id);
/// Evaluates d directly, for tests and the reference executor. Returns nullopt if it divides by zero or reads a symbol
/// beyond the given values.
std::optional<std::int64_t> eval(const Scope& scope, Dim d, std::span<const std::int64_t> symbol_values);
/// Parses the text that Scope::str() prints, and mod(a, b). Unknown names become symbols with default bounds. They
/// remain even if the text is invalid.
Result<Dim> parse_dim(Scope& scope, std::string_view text);

/// The registers of Dims that are already emitted into a DimProgram.
class DimRegisters {
 public:
  std::optional<std::uint32_t> find(Dim d) const;
  void set(Dim d, std::uint32_t reg);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> by_bits_;
};

}  // namespace frazil
