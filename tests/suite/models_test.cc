#include <array>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "suite/onnx_cases.h"
#include "suite/tiers.h"
#include "tensor/npy.h"

// Real models outside the repository; the tests are skipped without them.
namespace frazil::test {
namespace {

namespace fs = std::filesystem;

Graph imported(const fs::path& path) {
  link_operators();
  auto graph = import_onnx(path.string());
  EXPECT_TRUE(graph) << graph.error().text();
  return graph ? std::move(*graph) : Graph();
}

Tensor array(const fs::path& path) {
  auto tensor = read_npy(path.string());
  EXPECT_TRUE(tensor) << tensor.error().text();
  return tensor ? *tensor : Tensor();
}

/// The samples of a mono WAV file of 16-bit PCM, from -1 to 1.
std::vector<float> samples(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> all;
  std::size_t at = bytes.find("data");
  EXPECT_NE(at, bytes.npos) << path << " has no data";
  if (at == bytes.npos) return all;
  for (at += 8; at + 1 < bytes.size(); at += 2) {
    std::int16_t sample;
    std::memcpy(&sample, bytes.data() + at, sizeof sample);
    all.push_back(static_cast<float>(sample) / 32768.0f);
  }
  return all;
}

/// silero_vad in chunks, each preceded by the last samples of the previous one.
class Speech {
 public:
  Speech(const fs::path& model, std::int64_t rate) : graph_(imported(model)), tier_(graph_), rate_(rate) {}
  explicit operator bool() const { return static_cast<bool>(tier_); }
  std::size_t chunk() const { return rate_ == 16000 ? 512 : 256; }

  Result<float> probability(std::span<const float> samples) {
    Tensor window = Tensor::make(Elem::f32, {1, static_cast<std::int64_t>(context() + chunk())}).value();
    const auto values = window.as_mutable<float>();
    std::ranges::fill(values, 0.0f);
    std::ranges::copy(before_, values.begin());
    std::ranges::copy(samples, values.begin() + static_cast<std::ptrdiff_t>(context()));
    before_.assign(values.end() - static_cast<std::ptrdiff_t>(context()), values.end());
    FRAZIL_TRY(auto results, tier_.session->run(std::vector<Datum>{window, state_, Tensor::scalar(rate_)}));
    state_ = results.at(1).tensor();
    return results.at(0).tensor().as<float>()[0];
  }
  const exec::Counters& counters() const { return tier_.session->counters(); }

 private:
  std::size_t context() const { return chunk() / 8; }
  static Tensor zeros(Sizes sizes) {
    Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
    std::ranges::fill(t.as_mutable<float>(), 0.0f);
    return t;
  }
  Graph graph_;
  Tier0 tier_;
  std::int64_t rate_;
  Tensor state_ = zeros({2, 1, 128});
  std::vector<float> before_;
};

TEST(Models, SileroHearsSpeech) {
  const fs::path folder = shared_dir() / "models" / "silero_vad";
  FRAZIL_NEEDS(folder);
  const std::vector<float> wave = samples(folder / "speech.wav");
  const Tensor wanted = array(folder / "speech_probabilities.npy");
  Speech speech(folder / "model.onnx", 16000);
  ASSERT_TRUE(speech);
  std::size_t k = 0;
  for (std::size_t at = 0; at < wave.size() && k < static_cast<std::size_t>(wanted.count());
       at += speech.chunk(), ++k) {
    const auto got = speech.probability(std::span(wave).subspan(at, std::min(speech.chunk(), wave.size() - at)));
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_NEAR(*got, wanted.number_at(static_cast<std::int64_t>(k)), 1e-4) << "chunk " << k;
  }
  EXPECT_EQ(k, static_cast<std::size_t>(wanted.count()));
  EXPECT_GT(k, 0u);
  EXPECT_LE(speech.counters().plans, 2u);
}

TEST(Models, SileroTakesTheOtherRateToo) {
  const fs::path folder = shared_dir() / "models" / "silero_vad";
  FRAZIL_NEEDS(folder);
  const std::vector<float> wave = samples(folder / "speech.wav");
  Speech speech(folder / "model.onnx", 8000);
  ASSERT_TRUE(speech);
  float loudest = 0;
  for (std::size_t at = 0; at + 2 * speech.chunk() <= wave.size(); at += 2 * speech.chunk()) {
    std::vector<float> half;  // every second sample: 8 kHz
    for (std::size_t i = 0; i < speech.chunk(); ++i) half.push_back(wave[at + 2 * i]);
    const auto got = speech.probability(half);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_TRUE(*got >= 0 && *got <= 1) << *got;
    loudest = std::max(loudest, *got);
  }
  EXPECT_GT(loudest, 0.5f);
}

TEST(Models, FaceDetectorFindsFaces) {
  const fs::path folder = shared_dir() / "models" / "face_detector";
  FRAZIL_NEEDS(folder);
  const Graph graph = imported(folder / "model.onnx");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const auto got = tier.session->run(std::vector<Datum>{array(folder / "input.npy")});
  ASSERT_TRUE(got) << got.error().text();
  for (const char* name : {"scores", "boxes"}) {
    const auto at = std::ranges::find(graph.output_names(), name);
    ASSERT_NE(at, graph.output_names().end()) << name;
    const Datum& value = got->at(static_cast<std::size_t>(at - graph.output_names().begin()));
    const auto what = difference(value, array(folder / (std::string(name) + ".npy")), {.rtol = 0, .atol = 1e-4});
    EXPECT_FALSE(what) << name << ": " << *what;
  }
}

}  // namespace
}  // namespace frazil::test
