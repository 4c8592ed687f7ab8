#pragma once

#include <new>

#include "exec/epilogue.h"
#include "exec/prologue.h"

namespace frazil {

/// The code of a product whose state is S: `prepare` sees the product's own operands, `cols` tells the elements of a
/// row of its result, and `run` calls finish() or run_whole(), and reads operand 0 by way of the prologue if that
/// exists.
template <class S, Status (*prepare)(PrepareCx&, S&), std::int64_t (*cols)(const S&),
          void (*run)(const RunCx&, const S&, const PrologueRun&, EpilogueRun&)>
struct ProductCode {
  /// The states of the two programs follow: of the one behind the product, and of the one in front.
  struct State {
    S product;
    Prologue prologue;
    Epilogue epilogue;
  };
  static std::size_t epilogue_room(const Plan& plan, const Step& step) {
    return (epilogue_bytes(plan, step) + 7) & ~std::size_t{7};
  }
  static std::size_t more_state(const Plan& plan, const Step& step) {
    return epilogue_room(plan, step) + prologue_bytes(plan, step);
  }
  static Status prepare_step(PrepareCx& cx, void* memory) {
    auto& state = *new (memory) State{};
    PrepareCx own = product_context(cx);
    FRAZIL_CHECK(prepare(own, state.product));
    cx.scratch_bytes = own.scratch_bytes;
    FRAZIL_CHECK(prepare_epilogue(cx, state.epilogue, cols(state.product)));
    return prepare_prologue(cx, state.prologue,
                            static_cast<std::byte*>(memory) + sizeof(State) + epilogue_room(cx.plan, cx.step));
  }
  static void run_step(const RunCx& cx, const void* memory) {
    const auto& state = *static_cast<const State*>(memory);
    EpilogueRun epilogue(cx, state.epilogue);
    run({cx.in, cx.out + state.epilogue.base, cx.scratch}, state.product, PrologueRun(cx, state.prologue), epilogue);
  }
  static constexpr KernelCode kCode{sizeof(State), &prepare_step, &run_step, &more_state};
};

}  // namespace frazil
