#pragma once

#include "ops/contraction/contraction.h"
#include "ops/microsoft/microsoft.h"
#include "ops/nn/recurrent.h"

// LSTM with 8-bit weights.
namespace frazil::ops::microsoft {

struct DynamicLstmAttrs : LstmAttrs {
  static constexpr std::array fields{LstmAttrs::fields[0], LstmAttrs::fields[1], LstmAttrs::fields[2],
                                     LstmAttrs::fields[3], LstmAttrs::fields[4], LstmAttrs::fields[5],
                                     LstmAttrs::fields[7]};
};
inline constexpr std::array<Port, 12> kDynamicLstmIn{{
    {"X", "T", elems::kF32},
    {"W", "T2", kByte},
    {"R", "T2", kByte},
    {"B", "T", elems::kF32, Port::Use::optional},
    {"sequence_lens", "", one(Elem::i32), Port::Use::optional},
    {"initial_h", "T", elems::kF32, Port::Use::optional},
    {"initial_c", "T", elems::kF32, Port::Use::optional},
    {"P", "T", elems::kF32, Port::Use::optional},
    {"W_scale", "T", elems::kF32},
    {"W_zero_point", "T2", kByte},
    {"R_scale", "T", elems::kF32},
    {"R_zero_point", "T2", kByte},
}};
inline constexpr std::array<Port, 3> kDynamicLstmOut{{
    {"Y", "T", elems::kF32, Port::Use::optional},
    {"Y_h", "T", elems::kF32, Port::Use::optional},
    {"Y_c", "T", elems::kF32, Port::Use::optional},
}};
void dynamic_lstm_body(CompositeCx& cx);
FRAZIL_OP(DynamicQuantizeLSTM,
          composite<DynamicLstmAttrs>({"DynamicQuantizeLSTM", 1,
                                       "LSTM with 8-bit weights; input and state are quantised by their range.",
                                       kDomain},
                                      {kDynamicLstmIn, kDynamicLstmOut}, dynamic_lstm_body));

}  // namespace frazil::ops::microsoft
