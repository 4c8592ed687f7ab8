#pragma once

#include <unordered_map>

#include "ir/op/define.h"
#include "ops/core/memo.h"

namespace frazil::ops {

/// The n-grams of a TfIdfVectorizer as a tree (a trie). `integers` and `strings` number the tokens. `edges` maps a node
/// and a token to the next node.
struct GramTree {
  std::unordered_map<std::int64_t, std::int32_t> integers;
  std::unordered_map<std::string, std::int32_t> strings;
  std::unordered_map<std::uint64_t, std::int32_t> edges;
  std::vector<std::int32_t> gram;  ///< for each node, the n-gram that ends at it, or -1
  std::int64_t width = 0;          ///< columns of the output
};

struct TfIdfAttrs {
  std::int64_t max_gram_length = 0;
  std::int64_t max_skip_count = 0;
  std::int64_t min_gram_length = 0;
  std::string mode;
  Ints ngram_counts;
  Ints ngram_indexes;
  Ints pool_int64s = {};
  Strings pool_strings = {};
  Floats weights = {};
  Memo<GramTree> tree = {};
  static constexpr std::array fields{
      required<&TfIdfAttrs::max_gram_length>("max_gram_length", "tokens of the longest n-grams"),
      required<&TfIdfAttrs::max_skip_count>("max_skip_count", "maximum number of tokens between two of an n-gram"),
      required<&TfIdfAttrs::min_gram_length>("min_gram_length", "tokens of the shortest n-grams"),
      required<&TfIdfAttrs::mode>("mode", "TF (counts), IDF (weights) or TFIDF (their products)"),
      required<&TfIdfAttrs::ngram_counts>("ngram_counts", "start of the 1-grams, 2-grams, ... in the pool"),
      required<&TfIdfAttrs::ngram_indexes>("ngram_indexes", "the output column of each n-gram"),
      attr<&TfIdfAttrs::pool_int64s>("pool_int64s", "the n-grams, concatenated"),
      attr<&TfIdfAttrs::pool_strings>("pool_strings", "the same for strings"),
      attr<&TfIdfAttrs::weights>("weights", "of each n-gram; 1 where absent"),
  };
};
inline constexpr ElemSet kTokens = elems::kIndex | elems::kString;
inline constexpr std::array<Port, 1> kTfIdfIn{{{"X", "T", kTokens}}}, kTfIdfOut{{{"Y", "", elems::kF32}}};
Status tf_idf_types(InferCx& cx);
Status tf_idf_run(OpaqueCall& call);
FRAZIL_OP(TfIdfVectorizer, opaque<TfIdfAttrs>({"TfIdfVectorizer", 9, "How often n-grams occur in each row, weighted."},
                                              {kTfIdfIn, kTfIdfOut}, tf_idf_types, tf_idf_run,
                                              "a look-up of sequences of tokens", Opaque::Work::unknown));

}  // namespace frazil::ops
