#pragma once

#include <functional>

#include "ir/op/define.h"

namespace frazil::ops {

/// The attributes that RNN, GRU and LSTM share.
struct RecurrentAttrs {
  Floats activation_alpha;
  Floats activation_beta;
  Strings activations;
  std::optional<float> clip;
  std::string direction = "forward";
  std::optional<std::int64_t> hidden_size;
  std::int64_t layout = 0;
};

template <class A>
inline constexpr std::array<AttrField, 7> kRecurrentFields{
    attr<&A::activation_alpha>("activation_alpha", "alphas of the activations that have one, in order"),
    attr<&A::activation_beta>("activation_beta", "betas of the activations that have one, in order"),
    attr<&A::activations>("activations", "names for each direction; empty: the operator's own"),
    attr<&A::clip>("clip", "bound on the activations' arguments"),
    attr<&A::direction>("direction", "forward, reverse or bidirectional"),
    attr<&A::hidden_size>("hidden_size", "must agree with the weights"),
    attr<&A::layout>("layout", "0: steps first, 1: batch first", 14),
};

struct RnnAttrs : RecurrentAttrs {
  static constexpr std::span<const AttrField> fields{kRecurrentFields<RecurrentAttrs>};
};
struct GruAttrs : RecurrentAttrs {
  std::int64_t linear_before_reset = 0;
  static constexpr std::array fields{
      kRecurrentFields<RecurrentAttrs>[0],
      kRecurrentFields<RecurrentAttrs>[1],
      kRecurrentFields<RecurrentAttrs>[2],
      kRecurrentFields<RecurrentAttrs>[3],
      kRecurrentFields<RecurrentAttrs>[4],
      kRecurrentFields<RecurrentAttrs>[5],
      kRecurrentFields<RecurrentAttrs>[6],
      attr<&GruAttrs::linear_before_reset>("linear_before_reset", "1: the reset gate scales the state's product"),
  };
};
struct LstmAttrs : RecurrentAttrs {
  std::int64_t input_forget = 0;
  static constexpr std::array fields{
      kRecurrentFields<RecurrentAttrs>[0],
      kRecurrentFields<RecurrentAttrs>[1],
      kRecurrentFields<RecurrentAttrs>[2],
      kRecurrentFields<RecurrentAttrs>[3],
      kRecurrentFields<RecurrentAttrs>[4],
      kRecurrentFields<RecurrentAttrs>[5],
      kRecurrentFields<RecurrentAttrs>[6],
      attr<&LstmAttrs::input_forget>("input_forget", "1: the forget gate is one minus the input gate"),
  };
};

inline constexpr std::array<Port, 8> kRecurrentIn{{
    {"X", "T", elems::kFloat},
    {"W", "T", elems::kFloat},
    {"R", "T", elems::kFloat},
    {"B", "T", elems::kFloat, Port::Use::optional},
    {"sequence_lens", "", one(Elem::i32), Port::Use::optional},
    {"initial_h", "T", elems::kFloat, Port::Use::optional},
    {"initial_c", "T", elems::kFloat, Port::Use::optional},
    {"P", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 3> kRecurrentOut{{
    {"Y", "T", elems::kFloat, Port::Use::optional},
    {"Y_h", "T", elems::kFloat, Port::Use::optional},
    {"Y_c", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr Ports kRnnPorts{std::span(kRecurrentIn).first(6), std::span(kRecurrentOut).first(2)};

void rnn_body(CompositeCx& cx);
void gru_body(CompositeCx& cx);
void lstm_body(CompositeCx& cx);
FRAZIL_OP(RNN, composite<RnnAttrs>({"RNN", {22, 7}, "One-layer Elman network over a sequence."}, kRnnPorts, rnn_body));
FRAZIL_OP(GRU, composite<GruAttrs>({"GRU", {22, 7}, "One-layer network of gated recurrent units over a sequence."},
                                   kRnnPorts, gru_body));
FRAZIL_OP(LSTM,
          composite<LstmAttrs>({"LSTM", {22, 7}, "One-layer network of long short-term memory cells over a sequence."},
                               {kRecurrentIn, kRecurrentOut}, lstm_body));

// ---- LSTM with other weights ----

/// The extents of an LSTM: 1-D tensors of one element.
struct LstmExtents {
  std::size_t directions;
  Expr count;  ///< the number of directions
  Expr inputs, hidden;
  Expr gates;  ///< 4 * hidden
};
/// The products with the weights of one direction. They are called with the context of the block that computes them.
struct LstmProducts {
  std::function<Expr(CompositeCx& cx, Expr x, std::size_t direction)> input;  ///< [steps, batch, inputs] to gates
  std::function<Expr(CompositeCx& cx, Expr h, std::size_t direction)> state;  ///< [batch, hidden] to gates
};
using LstmWeights = std::function<LstmProducts(const LstmExtents&)>;
/// Computes an LSTM whose inputs are those of LSTM except for W and R, which only `weights` reads. Axis `hidden_axis`
/// of R has the extent of a state.
void lstm_with(CompositeCx& cx, const LstmAttrs& a, std::int64_t hidden_axis, const LstmWeights& weights);

}  // namespace frazil::ops
