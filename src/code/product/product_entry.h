#pragma once

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "code/native/native_plan.h"
#include "code/product/epilogue.h"
#include "code/product/product_cut.h"
#include "code/product/prologue.h"

namespace frazil::code {

/// A planned product or convolution: alone, or as the producer of a fused kernel.
template <class P>
struct ProductParams {
  P params;
  OperandRange operands;  ///< its own operands; all of the call if it is alone
  std::optional<EpilogueCode> epilogue;
  std::optional<PrologueCode> prologue;
  std::uint32_t into = 0;  ///< the result that it writes, or kNotStored
  Elem unstored_elem = Elem::i32;
};

/// One call of a product for units [begin, end); with a prologue these are its blocks. The result is call.out[0], or
/// null if it is not stored.
template <class S>
struct ProductRun {
  Call call;
  const Worker& worker;
  const S& state;
  const PrologueRun& prologue;
  EpilogueRun& epilogue;
  std::int64_t begin, end;
  bool whole;  ///< all units
};

/// The entries of products whose parameters are P and whose state is S. `prepare` gets the product's own operands and
/// its one result, and sets units and scratch. `columns` returns the number of elements of a row of the result. `row`
/// may be null. It returns the product of one row that this is, with its own operands and `packed_at` as an offset in
/// S.
template <class P, class S, Status (*prepare)(Prepare&, const P&, S&), std::int64_t (*columns)(const S&),
          void (*run)(const ProductRun<S>&), std::optional<NativeProduct> (*row)(const S&) = nullptr>
struct ProductEntry {
  using Code = ProductParams<P>;
  /// The tile states of epilogue and prologue follow it in memory.
  struct State {
    S product;
    Prologue prologue;
    Epilogue epilogue;
    std::uint32_t into;
    std::size_t passed;       ///< offset in a worker's scratch of a whole result that is passed
    std::int64_t units;       ///< of the product; the caller sees one unit if the epilogue needs the whole result
    std::int64_t last_units;  ///< of the epilogue, if it works on rows that the product's units cut
    bool whole;
  };

  static constexpr std::int64_t kLastRows = 8;  ///< rows of a last unit

  /// Returns the number of units of columns.
  static std::int64_t units_of_columns(const S& product) {
    if constexpr (requires { product.cut; }) return product.cut.columns;
    return 1;
  }

  static std::size_t aligned_bytes(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }

  static Result<OperandShape> result_of(const Prepare& cx, const Code& code, std::span<std::int64_t> strides) {
    if (code.into != kNotStored) return cx.out[code.into];
    const std::size_t rank = cx.domain.size();
    if (rank > strides.size()) return fail(frazil::Code::limit, "its result has more than {} axes", strides.size());
    std::int64_t step = 1;
    for (std::size_t axis = rank; axis-- > 0; step *= std::max<std::int64_t>(cx.domain[axis], 1)) strides[axis] = step;
    return OperandShape{.given = true, .elem = code.unstored_elem, .dims = cx.domain, .strides = strides.first(rank)};
  }

  static Status prepare_step(Prepare& cx, const void* code_memory, void* memory) {
    const auto& code = *static_cast<const Code*>(code_memory);
    auto& state = *new (memory) State{};
    state.into = code.into;
    Prepare own = cx;
    own.in = cx.in.subspan(code.operands.first, code.operands.count);
    own.weights = cx.weights.subspan(code.operands.first, code.operands.count);
    std::array<std::int64_t, kMaxTileLoops> strides;
    FRAZIL_TRY(const OperandShape made, result_of(cx, code, strides));
    own.out = {&made, 1};
    own.passing = code.into == kNotStored;
    own.whole_rows = code.epilogue && code.epilogue->tiles.rows;
    FRAZIL_CHECK(prepare(own, code.params, state.product));
    cx.scratch_bytes = own.scratch_bytes;
    cx.min_units = own.min_units;
    cx.nanoseconds = own.nanoseconds;
    state.units = own.units;
    auto* more = static_cast<std::byte*>(memory) + aligned_bytes(sizeof(State));
    if (code.epilogue) {
      FRAZIL_CHECK(prepare_epilogue(cx, *code.epilogue, made, columns(state.product), more, state.epilogue));
      more += aligned_bytes(tile_state_bytes(code.epilogue->tiles));
      state.whole = !state.epilogue.by_tiles;
    }
    if (state.whole && own.passing) {
      state.passed = aligned(cx.scratch_bytes);
      cx.scratch_bytes = state.passed + made.bytes();
    }
    const bool apart = own.whole_rows && !state.whole && units_of_columns(state.product) > 1;
    if (apart) {
      state.last_units = ceil_div(state.epilogue.rows, kLastRows);
      cx.last_nanoseconds = cx.nanoseconds - own.nanoseconds;
    }
    if (code.prologue) {
      FRAZIL_CHECK(prepare_prologue(cx, *code.prologue, more, state.prologue));
      count_blocks(cx, own.nanoseconds, state);
    }
    cx.units = state.whole ? 1 : state.units + state.last_units;
    cx.last_units = state.last_units;
    return {};
  }

  /// Counts the units of a product with a prologue. Each unit computes the rows of its block again.
  static void count_blocks(Prepare& cx, double product, State& state) {
    const std::int64_t side_by_side = units_of_columns(state.product);
    const double rows = cx.nanoseconds - cx.last_nanoseconds - product;
    state.units = state.prologue.blocks() * side_by_side;
    cx.min_units = ProductCut::min_profitable_units(
        rows / static_cast<double>(std::max<std::int64_t>(1, state.prologue.blocks())),
        product / static_cast<double>(std::max<std::int64_t>(1, state.units)), side_by_side);
  }

  static void run_step(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) {
    const auto& state = *static_cast<const State*>(call.state);
    std::byte* made = state.into != kNotStored ? call.out[state.into] : nullptr;
    if (state.into == kNotStored && state.whole) made = worker.scratch + state.passed;
    const bool apart = state.last_units > 0 && end - begin < state.units + state.last_units;
    EpilogueRun epilogue(call, worker, state.epilogue, made, apart);
    if (apart && begin >= state.units) {
      const std::int64_t last = std::min((end - state.units) * kLastRows, state.epilogue.rows);
      return epilogue.run_rows((begin - state.units) * kLastRows, last);
    }
    const PrologueRun prologue(call, worker, state.prologue);
    Call own = call;
    own.out = &made;
    if (state.whole) begin = 0, end = state.units;
    if (end > state.units) end = state.units;
    run({own, worker, state.product, prologue, epilogue, begin, end, begin == 0 && end == state.units});
    if (state.whole) epilogue.finish();
  }

  static std::optional<NativeBody> native_body_of(const void* code_memory, const void* memory) {
    const auto& code = *static_cast<const Code*>(code_memory);
    const auto& state = *static_cast<const State*>(memory);
    if (code.prologue || code.into == kNotStored) return std::nullopt;
    std::optional<NativeProduct> product = row(state.product);
    if (!product) return std::nullopt;
    if (product->packed_at != 0) product->packed_at += offset_of_product(state);
    for (std::uint32_t* const operand : {&product->a, &product->b, &product->bias, &product->addend}) {
      if (*operand != kNone) *operand += code.operands.first;
    }
    product->into = code.into;
    NativeBody body;
    if (code.epilogue) {
      auto epilogue_body = native_body(code.epilogue->tiles, state.epilogue.tiles());
      if (!epilogue_body) return std::nullopt;
      body = std::move(*epilogue_body);
      product->epilogue = code.epilogue->operands;
    }
    body.product = product;
    return body;
  }

  static std::size_t offset_of_product(const State& state) {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&state.product) -
                                    reinterpret_cast<const std::byte*>(&state));
  }

  static KernelEntry make(Code code) {
    std::size_t bytes = aligned_bytes(sizeof(State));
    if (code.epilogue) bytes += aligned_bytes(tile_state_bytes(code.epilogue->tiles));
    if (code.prologue) bytes += aligned_bytes(tile_state_bytes(code.prologue->tiles));
    static constexpr Emits kRow{.body = &native_body_of};
    return {.step = {bytes, &prepare_step, std::make_shared<const Code>(std::move(code))},
            .run = &run_step,
            .emits = row != nullptr ? &kRow : nullptr};
  }
};

}  // namespace frazil::code
