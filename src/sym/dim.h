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

#include "base/error.h"

namespace frazil {

namespace sym {
class Nodes;
}

/// Symbolic integers: extents of tensors and values of shape tensors.
///
/// A Dim is a constant or a canonical expression of one Scope. Two Dims of one Scope are equal as expressions exactly
/// when their bits are equal. Dims of two Scopes never mix (a debug build checks; a Dim carries no owner in release).
/// Constants are clamped to [kMin, kMax]; arithmetic that would leave that range saturates ("unbounded" in practice:
/// every extent near it is refused by the limits before anything is allocated).
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

enum class Proof : std::uint8_t { yes, no, maybe };  ///< maybe becomes a run-time guard, never an assumption

/// A symbol's number in its Scope, dense from 0.
using SymbolId = std::uint32_t;

/// Straight-line integer program that evaluates Dims for given symbol values.
/// Registers [0, symbols) are the symbols; each op writes the next register. All arithmetic saturates like Dim's.
/// Division and modulo by zero give 0 and set the fault flag.
struct DimProgram {
  enum class Op : std::uint8_t { constant, add, sub, mul, floordiv, mod, min, max };
  struct Ins {
    Op op;
    std::uint32_t dst, a, b;  ///< registers
    std::int64_t imm;         ///< constant: the value
  };
  std::vector<Ins> code;
  std::uint32_t registers = 0;  ///< symbols included

  /// Runs code[from, to) on `regs` (at least `registers` long). False when a division by zero happened.
  bool run(std::span<std::int64_t> regs, std::size_t from, std::size_t to) const;
};

/// Owns symbols and hash-consed expressions. Not thread-safe while expressions are added; const members may be called
/// from many threads once nothing is added any more.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(Scope&&) noexcept;
  Scope& operator=(Scope&&) noexcept;
  Scope(const Scope&);  ///< same symbols and expressions: Dims of the original are valid in the copy
  Scope& operator=(const Scope&);

  /// The named symbol: the same name gives the same Dim; bounds of a second call narrow the first's, in expressions
  /// built before as well, or are ignored where the two contradict. Bounds with min > max mean none.
  Dim symbol(std::string_view name, Bounds bounds = {});
  /// A new symbol with a name of its own ("?0", "?1", ...): extents that depend on data. is_unbacked goes by the name,
  /// so that it survives the text form.
  Dim unbacked(Bounds bounds = {});

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim floordiv(Dim a, Dim b);  ///< rounds to minus infinity; by a constant 0: 0 (callers report it first)
  Dim ceildiv(Dim a, Dim b);   ///< -floordiv(-a, b)
  Dim mod(Dim a, Dim b);       ///< a - b * floordiv(a, b)
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  Dim product(std::span<const Dim> dims);
  /// The extent that a and b broadcast to where they do: they are equal, or one of them is 1. Whatever has been
  /// broadcast to an extent before adds nothing to it, and the order of a few does not matter.
  Dim broadcast(Dim a, Dim b);

  /// Holds d for all symbol values without a division by zero, computed exactly and then clamped.
  Bounds bounds(Dim d) const;
  Proof equal(Dim a, Dim b) const;
  Proof less(Dim a, Dim b) const;  ///< a < b
  Proof less_equal(Dim a, Dim b) const;
  /// c such that d == c for all symbol values, if bounds force it.
  std::optional<std::int64_t> constant(Dim d) const;

  std::size_t symbol_count() const;
  std::string_view symbol_name(SymbolId id) const;
  Bounds symbol_bounds(SymbolId id) const;
  bool is_unbacked(SymbolId id) const;
  Dim symbol_dim(SymbolId id) const;
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  /// The symbol when d is exactly one symbol.
  std::optional<SymbolId> as_symbol(Dim d) const;
  /// Every symbol that d reads, ascending, each once.
  std::vector<SymbolId> symbols_of(Dim d) const;
  /// d with each symbol s replaced by with(s); expressions are built anew in this Scope.
  /// `map` is indexed by SymbolId; nullopt keeps the symbol.
  Dim substitute(Dim d, std::span<const std::optional<Dim>> map);

  /// Slow evaluation, for tests and the reference executor. nullopt on division by zero, and when d reads a symbol
  /// beyond the values.
  std::optional<std::int64_t> eval(Dim d, std::span<const std::int64_t> symbol_values) const;
  /// Appends code for d to `program` and gives the register that holds it. `known` maps d.bits() of sub-expressions
  /// already emitted to registers and is updated; common sub-expressions are computed once.
  /// The first emit into a program reserves the registers of the symbols: symbols made later cannot be read in it.
  std::uint32_t emit(Dim d, DimProgram& program, class DimRegisters& known) const;

  /// "N", "2*N + 1", "floordiv(N + 1, 2)", "min(N, 8)", "N - 8*floordiv(N, 8)" for mod(N, 8). The text depends on names
  /// and structure only. parse(str(d)) == d, as long as bounds were not narrowed after d was made and the text keeps
  /// the limits: 1 MiB (longer ones end in "...") and 200 levels of nesting.
  std::string str(Dim d) const;
  /// Reads what str prints, and mod(a, b); unknown names become symbols with default bounds, and stay when the text
  /// turns out to be invalid.
  Result<Dim> parse(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Register numbers of Dims already emitted into a DimProgram.
class DimRegisters {
 public:
  std::optional<std::uint32_t> find(Dim d) const;
  void set(Dim d, std::uint32_t reg);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> by_bits_;
};

}  // namespace frazil
