// A network that stops at the first layer with a confident answer. It is an associative memory of ten patterns, whose
// inputs are noisy pictures of them; each layer removes some of the noise. batch() runs ordinary code that stops when
// the answer is confident. The alternative is a graph of all layers, which selects the first confident answer.
#include <array>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kPixels = 512, kClasses = 10, kPictures = 256;
constexpr int kLayers = 16;
constexpr float kSure = 0.98F;

struct Memory {
  explicit Memory(std::uint64_t seed) {
    Random random(seed);
    for (float& pixel : patterns.values) pixel = random.uniform() < 0.5F ? -1.F : 1.F;
    for (std::int64_t i = 0; i < kPixels; ++i) {
      for (std::int64_t j = 0; j < kPixels; ++j) {
        for (std::int64_t k = 0; k < kClasses; ++k) layer(i, j) += 3.F * patterns(k, i) * patterns(k, j) / kPixels;
      }
      for (std::int64_t k = 0; k < kClasses; ++k) head(i, k) = 10.F * patterns(k, i) / kPixels;
    }
  }
  Matrix patterns{kClasses, kPixels}, layer{kPixels, kPixels}, head{kPixels, kClasses};
};

/// Returns pictures of the patterns in turn; up to nine tenths of their pixels are noise.
Matrix noisy_pictures(const Memory& memory) {
  Random random(3);
  Matrix pictures(kPictures, kPixels);
  Matrix patterns = memory.patterns;
  for (std::int64_t i = 0; i < kPictures; ++i) {
    const float noise = 0.9F * random.uniform();
    for (std::int64_t k = 0; k < kPixels; ++k) {
      pictures(i, k) = random.uniform() < noise ? random.around_zero(1) : patterns(i % kClasses, k);
    }
  }
  return pictures;
}

class UntilSure {
 public:
  explicit UntilSure(const Memory& memory)
      : layer_(frazil::parameter(memory.layer.array())), head_(frazil::parameter(memory.head.array())) {}

  Outcome run(const std::vector<Array>& pictures) {
    depths.assign(kLayers + 1, 0);
    const auto answers = frazil::batch(pictures, [&](const Array& picture) { return classify(picture); });
    Outcome outcome;
    for (const LazyArray& answer : answers) append(outcome.results, answer.value());
    for (std::size_t depth = 1; depth < depths.size(); ++depth) outcome.work += depth * depths[depth];
    return outcome;
  }

  std::vector<std::uint64_t> depths;  ///< number of pictures that left, by number of layers

 private:
  LazyArray classify(LazyArray x) {
    for (std::size_t depth = 1;; ++depth) {
      x = x * 0.7F + tanh(matmul(x, layer_)) * 0.3F;
      const LazyArray answer = softmax(matmul(x, head_));
      if (depth == kLayers || max(answer).item<float>() > kSure) {
        ++depths[depth];
        return answer;
      }
    }
  }

  LazyArray layer_, head_;
};

frazil::Model all_layers(const Memory& memory) {
  frazil::GraphBuilder graph("all_layers");
  Term x = graph.input("pictures", Dtype::f32, {"N", kPixels});
  const Term layer = graph.constant(memory.layer.array()), head = graph.constant(memory.head.array());
  Term answer, sure;
  for (int depth = 1; depth <= kLayers; ++depth) {
    const Term cleaned = graph.op("Tanh", {graph.op("MatMul", {x, layer})});
    x = graph.op("Add", {graph.op("Mul", {x, graph.scalar(0.7F)}), graph.op("Mul", {cleaned, graph.scalar(0.3F)})});
    const Term here = graph.op("Softmax", {graph.op("MatMul", {x, head})}, {{"axis", -1}});
    answer = sure ? graph.op("Where", {sure, answer, here}) : here;
    const Term largest = graph.op("ReduceMax", {answer, graph.constant(Array::of<std::int64_t>({1}, {1}))});
    sure = graph.op("Greater", {largest, graph.scalar(kSure)});
  }
  graph.output("answers", answer);
  return graph.build();
}

void early_exit() {
  const Memory memory(1);
  Matrix pictures = noisy_pictures(memory);
  std::vector<Array> each;
  for (std::int64_t i = 0; i < kPictures; ++i) each.push_back(vector_of(pictures.row(i)));
  UntilSure ordinary(memory);
  auto session = all_layers(memory).open();
  const std::array inputs{pictures.array()};

  const Outcome outcome = ordinary.run(each);
  int right = 0;
  for (std::int64_t i = 0; i < kPictures; ++i) {
    const auto answer = std::span(outcome.results).subspan(static_cast<std::size_t>(i * kClasses), kClasses);
    if (std::ranges::max_element(answer) - answer.begin() == i % kClasses) ++right;
  }
  std::printf("%d of %lld pictures are recognized; pictures by the layers they took:", right,
              static_cast<long long>(kPictures));
  for (std::size_t depth = 1; depth <= kLayers; ++depth) {
    std::printf(" %llu", static_cast<unsigned long long>(ordinary.depths[depth]));
  }
  std::printf("\n");
  side_by_side("early_exit", "layers", {"batch()", [&] { return ordinary.run(each); }},
               {"all layers", [&] {
                  Outcome all{{}, kLayers * static_cast<std::uint64_t>(kPictures)};
                  append(all.results, session.run(inputs)[0]);
                  return all;
                }});
}

}  // namespace

int main() { return lazy_examples::run_example("early_exit", early_exit); }
