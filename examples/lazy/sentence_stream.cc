// A stream of sentences of 3 to 60 words, processed one after the other by a layer of self-attention. Recorded
// operators are compiled once for all lengths, because extents are symbols. The alternative is a graph for each bucket
// of eight lengths, with padded sentences.
//
// A few words determine the topic of a sentence and attend to each other. The other words and the weights are random.
#include <array>
#include <map>
#include <optional>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kSize = 128, kWords = 2000, kTopics = 6, kShortest = 3, kMaxLength = 60, kBucket = 8;
constexpr int kSentences = 300;
const float kScale = 1 / std::sqrt(static_cast<float>(kSize));

struct Weights {
  explicit Weights(std::uint64_t seed) : random(seed) {
    for (std::int64_t word = 0; word < kWords; ++word) {
      const bool tells = word < kTopics;
      for (std::int64_t k = 0; k < kSize; ++k) {
        words(word, k) = tells ? 2 * topics(k, word) * std::sqrt(static_cast<float>(kSize)) : random.around_zero(0.5F);
      }
    }
    for (Matrix* matrix : {&query, &key, &value}) {
      for (std::int64_t k = 0; k < kSize; ++k) (*matrix)(k, k) += 1;
    }
  }
  Random random;
  Matrix topics = Matrix::layer(kSize, kTopics, random), words{kWords, kSize};  ///< word i < kTopics stands for topic i
  Matrix query = Matrix::layer(kSize, kSize, random), key = query, value = Matrix::layer(kSize, kSize, random);
};

using Sentence = std::vector<std::int32_t>;  // short arrays of i64 would be treated as constants

std::vector<Sentence> stream(Random& random, Sentence& topics) {
  std::vector<Sentence> all(kSentences);
  for (Sentence& sentence : all) {
    sentence.resize(static_cast<std::size_t>(kShortest + random.below(kMaxLength - kShortest + 1)));
    for (std::int32_t& word : sentence) word = static_cast<std::int32_t>(kTopics + random.below(kWords - kTopics));
    topics.push_back(static_cast<std::int32_t>(random.below(kTopics)));
    for (std::size_t i = 0; i < sentence.size(); i += 8) sentence[i] = topics.back();
  }
  return all;
}

class AnyLength {
 public:
  explicit AnyLength(const Weights& weights)
      : words_(frazil::parameter(weights.words.array())),
        query_(frazil::parameter(weights.query.array())),
        key_(frazil::parameter(weights.key.array())),
        value_(frazil::parameter(weights.value.array())),
        topics_(frazil::parameter(weights.topics.array())) {}

  LazyArray operator()(const Sentence& sentence) const {
    const LazyArray x = take(words_, LazyArray(Array::of<std::int32_t>({static_cast<std::int64_t>(sentence.size())},
                                                                       std::span<const std::int32_t>(sentence))));
    const LazyArray scores = softmax(matmul(matmul(x, query_), transpose(matmul(x, key_))) * kScale);
    const LazyArray attended = gelu(x + matmul(scores, matmul(x, value_)));
    return matmul(mean(attended, {0}), topics_);
  }

 private:
  LazyArray words_, query_, key_, value_, topics_;
};

/// Returns a graph for sentences of up to `length` words.
frazil::Model bucket(const Weights& weights, std::int64_t length) {
  frazil::GraphBuilder graph("bucket");
  const auto constant = [&](const Matrix& matrix) { return graph.constant(matrix.array()); };
  const Term x = graph.op("Gather", {constant(weights.words), graph.input("sentence", Dtype::i32, {length})});
  const Term counts = graph.input("counts", Dtype::f32, {length});
  const Term keys = graph.op("Transpose", {graph.op("MatMul", {x, constant(weights.key)})});
  const Term products = graph.op("MatMul", {graph.op("MatMul", {x, constant(weights.query)}), keys});
  const Term masked = graph.op("Where", {graph.op("Greater", {counts, graph.scalar(0.F)}),
                                         graph.op("Mul", {products, graph.scalar(kScale)}), graph.scalar(-1e9F)});
  const Term scores = graph.op("Softmax", {masked}, {{"axis", -1}});
  const Term values = graph.op("MatMul", {scores, graph.op("MatMul", {x, constant(weights.value)})});
  const Term attended = graph.op("Gelu", {graph.op("Add", {x, values})});
  const Term total = graph.op("MatMul", {counts, attended});
  const Term words = graph.op("ReduceSum", {counts}, {{"keepdims", 1}});
  graph.output("topics", graph.op("MatMul", {graph.op("Div", {total, words}), constant(weights.topics)}));
  return graph.build();
}

class Buckets {
 public:
  explicit Buckets(const Weights& weights) : weights_(weights) {}

  Array run(const Sentence& sentence) {
    const auto words = static_cast<std::int64_t>(sentence.size());
    const std::int64_t length = (words + kBucket - 1) / kBucket * kBucket;
    auto at = sessions_.find(length);
    if (at == sessions_.end()) at = sessions_.emplace(length, bucket(weights_, length).open()).first;
    Array ids(Dtype::i32, {length}), counts(Dtype::f32, {length});
    std::ranges::copy(sentence, ids.mutable_values<std::int32_t>().begin());
    std::ranges::fill(counts.mutable_values<float>().first(sentence.size()), 1.F);
    const std::array inputs{ids, counts};
    return at->second.run(inputs).take(0);
  }
  std::uint64_t programs() const { return sessions_.size(); }

 private:
  const Weights& weights_;
  std::map<std::int64_t, frazil::Session> sessions_;
};

void sentence_stream() {
  Weights weights(4);
  Sentence topics;
  const std::vector<Sentence> sentences = stream(weights.random, topics);
  const AnyLength classify(weights);
  Buckets buckets(weights);
  const auto recorded = [&] {
    Outcome outcome;
    for (const Sentence& sentence : sentences) append(outcome.results, classify(sentence).value());
    outcome.work = frazil::program_counts().made;
    return outcome;
  };
  const auto padded = [&] {
    Outcome outcome;
    for (const Sentence& sentence : sentences) append(outcome.results, buckets.run(sentence));
    outcome.work = buckets.programs();
    return outcome;
  };

  const double first_recorded = milliseconds(recorded), first_padded = milliseconds(padded);
  const Outcome outcome = recorded();
  int right = 0;
  for (std::size_t i = 0; i < topics.size(); ++i) {
    const auto scores = std::span(outcome.results).subspan(i * kTopics, kTopics);
    if (std::ranges::max_element(scores) - scores.begin() == topics[i]) ++right;
  }
  std::printf("the topics of %d of %d sentences are right\n", right, kSentences);
  std::printf("all sentences for the first time: %.2f ms, and %.2f ms\n", first_recorded, first_padded);
  side_by_side("sentence_stream", "programs made", {"any length", recorded}, {"buckets", padded});
}

}  // namespace

int main() { return lazy_examples::run_example("sentence_stream", sentence_stream); }
