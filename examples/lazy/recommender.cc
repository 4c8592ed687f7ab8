// Recommends items to users by attention over their histories of 1 to 100 items. batch() runs ordinary code on each
// history at its actual length. The alternative is a graph over histories that are padded to 100.
//
// Each item has a genre: its vector is the genre's direction plus noise. Most items of a user's history have one genre,
// so recommendations should have it, too.
#include <array>
#include <optional>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kSize = 128, kItems = 500, kGenres = 10, kUsers = 256, kMaxLength = 100;
const float kScale = 1 / std::sqrt(static_cast<float>(kSize));

struct User {
  std::int64_t genre = 0;
  std::vector<std::int32_t> history;  // oldest item first; short arrays of i64 would be treated as constants
};

struct Catalogue {
  explicit Catalogue(std::uint64_t seed) : random(seed) {
    Matrix genres(kGenres, kSize);
    for (float& value : genres.values) value = random.around_zero(1);
    for (std::int64_t item = 0; item < kItems; ++item) {
      for (std::int64_t k = 0; k < kSize; ++k) {
        items(item, k) = genres(item % kGenres, k) + random.around_zero(0.7F);
        items_by_size(k, item) = items(item, k);
      }
    }
    for (std::int64_t k = 0; k < kSize; ++k) {
      keys(k, k) += 1;
      values(k, k) += 1;
    }
  }
  Random random;
  Matrix items{kItems, kSize}, items_by_size{kSize, kItems};  ///< item i is of genre i % kGenres
  Matrix keys = Matrix::layer(kSize, kSize, random), values = Matrix::layer(kSize, kSize, random);
};

/// Returns users; most histories are short.
std::vector<User> users(Random& random) {
  std::vector<User> all(kUsers);
  for (User& user : all) {
    user.genre = random.below(kGenres);
    const float share = random.uniform();
    const auto length = 1 + static_cast<std::int64_t>(share * share * share * kMaxLength);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t genre = random.uniform() < 0.8F || i + 1 == length ? user.genre : random.below(kGenres);
      user.history.push_back(static_cast<std::int32_t>(random.below(kItems / kGenres) * kGenres + genre));
    }
  }
  return all;
}

class OwnHistory {
 public:
  explicit OwnHistory(const Catalogue& catalogue)
      : items_(frazil::parameter(catalogue.items.array())),
        items_by_size_(frazil::parameter(catalogue.items_by_size.array())),
        keys_(frazil::parameter(catalogue.keys.array())),
        values_(frazil::parameter(catalogue.values.array())) {}

  Outcome run(const std::vector<User>& all) const {
    const auto scores = frazil::batch(all, [&](const User& user) { return score(user); });
    Outcome outcome;
    for (const LazyArray& each : scores) append(outcome.results, each.value());
    for (const User& user : all) outcome.work += user.history.size();
    return outcome;
  }

 private:
  LazyArray score(const User& user) const {
    const frazil::Sizes length{static_cast<std::int64_t>(user.history.size())};
    const LazyArray history =
                        take(items_,
                             LazyArray(Array::of<std::int32_t>(length, std::span<const std::int32_t>(user.history)))),
                    last = items_[user.history.back()];
    const LazyArray weights = softmax(matmul(matmul(history, keys_), last) * kScale);
    return matmul(matmul(weights, matmul(history, values_)), items_by_size_);
  }

  LazyArray items_, items_by_size_, keys_, values_;
};

/// The same over histories of 100 items; items after `length` are ignored.
class Padded {
 public:
  explicit Padded(const Catalogue& catalogue) {
    frazil::GraphBuilder graph("padded");
    const auto constant = [&](const Matrix& matrix) { return graph.constant(matrix.array()); };
    const auto axis = [&](std::int64_t number) { return graph.constant(Array::of<std::int64_t>({1}, {number})); };
    const Term ids = graph.input("ids", Dtype::i32, {"N", kMaxLength});
    const Term last = graph.input("last", Dtype::i32, {"N"});
    const Term counts = graph.input("counts", Dtype::boolean, {"N", kMaxLength});
    const Term items = constant(catalogue.items);
    const Term history = graph.op("Gather", {items, ids});
    const Term query = graph.op("Unsqueeze", {graph.op("Gather", {items, last}), axis(2)});
    const Term products = graph.op("MatMul", {graph.op("MatMul", {history, constant(catalogue.keys)}), query});
    const Term scores = graph.op("Mul", {graph.op("Squeeze", {products, axis(2)}), graph.scalar(kScale)});
    const Term weights =
        graph.op("Softmax", {graph.op("Where", {counts, scores, graph.scalar(-1e9F)})}, {{"axis", -1}});
    const Term values = graph.op("MatMul", {history, constant(catalogue.values)});
    const Term taste = graph.op("MatMul", {graph.op("Unsqueeze", {weights, axis(1)}), values});
    graph.output("scores",
                 graph.op("MatMul", {graph.op("Squeeze", {taste, axis(1)}), constant(catalogue.items_by_size)}));
    session_.emplace(graph.build().open());
  }

  Outcome run(const std::vector<User>& all) {
    const auto count = static_cast<std::int64_t>(all.size());
    Array ids(Dtype::i32, {count, kMaxLength}), last(Dtype::i32, {count}), counts(Dtype::boolean, {count, kMaxLength});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t row = i * kMaxLength;
      std::ranges::copy(all[i].history, ids.mutable_values<std::int32_t>().subspan(row).begin());
      std::ranges::fill(counts.mutable_values<bool>().subspan(row, all[i].history.size()), true);
      last.mutable_values<std::int32_t>()[i] = all[i].history.back();
    }
    const std::array inputs{ids, last, counts};
    Outcome outcome{{}, static_cast<std::uint64_t>(count * kMaxLength)};
    append(outcome.results, session_->run(inputs)[0]);
    return outcome;
  }

 private:
  std::optional<frazil::Session> session_;
};

void recommender() {
  Catalogue catalogue(9);
  const std::vector<User> all = users(catalogue.random);
  const OwnHistory own(catalogue);
  Padded padded(catalogue);

  const Outcome outcome = own.run(all);
  int right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto scores = std::span(outcome.results).subspan(i * kItems, kItems);
    const std::ptrdiff_t best = std::ranges::max_element(scores) - scores.begin();
    if (best % kGenres == all[i].genre) ++right;
  }
  std::printf("%d of %lld users are recommended an item of their genre\n", right, static_cast<long long>(kUsers));
  side_by_side("recommender", "items", {"batch()", [&] { return own.run(all); }},
               {"padded to 100", [&] { return padded.run(all); }});
}

}  // namespace

int main() { return lazy_examples::run_example("recommender", recommender); }
