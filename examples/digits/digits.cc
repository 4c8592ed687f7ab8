// Classifies the held-out digits with an early-exit model and with a full model of the same weights, and reports the
// savings of the early exits: digits_demo FOLDER
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <frazil/frazil.h>

#include "picture.h"
#include "trace.h"

namespace digits {
namespace {

namespace fs = std::filesystem;
using frazil::Array;

constexpr double kMinTimeSaved = 40.0;  // percent
constexpr double kMaxPointsLost = 0.5;  // of accuracy
constexpr int kPasses = 15;
constexpr int kStages = 3;
constexpr std::array<const char*, kStages> kPaths{"sure after stage 1", "sure after stage 2", "refined"};

struct Outcome {
  std::int64_t label, stage, steps;
  bool operator==(const Outcome&) const = default;
};

/// Both models' outputs: probabilities, label, stage, steps.
class Runner {
 public:
  explicit Runner(const frazil::Model& model) : session_(model.open({.tier = "0"})) {}

  void run(const Array& image) { session_.run(std::span(&image, 1), results_); }
  Outcome outcome() const {
    return {results_[1].item<std::int64_t>(), results_[2].item<std::int64_t>(), results_[3].item<std::int64_t>()};
  }
  void observe(Trace* trace) { session_.set_observer(trace); }

 private:
  frazil::Session session_;
  frazil::Results results_;
};

struct Data {
  std::vector<Array> images;  // f32[1,1,8,8] each
  std::vector<std::int64_t> labels;
};

struct Side {
  explicit Side(const fs::path& path) : runner(frazil::Model::load(path.string())) {}

  Runner runner;
  std::vector<Outcome> outcomes;            // per image
  std::vector<std::vector<double>> passes;  // microseconds per pass and image
  std::vector<double> micros;               // their medians
};

struct Demo {
  Data data;
  Side early, full;
  Trace trace;
  std::size_t unlike_trace = 0;   // images for which the outputs and the observer disagree on the path
  std::size_t unlike_before = 0;  // runs whose result differs from the first run's
};

Data read_data(const fs::path& folder) {
  const Array images = Array::read_npy((folder / "images.npy").string());
  const Array labels = Array::read_npy((folder / "labels.npy").string());
  const auto of_labels = labels.values<std::int64_t>();
  const auto pixels = std::as_bytes(images.values<float>());
  const auto count = static_cast<std::int64_t>(of_labels.size());
  if (count == 0 || images.sizes() != frazil::Sizes{count, 1, 8, 8}) {
    throw frazil::Error(frazil::Code::bad_input, "images.npy and labels.npy do not belong together");
  }
  Data data;
  data.labels.assign(of_labels.begin(), of_labels.end());
  const std::size_t stride = pixels.size() / data.labels.size();
  const auto owner = std::make_shared<Array>(images);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    data.images.push_back(Array::borrow(frazil::Dtype::f32, {1, 1, 8, 8}, pixels.subspan(i * stride, stride), owner));
  }
  return data;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

void classify(Demo& demo) {
  demo.early.runner.observe(&demo.trace);
  for (const Array& image : demo.data.images) {
    for (Side* side : {&demo.early, &demo.full}) {
      side->runner.run(image);
      side->outcomes.push_back(side->runner.outcome());
    }
    const Outcome& told = demo.early.outcomes.back();
    if (told.stage != demo.trace.stage() || told.steps != demo.trace.steps()) ++demo.unlike_trace;
  }
  demo.early.runner.observe(nullptr);
}

double timed_run(Demo& demo, Side& side, std::size_t image) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  side.runner.run(demo.data.images[image]);
  const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
  if (side.runner.outcome() != side.outcomes[image]) ++demo.unlike_before;
  return taken.count();
}

/// Alternates the models, and their order, so that both run under the same conditions.
void measure(Demo& demo) {
  const std::size_t count = demo.data.images.size();
  for (Side* side : {&demo.early, &demo.full}) side->passes.resize(count);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i < count; ++i) {
      std::array<Side*, 2> order{&demo.early, &demo.full};
      if ((pass + i) % 2 != 0) std::swap(order[0], order[1]);
      for (Side* side : order) side->passes[i].push_back(timed_run(demo, *side, i));
    }
  }
  for (Side* side : {&demo.early, &demo.full}) {
    for (const auto& times : side->passes) side->micros.push_back(median(times));
  }
}

std::size_t count_right(const Demo& demo, const Side& side) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < side.outcomes.size(); ++i) right += side.outcomes[i].label == demo.data.labels[i];
  return right;
}

void print_answers(const Demo& demo) {
  const std::size_t count = demo.data.images.size();
  std::printf("\nHow many are right\n");
  for (const auto& [name, side] : {std::pair{"early exit", &demo.early}, {"in full", &demo.full}}) {
    const std::size_t right = count_right(demo, *side);
    std::printf("  %-20s %4zu of %zu   %6.2f %%\n", name, right, count, percent(double(right), double(count)));
  }
}

/// Returns a bar of length part / whole. It is empty only if part is zero.
std::string bar(std::size_t part, std::size_t whole) {
  constexpr std::size_t kWidth = 40;
  return part == 0 ? "" : "  " + std::string((part * kWidth + whole - 1) / whole, '#');
}

void print_paths(const Demo& demo) {
  std::array<std::size_t, kStages> taken{};
  for (const Outcome& outcome : demo.early.outcomes) ++taken.at(static_cast<std::size_t>(outcome.stage - 1));
  const std::size_t count = demo.data.images.size();
  std::printf("\nWhich way they went (early exit)\n");
  for (std::size_t i = 0; i < taken.size(); ++i) {
    std::printf("  %-20s %4zu images  %5.1f %%%s\n", kPaths[i], taken[i], percent(double(taken[i]), double(count)),
                bar(taken[i], count).c_str());
  }
  if (demo.unlike_trace == 0) std::printf("  An observer saw the same way and steps for each image.\n");
}

void print_steps(const Demo& demo) {
  std::vector<std::size_t> images;
  for (const Outcome& outcome : demo.early.outcomes) {
    if (outcome.stage != kStages) continue;
    images.resize(std::max(images.size(), static_cast<std::size_t>(outcome.steps) + 1));
    ++images[static_cast<std::size_t>(outcome.steps)];
  }
  if (images.empty()) return;
  const std::size_t most = *std::ranges::max_element(images);
  std::printf("\nHow many refinement steps it took\n");
  for (std::size_t steps = 1; steps < images.size(); ++steps) {
    std::printf("  %zu %-18s %4zu images%s\n", steps, steps == 1 ? "step" : "steps", images[steps],
                bar(images[steps], most).c_str());
  }
}

void print_times(const Demo& demo) {
  std::printf("\nTime per image in microseconds (medians of %d passes)\n", kPasses);
  std::printf("  %-20s %12s %12s %12s\n", "", "early exit", "in full", "saved");
  for (std::size_t path = 0; path < kPaths.size(); ++path) {
    std::vector<double> early, full;
    for (std::size_t i = 0; i < demo.early.outcomes.size(); ++i) {
      if (demo.early.outcomes[i].stage != static_cast<std::int64_t>(path + 1)) continue;
      early.push_back(demo.early.micros[i]);
      full.push_back(demo.full.micros[i]);
    }
    if (early.empty()) continue;
    const double e = median(early), f = median(full);
    std::printf("  %-20s %12.1f %12.1f %10.1f %%\n", kPaths[path], e, f, percent(f - e, f));
  }
}

/// Returns the mean over all images of each image's median.
double mean_time(const Side& side) {
  double sum = 0;
  for (const double t : side.micros) sum += t;
  return sum / static_cast<double>(side.micros.size());
}

/// Prints the savings; returns false when a bound is missed.
bool print_verdict(const Demo& demo) {
  const double early = mean_time(demo.early), full = mean_time(demo.full);
  const double saved = percent(full - early, full);
  std::printf("  %-20s %12.1f %12.1f %10.1f %%\n", "mean of all images", early, full, saved);
  const auto right_early = double(count_right(demo, demo.early)), right_full = double(count_right(demo, demo.full));
  const double lost = percent(right_full - right_early, double(demo.data.images.size()));

  std::printf("\nEarly exits saved %.1f %% of the time and cost %.2f points of accuracy.\n", saved, lost);
  bool good = true;
  const auto fault = [&](bool missed, const char* format, auto number) {
    if (missed) std::printf(format, number);
    good = good && !missed;
  };
  fault(saved < kMinTimeSaved, "FAILED: at least %.0f %% of the time should be saved\n", kMinTimeSaved);
  fault(lost > kMaxPointsLost, "FAILED: at most %.1f points of accuracy may be lost\n", kMaxPointsLost);
  fault(demo.unlike_trace != 0, "FAILED: the observer saw another way for %zu images\n", demo.unlike_trace);
  fault(demo.unlike_before != 0, "FAILED: %zu runs gave another result than the first one\n", demo.unlike_before);
  return good;
}

/// Returns the path as a user would type it: relative if it is below the working directory.
fs::path folder_of_program(const char* name) {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  const fs::path folder = (failed ? fs::absolute(name) : self).parent_path();
  const fs::path near = folder.lexically_proximate(fs::current_path());
  return near.empty() || *near.begin() == ".." ? folder : near;
}

void save_picture(const Demo& demo, const fs::path& folder) {
  const std::string dot = (folder / "digits.dot").string(), svg = (folder / "digits.svg").string();
  if (!(std::ofstream(dot) << picture(demo.trace) << std::flush)) {
    std::printf("No picture: cannot write %s\n", dot.c_str());
    return;
  }
  const std::string fault = render_svg(dot, svg);
  if (fault.empty()) {
    std::printf("Picture of the ways taken: %s\n", svg.c_str());
  } else {
    std::printf("No picture: %s. What it would draw: %s\n", fault.c_str(), dot.c_str());
  }
}

int run(const char* program, const fs::path& folder) {
  Demo demo{.data = read_data(folder), .early = Side(folder / "model.onnx"), .full = Side(folder / "model_full.onnx")};
  std::printf("%zu held-out images of handwritten digits, one at a time\n", demo.data.images.size());
  std::printf("  early exit (model.onnx): stops as soon as it is sure\n");
  std::printf("  in full (model_full.onnx): the same weights, every stage and every step for every image\n");
  classify(demo);
  measure(demo);
  print_answers(demo);
  print_paths(demo);
  print_steps(demo);
  print_times(demo);
  const bool good = print_verdict(demo);
  save_picture(demo, folder_of_program(program));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace digits

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: digits_demo FOLDER (where model.onnx, model_full.onnx and the .npy files are)\n");
    return 2;
  }
  try {
    return digits::run(words[0], words[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits_demo: %s\n", error.what());
    return 1;
  }
}
