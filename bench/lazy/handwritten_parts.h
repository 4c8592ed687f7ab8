#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/lazy/cells.h"
#include "bench/lazy/handwritten.h"
#include "bench/lazy/products.h"

/// Shared by the handwritten implementations.
namespace bench::lazy {

using std::int64_t;

inline void copy(float* to, const float* from, int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// Calls part(begin, count) for [0, count) in parts of at most `most`.
template <class F>
void for_parts(int64_t count, int64_t most, const F& part) {
  for (int64_t i = 0; i < count; i += most) part(i, std::min(most, count - i));
}

/// Concatenates words[word[i]] for all i.
inline const float* gather(const Matrix& words, std::span<const std::int32_t> word, Buffer& to) {
  float* const rows = to.reserve(static_cast<int64_t>(word.size()) * words.cols);
  for (std::size_t i = 0; i < word.size(); ++i) {
    copy(rows + static_cast<int64_t>(i) * words.cols, words.row(word[i]), words.cols);
  }
  return rows;
}

/// Returns x * input.w + input.bias for each word of a vocabulary.
inline Matrix projected(const Matrix& words, const Layer& input) {
  const Weights w(input.w);
  Matrix table{words.rows, input.w.cols, Floats(static_cast<std::size_t>(words.rows * input.w.cols))};
  Multiplier(Products::packed)
      .with_bias(words.rows, {words.values.data(), words.cols}, w, input.bias, table.values.data());
  return table;
}

/// Adds Handwritten<Model, Table>(model, how, table) for each kind of product, with and without a table.
template <class Hand, class Model, class MakeTable>
void add_hands(const Model& model, Implementations& rows, const MakeTable& make_table) {
  using Table = decltype(make_table());
  const auto table = std::make_shared<const Table>(make_table());
  for (const Products how : products_of_build()) {
    const std::string name(name_of(how));
    rows.push_back(std::make_unique<Hand>("hand, " + name, Role::handwritten, model, how, nullptr));
    rows.push_back(std::make_unique<Hand>("hand, " + name + ", folded", Role::folded, model, how, table));
  }
}

}  // namespace bench::lazy
