// Beam search over a small LSTM decoder, for several sentences at the same time. batch() runs each search as ordinary
// code, which computes only unfinished hypotheses, and ends when the best hypothesis is complete. The alternative is a
// graph of one step over all beams, run for the maximum length of a sentence.
//
// The decoder's output is a product of the state with random weights, plus the frequency with which words follow each
// other in a few sentences. This makes the generated sentences readable.
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kHidden = 256;
constexpr std::size_t kBeam = 4, kMaxWords = 24, kSentences = 32;
constexpr std::int64_t kEnd = 0;

const char* const kCorpus =
    "the cat sat on the mat . the dog ran after the cat . a bird sang in the old tree . the old man sat under a tree . "
    "a child ran to the sea . the sea was calm and blue . the bird flew over the blue sea and sang . a dog sat by the "
    "door and slept . the man slept . the child saw a bird in the sky . the sky was blue . cats sleep .";

class Vocabulary {
 public:
  Vocabulary() {
    number_of(".");
    std::istringstream words(kCorpus);
    for (std::string word; words >> word;) text_.push_back(number_of(word));
  }
  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  const std::string& word(std::int64_t number) const { return words_[static_cast<std::size_t>(number)]; }

  /// For each word, the logarithms of the frequencies of its successors. Ends are less frequent, for longer sentences.
  Matrix followers() const {
    Matrix counts(size(), size());
    std::ranges::fill(counts.values, 0.01F);
    for (std::size_t i = 1; i < text_.size(); ++i) counts(text_[i - 1], text_[i]) += 1;
    for (std::int64_t word = 0; word < size(); ++word) {
      for (float& count : counts.row(word)) count = std::log(count);
      counts(word, kEnd) -= 2;
    }
    return counts;
  }

 private:
  std::int64_t number_of(const std::string& word) {
    const auto [at, is_new] = numbers_.try_emplace(word, size());
    if (is_new) words_.push_back(word);
    return at->second;
  }

  std::map<std::string, std::int64_t> numbers_;
  std::vector<std::string> words_;
  std::vector<std::int64_t> text_;
};

struct Weights {
  Weights(const Vocabulary& vocabulary, std::uint64_t seed)
      : random(seed),
        words(Matrix::layer(vocabulary.size(), kHidden, random)),
        followers(vocabulary.followers()),
        out(Matrix::layer(kHidden, vocabulary.size(), random)) {
    for (float& value : starts.values) value = random.around_zero(1);
    for (float& value : out.values) value *= 4;
  }
  Random random;
  Matrix words, followers, out;
  Matrix starts{kSentences, kHidden};  ///< the initial state of each sentence
  Matrix input = Matrix::layer(kHidden, 4 * kHidden, random), recurrent = Matrix::layer(kHidden, 4 * kHidden, random);
};

struct Hypothesis {
  std::vector<std::int64_t> words{kEnd};  // the word before the first one
  float score = 0;                        // the logarithm of its probability
  std::size_t from = 0;                   // the position in the beam that it continues
  bool ended = false;
};
using Beam = std::vector<Hypothesis>;

/// Returns the best continuations. `chances(i)` returns the log probabilities of hypothesis i, which has not ended.
template <class Chances>
Beam grow(const Beam& beam, const Chances& chances) {
  Beam next;
  for (std::size_t i = 0; i < beam.size(); ++i) {
    if (beam[i].ended) {
      next.push_back(beam[i]);
      next.back().from = i;
      continue;
    }
    const std::span<const float> all = chances(i);
    for (std::size_t word = 0; word < all.size(); ++word) {
      Hypothesis& longer = next.emplace_back(beam[i]);
      longer.words.push_back(static_cast<std::int64_t>(word));
      longer.score += all[word];
      longer.from = i;
      longer.ended = word == kEnd;
    }
  }
  const std::size_t kept = std::min(kBeam, next.size());
  std::ranges::partial_sort(next, next.begin() + static_cast<std::ptrdiff_t>(kept), std::greater<>(),
                            &Hypothesis::score);
  next.resize(kept);
  return next;
}

/// Returns the best hypothesis: the number of its words, the words, and its score.
void append_best(std::vector<float>& results, const Beam& beam) {
  results.push_back(static_cast<float>(beam[0].words.size()));
  results.insert(results.end(), beam[0].words.begin(), beam[0].words.end());
  results.push_back(beam[0].score);
}

auto step_function(const Weights& weights) {
  return frazil::function(
      "step", [input = frazil::parameter(weights.input.array()),
               recurrent = frazil::parameter(weights.recurrent.array()), out = frazil::parameter(weights.out.array())](
                  const LazyArray& h, const LazyArray& c, const LazyArray& word, const LazyArray& followers) {
        const auto gates = split(matmul(word, input) + matmul(h, recurrent), 4);
        const LazyArray next = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
        const LazyArray state = sigmoid(gates[3]) * tanh(next);
        return std::array{state, next, log(softmax(matmul(state, out) + followers))};
      });
}

class Searches {
 public:
  explicit Searches(const Weights& weights)
      : step_(step_function(weights)),
        words_(frazil::parameter(weights.words.array())),
        followers_(frazil::parameter(weights.followers.array())),
        starts_(frazil::parameter(weights.starts.array())) {}

  std::vector<Beam> run(std::uint64_t& steps) const {
    std::vector<std::int64_t> sentences(kSentences);
    std::iota(sentences.begin(), sentences.end(), 0);
    return frazil::batch(sentences, [&](std::int64_t sentence) { return search(sentence, steps); });
  }

 private:
  struct State {
    LazyArray h, c;
  };

  /// Scores never increase, so the best hypothesis is final once it has ended.
  Beam search(std::int64_t sentence, std::uint64_t& steps) const {
    Beam beam(1);
    std::vector<State> states{{starts_[sentence], Array(Dtype::f32, {kHidden})}};
    while (!beam[0].ended && beam[0].words.size() <= kMaxWords) {
      frazil::Arrays chances;
      std::vector<std::size_t> places(beam.size());
      std::vector<State> after(states);
      for (std::size_t i = 0; i < beam.size(); ++i) {
        if (beam[i].ended) continue;
        const std::int64_t word = beam[i].words.back();
        const auto [h, c, logs] = step_(states[i].h, states[i].c, words_[word], followers_[word]);
        after[i] = {h, c};
        places[i] = chances.size();
        chances.push_back(logs);
      }
      steps += chances.size();
      const Array read = frazil::stack(chances).value();
      const std::size_t count = read.values<float>().size() / chances.size();
      beam = grow(beam, [&](std::size_t i) { return read.values<float>().subspan(places[i] * count, count); });
      states.clear();
      for (const Hypothesis& each : beam) states.push_back(after[each.from]);
    }
    return beam;
  }

  decltype(step_function(std::declval<Weights>())) step_;
  LazyArray words_, followers_, starts_;
};

/// A step of all hypotheses of all sentences, including those that have ended.
class Padded {
 public:
  explicit Padded(const Weights& weights) : starts_(weights.starts) {
    frazil::GraphBuilder graph("step");
    const auto constant = [&](const Matrix& matrix) { return graph.constant(matrix.array()); };
    const Term from = graph.input("from", Dtype::i64, {"N"}), words = graph.input("words", Dtype::i64, {"N"});
    const Term h = graph.op("Gather", {graph.input("h", Dtype::f32, {"N", kHidden}), from});
    const Term c = graph.op("Gather", {graph.input("c", Dtype::f32, {"N", kHidden}), from});
    const Term word = graph.op("Gather", {constant(weights.words), words});
    const Term sums = graph.op("Add", {graph.op("MatMul", {word, constant(weights.input)}),
                                       graph.op("MatMul", {h, constant(weights.recurrent)})});
    const auto gates = graph.ops("Split", {sums}, {{"axis", 1}, {"num_outputs", 4}}, 4);
    const auto gate = [&](std::size_t k) { return graph.op("Sigmoid", {gates[k]}); };
    const Term kept = graph.op("Mul", {gate(1), c});
    const Term next = graph.op("Add", {kept, graph.op("Mul", {gate(0), graph.op("Tanh", {gates[2]})})});
    const Term state = graph.op("Mul", {gate(3), graph.op("Tanh", {next})});
    const Term followers = graph.op("Gather", {constant(weights.followers), words});
    const Term chances = graph.op("Add", {graph.op("MatMul", {state, constant(weights.out)}), followers});
    graph.output("h_next", state);
    graph.output("c_next", next);
    graph.output("logs", graph.op("Log", {graph.op("Softmax", {chances}, {{"axis", -1}})}));
    session_.emplace(graph.build().open());
  }

  std::vector<Beam> run(std::uint64_t& steps) {
    constexpr auto kRows = static_cast<std::int64_t>(kSentences * kBeam);
    std::vector<Beam> beams(kSentences, Beam(1));
    Array h(Dtype::f32, {kRows, kHidden}), c(Dtype::f32, {kRows, kHidden});
    for (std::size_t i = 0; i < kSentences; ++i) {
      const auto start = starts_.row(static_cast<std::int64_t>(i));
      std::ranges::copy(start, h.mutable_values<float>().subspan(i * kBeam * kHidden).begin());
    }
    for (std::size_t t = 0; t < kMaxWords; ++t) {
      Array from(Dtype::i64, {kRows}), words(Dtype::i64, {kRows});
      for (std::size_t row = 0; row < kSentences * kBeam; ++row) {
        const std::size_t first = row / kBeam * kBeam;
        const Beam& beam = beams[row / kBeam];
        const Hypothesis& hypothesis = beam[std::min(row - first, beam.size() - 1)];
        from.mutable_values<std::int64_t>()[row] = static_cast<std::int64_t>(first + hypothesis.from);
        words.mutable_values<std::int64_t>()[row] = hypothesis.words.back();
      }
      const std::array inputs{from, words, h, c};
      frazil::Results results = session_->run(inputs);
      h = results.take(0);
      c = results.take(1);
      grow_all(beams, results[2]);
      steps += kRows;
    }
    return beams;
  }

 private:
  static void grow_all(std::vector<Beam>& beams, const Array& logs) {
    const auto all = logs.values<float>();
    const std::size_t count = all.size() / (kSentences * kBeam);
    for (std::size_t i = 0; i < kSentences; ++i) {
      beams[i] = grow(beams[i], [&](std::size_t k) { return all.subspan((i * kBeam + k) * count, count); });
    }
  }

  Matrix starts_;
  std::optional<frazil::Session> session_;
};

template <class Decoder>
Outcome decode(Decoder& decoder) {
  Outcome outcome;
  for (const Beam& beam : decoder.run(outcome.work)) append_best(outcome.results, beam);
  return outcome;
}

void beam_search() {
  const Vocabulary vocabulary;
  const Weights weights(vocabulary, 6);
  const Searches searches(weights);
  Padded padded(weights);
  std::uint64_t steps = 0;
  const std::vector<Beam> beams = searches.run(steps);
  for (std::size_t i = 0; i < 4; ++i) {
    std::printf("%6.2f ", static_cast<double>(beams[i][0].score));
    for (const std::int64_t word : std::span(beams[i][0].words).subspan(1)) {
      std::printf(" %s", vocabulary.word(word).c_str());
    }
    std::printf("\n");
  }
  std::printf("and %zu more sentences\n", kSentences - 4);
  side_by_side("beam_search", "decoder steps", {"batch()", [&] { return decode(searches); }},
               {"fixed length", [&] { return decode(padded); }});
}

}  // namespace

int main() { return lazy_examples::run_example("beam_search", beam_search); }
