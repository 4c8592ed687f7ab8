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

/// Symbolic integers: extents of tensors and values of shape tensors.
///
/// A Dim is a constant or a canonical expression in one Scope. Two Dims of a Scope are equal as expressions exactly
/// when
/// their bits are equal. Dims of different Scopes must not be mixed (checked in debug builds; release builds store no
/// owner). Constants are clamped to [kMin, kMax]; arithmetic beyond that range saturates, which is harmless: extents
/// near the bounds exceed the limits before anything is allocated.
class Dim {
 public:
  static constexpr std::int64_t kMax = (std::int64_t{1} << 61) - 1;
  static constexpr std::int64_t kMin = -kMax;

  constexpr Dim() = default;
  constexpr Dim(std::int64_t constant) : bits_(clamp(constant) * 2) {}

  constexpr bool is_const() const { return (bits_ & 1) == 0; }
  /// Precondition: is_const().
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

enum class Proof : std::uint8_t { yes, no, maybe };  ///< maybe needs a run-time check

/// A symbol's index in its Scope, dense from 0.
using SymbolId = std::uint32_t;

/// Straight-line integer program that evaluates Dims for given symbol values. Registers [0, symbols) hold the symbols;
/// each instruction writes the next register. Arithmetic saturates like Dim's. Division and modulo by zero give 0 and
/// set the fault flag.
struct DimProgram {
  enum class Op : std::uint8_t { constant, add, sub, mul, floordiv, mod, min, max };
  struct Ins {
    Op op;
    std::uint32_t dst, a, b;  ///< registers
    std::int64_t imm;         ///< constant: the value
  };
  std::vector<Ins> code;
  std::uint32_t registers = 0;  ///< including the symbols

  /// Runs code[from, to) on `regs` (at least `registers` long). Returns false when a division by zero occurred.
  bool run(std::span<std::int64_t> regs, std::size_t from, std::size_t to) const;
};

/// Owns symbols and hash-consed expressions. Not thread-safe while expressions are added; once nothing is added, const
/// members may be called from several threads.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(Scope&&) noexcept;
  Scope& operator=(Scope&&) noexcept;
  Scope(const Scope&);  ///< same symbols and expressions: Dims of the original are valid in the copy
  Scope& operator=(const Scope&);

  /// The symbol of this name; the same name returns the same Dim. Bounds given again narrow the existing ones, also in
  /// expressions built before; contradictory bounds are ignored. Bounds with min > max mean none.
  Dim symbol(std::string_view name, Bounds bounds = {});
  /// A new unbacked symbol, named "?0", "?1", ...: an extent that depends on data. is_unbacked tests the name, so that
  /// the property survives the text form.
  Dim unbacked(Bounds bounds = {});

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim floordiv(Dim a,
               Dim b);  ///< rounds towards minus infinity; gives 0 for a constant divisor 0, which callers report first
  Dim ceildiv(Dim a, Dim b);  ///< -floordiv(-a, b)
  Dim mod(Dim a, Dim b);      ///< a - b * floordiv(a, b)
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  Dim product(std::span<const Dim> dims);
  /// The extent that a and b broadcast to, provided they can: they are equal, or one of them is 1. Broadcasting an
  /// extent again to a result it is already part of changes nothing, and the order of operands does not matter.
  Dim broadcast(Dim a, Dim b);

  /// Bounds of d over all symbol values without a division by zero, computed exactly and then clamped.
  Bounds bounds(Dim d) const;
  Proof equal(Dim a, Dim b) const;
  Proof less(Dim a, Dim b) const;  ///< a < b
  Proof less_equal(Dim a, Dim b) const;
  /// The constant that equals d for all symbol values, if bounds determine it.
  std::optional<std::int64_t> constant(Dim d) const;

  std::size_t symbol_count() const;
  std::string_view symbol_name(SymbolId id) const;
  Bounds symbol_bounds(SymbolId id) const;
  bool is_unbacked(SymbolId id) const;
  Dim symbol_dim(SymbolId id) const;
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  /// The symbol, when d is exactly one symbol.
  std::optional<SymbolId> as_symbol(Dim d) const;
  /// The symbols that d reads, ascending, without duplicates.
  std::vector<SymbolId> symbols_of(Dim d) const;
  /// d with each symbol s replaced by map[s]; nullopt keeps the symbol. Expressions are rebuilt in this Scope.
  Dim substitute(Dim d, std::span<const std::optional<Dim>> map);

  /// Direct evaluation, for tests and the reference executor. nullopt on division by zero, and when d reads a symbol
  /// beyond the given values.
  std::optional<std::int64_t> eval(Dim d, std::span<const std::int64_t> symbol_values) const;
  /// Appends code for d to `program` and returns the register that holds it. `known` maps d.bits() of emitted
  /// sub-expressions to registers and is updated; common sub-expressions are computed once. The first emit into a
  /// program reserves the registers of the symbols: later symbols cannot be read in it.
  std::uint32_t emit(Dim d, DimProgram& program, class DimRegisters& known) const;

  /// "N", "2*N + 1", "floordiv(N + 1, 2)", "min(N, 8)", "N - 8*floordiv(N, 8)" for mod(N, 8). The text depends on names
  /// and structure only. parse(str(d)) == d, unless bounds were narrowed after d was made or the text exceeds the
  /// limits: 1 MiB (longer texts end in "...") and 200 levels of nesting.
  std::string str(Dim d) const;
  /// Parses what str prints, and mod(a, b). Unknown names become symbols with default bounds; they remain even when the
  /// text turns out to be invalid.
  Result<Dim> parse(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Registers of Dims already emitted into a DimProgram.
class DimRegisters {
 public:
  std::optional<std::uint32_t> find(Dim d) const;
  void set(Dim d, std::uint32_t reg);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> by_bits_;
};

}  // namespace frazil
