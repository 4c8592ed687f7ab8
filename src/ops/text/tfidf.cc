#include "ops/text/tfidf.h"

#include <algorithm>

#include "base/thread/poll_throttle.h"
#include "base/value/text.h"

namespace frazil::ops {
namespace {

/// A builder of the tree. Edges from node 0 lead to the 1-grams.
class TreeMaker {
 public:
  explicit TreeMaker(const TfIdfAttrs& a) : a_(a) {}

  Result<GramTree> make() {
    FRAZIL_CHECK(check());
    tree_.gram.push_back(-1);
    const std::size_t pool = std::max(a_.pool_int64s.size(), a_.pool_strings.size());
    std::size_t gram = 0;
    for (std::size_t i = 0; i < a_.ngram_counts.size(); ++i) {
      const auto from = static_cast<std::size_t>(a_.ngram_counts[i]);
      const std::size_t to = i + 1 < a_.ngram_counts.size() ? static_cast<std::size_t>(a_.ngram_counts[i + 1]) : pool;
      const std::size_t length = i + 1;
      if ((to - from) % length != 0) {
        return fail(Code::bad_model, "the pool has {} tokens of {}-grams", to - from, length);
      }
      for (std::size_t at = from; at < to; at += length) FRAZIL_CHECK(add(at, length, gram++));
    }
    if (gram != a_.ngram_indexes.size()) {
      return fail(Code::bad_model, "ngram_indexes has {} entries for {} n-grams", a_.ngram_indexes.size(), gram);
    }
    return std::move(tree_);
  }

 private:
  Status check() {
    if (a_.mode != "TF" && a_.mode != "IDF" && a_.mode != "TFIDF") {
      return fail(Code::bad_model, "mode '{}' is not one of TF, IDF, TFIDF", printable(a_.mode));
    }
    if (a_.min_gram_length < 1) return fail(Code::bad_model, "min_gram_length {} is not positive", a_.min_gram_length);
    if (a_.max_gram_length < a_.min_gram_length) {
      return fail(Code::bad_model, "max_gram_length {} is less than min_gram_length {}", a_.max_gram_length,
                  a_.min_gram_length);
    }
    if (a_.max_skip_count < 0) return fail(Code::bad_model, "max_skip_count {} is negative", a_.max_skip_count);
    if (a_.pool_int64s.empty() == a_.pool_strings.empty()) {
      return fail(Code::bad_model, "one of pool_int64s and pool_strings must be given");
    }
    if (!a_.weights.empty() && a_.weights.size() != a_.ngram_indexes.size()) {
      return fail(Code::bad_model, "weights has {} entries, ngram_indexes {}", a_.weights.size(),
                  a_.ngram_indexes.size());
    }
    FRAZIL_CHECK(check_counts());
    return check_indexes();
  }

  Status check_counts() const {
    const auto pool = static_cast<std::int64_t>(std::max(a_.pool_int64s.size(), a_.pool_strings.size()));
    std::int64_t low = 0;
    for (std::size_t i = 0; i < a_.ngram_counts.size(); ++i) {
      const std::int64_t at = a_.ngram_counts[i];
      if (at < low || at > pool) {
        return fail(Code::bad_model, "ngram_counts[{}] = {} is outside [{}, {}]", i, at, low, pool);
      }
      low = at;
    }
    return {};
  }

  Status check_indexes() {
    constexpr std::int64_t kMaximum = std::int64_t{1} << 31;
    for (std::size_t i = 0; i < a_.ngram_indexes.size(); ++i) {
      const std::int64_t at = a_.ngram_indexes[i];
      if (at < 0 || at >= kMaximum) {
        return fail(Code::bad_model, "ngram_indexes[{}] = {} is outside [0, {})", i, at, kMaximum);
      }
      tree_.width = std::max(tree_.width, at + 1);
    }
    return {};
  }

  std::int32_t token(std::size_t at) {
    const auto next = static_cast<std::int32_t>(tree_.integers.size() + tree_.strings.size());
    if (a_.pool_strings.empty()) return tree_.integers.try_emplace(a_.pool_int64s[at], next).first->second;
    return tree_.strings.try_emplace(a_.pool_strings[at], next).first->second;
  }

  /// Adds the n-gram of `length` tokens that starts at `at` in the pool.
  Status add(std::size_t at, std::size_t length, std::size_t gram) {
    if (length > static_cast<std::size_t>(a_.max_gram_length)) return {};
    std::int32_t node = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto next = static_cast<std::int32_t>(tree_.gram.size());
      const auto [edge, fresh] = tree_.edges.try_emplace(edge_key(node, token(at + i)), next);
      if (fresh) tree_.gram.push_back(-1);
      node = edge->second;
    }
    std::int32_t& here = tree_.gram[static_cast<std::size_t>(node)];
    if (here >= 0) return fail(Code::bad_model, "n-grams {} and {} of the pool are the same", here, gram);
    here = static_cast<std::int32_t>(gram);
    return {};
  }

 public:
  static std::uint64_t edge_key(std::int32_t node, std::int32_t token) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(token);
  }

 private:
  const TfIdfAttrs& a_;
  GramTree tree_;
};

Result<std::shared_ptr<const GramTree>> tree_of(const TfIdfAttrs& a) {
  return a.tree.get([&] { return TreeMaker(a).make(); });
}

/// Writes the numbers of the tokens in row-major order, and -1 for a token in no n-gram.
void number_tokens(const TensorView& x, const GramTree& tree, std::int32_t* tokens) {
  const auto find = [](const auto& map, const auto& key) {
    const auto at = map.find(key);
    return at == map.end() ? -1 : at->second;
  };
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count() && !throttle.stop(8); ++i) {
    tokens[i] = x.elem == Elem::string ? find(tree.strings, x.as<std::string>()[static_cast<std::size_t>(i)])
                                       : find(tree.integers, x.integer(i));
  }
}

/// Calls found(n-gram) for each n-gram in the row. Returns false if the run must stop.
template <class F>
bool each_gram(const GramTree& tree, const TfIdfAttrs& a, std::span<const std::int32_t> row, PollThrottle& throttle,
               F found) {
  const auto size = static_cast<std::int64_t>(row.size());
  // A skip longer than the row leaves only 1-grams, which are counted once.
  const std::int64_t furthest = std::min(a.max_skip_count, size) + 1;
  for (std::int64_t step = 1; step <= furthest; ++step) {
    const std::int64_t shortest = step == 1 ? a.min_gram_length : std::max<std::int64_t>(a.min_gram_length, 2);
    for (std::int64_t start = 0; start < size; ++start) {
      std::int32_t node = 0;
      std::int64_t length = 1;
      for (std::int64_t at = start; at < size && length <= a.max_gram_length; at += step, ++length) {
        const std::int32_t token = row[static_cast<std::size_t>(at)];
        const auto edge = token < 0 ? tree.edges.end() : tree.edges.find(TreeMaker::edge_key(node, token));
        if (edge == tree.edges.end()) break;
        node = edge->second;
        const std::int32_t gram = tree.gram[static_cast<std::size_t>(node)];
        if (gram >= 0 && length >= shortest) found(static_cast<std::size_t>(gram));
      }
      if (throttle.stop(8 * length)) return false;
    }
  }
  return true;
}

}  // namespace

Status tf_idf_types(InferCx& cx) {
  const auto& a = cx.attrs<TfIdfAttrs>();
  const auto tree = tree_of(a);
  if (!tree) return cx.error("{}", tree.error().text());
  if (a.pool_strings.empty() == (cx.elem(0) == Elem::string)) {
    return cx.error("input 'X' is {}, the pool holds {}", cx.type_str(0),
                    a.pool_strings.empty() ? "integers" : "strings");
  }
  if (cx.rank(0) != 1 && cx.rank(0) != 2) return cx.error("input 'X' must be [C] or [N, C], got {}", cx.type_str(0));
  Shape shape = cx.shape(0);
  shape.back() = (*tree)->width;
  cx.out(0, Type::tensor(Elem::f32, std::move(shape)));
  return {};
}

Status tf_idf_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<TfIdfAttrs>();
  FRAZIL_TRY(const auto tree, tree_of(a));
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes.back() = tree->width;
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  if (element_count(sizes) == 0) return {};
  const std::size_t columns = static_cast<std::size_t>(x.sizes.back()), grams = a.ngram_indexes.size();
  const auto all = static_cast<std::size_t>(x.count());
  FRAZIL_TRY(std::byte * scratch, call.scratch(grams * sizeof(std::int64_t) + all * sizeof(std::int32_t)));
  auto* const counts = reinterpret_cast<std::int64_t*>(scratch);
  auto* const tokens = reinterpret_cast<std::int32_t*>(counts + grams);
  number_tokens(x, *tree, tokens);
  PollThrottle throttle;
  auto* row = reinterpret_cast<float*>(out);
  const std::int64_t rows = x.rank() == 2 ? x.sizes[0] : 1;
  for (std::int64_t r = 0; r < rows; ++r, row += tree->width) {
    std::fill_n(counts, grams, 0);
    std::fill_n(row, tree->width, 0.0f);
    if (throttle.stop(tree->width + static_cast<std::int64_t>(grams))) return {};
    const std::span tokens_here(tokens + static_cast<std::size_t>(r) * columns, columns);
    if (!each_gram(*tree, a, tokens_here, throttle, [&](std::size_t gram) { ++counts[gram]; })) return {};
    for (std::size_t g = 0; g < grams; ++g) {
      if (counts[g] == 0) continue;
      const double weight = a.mode == "TF" || a.weights.empty() ? 1 : a.weights[g];
      const double times = a.mode == "IDF" ? 1 : static_cast<double>(counts[g]);
      row[a.ngram_indexes[g]] += static_cast<float>(times * weight);
    }
  }
  return {};
}

}  // namespace frazil::ops
