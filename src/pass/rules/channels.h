#pragma once

#include <cstddef>
#include <vector>

#include "ir/edit/builder.h"
#include "ir/graph/graph.h"

// Scales and offsets per channel, for rules that let convolutions absorb them.
namespace frazil::pass {

/// y = factor * x + offset, per channel.
struct Affine {
  std::vector<float> factor, offset;
};

bool is_16_bit(Elem elem);
/// Returns the elements of a tensor of f32, f16 or bf16, which may be unaligned.
std::vector<float> floats(const Tensor& t);
/// Returns true for a dense list of `count` such elements.
bool is_list(const Tensor* t, std::size_t count);

/// Returns true if a Conv makes `channels` channels with f32 constants, and its weight is small enough to be copied
/// when a model is loaded.
bool absorbs_channels(const Graph& graph, const Node& conv, std::size_t channels);
/// Returns the convolution with its results scaled and shifted. Requires absorbs_channels().
Expr convolution_with(const Graph& graph, const Node& conv, const Affine& affine, Builder& to);

}  // namespace frazil::pass
