#pragma once

#include "ops/contraction/contraction.h"

// Window operators for images whose last axis is the channels: [batch, spatial..., channels]. Weights have the layout
// of ONNX.
namespace frazil::ops {

void conv_channels_last_body(CompositeCx& cx);
FRAZIL_OP(ConvChannelsLast,
          composite<ConvAttrs>({"ConvChannelsLast", 1, "Conv of images whose last axis is the channels.", "frazil"},
                               {kConvIn, kPortY<elems::kFloat>}, conv_channels_last_body));

void conv_integer_channels_last_body(CompositeCx& cx);
FRAZIL_OP(ConvIntegerChannelsLast,
          composite<ConvAttrs>({"ConvIntegerChannelsLast", 1, "ConvInteger of images whose last axis is the channels.",
                                "frazil"},
                               {kConvIntegerIn, kI32Out}, conv_integer_channels_last_body));

void max_pool_channels_last_body(CompositeCx& cx);
FRAZIL_OP(MaxPoolChannelsLast,
          composite<MaxPoolAttrs>({"MaxPoolChannelsLast", 1,
                                   "The first result of MaxPool, for images whose last axis is the channels.",
                                   "frazil"},
                                  unary<kMaxPoolElems>, max_pool_channels_last_body));

void average_pool_channels_last_body(CompositeCx& cx);
FRAZIL_OP(AveragePoolChannelsLast,
          composite<AveragePoolAttrs>({"AveragePoolChannelsLast", 1,
                                       "AveragePool of images whose last axis is the channels.", "frazil"},
                                      unary<elems::kFloat>, average_pool_channels_last_body));

}  // namespace frazil::ops
