// Compares decoding loops of com.microsoft on Frazil and on the peer:
//
//   decoding_peer [--count N] [--seed S] [--sampling | --recorded] [--peer LIBRARY]
//
// Runs N random cases on both. --sampling compares how often Sampling draws each token. --recorded prints the peer's
// results of the cases of tests/suite/decoding_cases.h. The exit code is 1 if a result differs.

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include <unistd.h>

#include "bench/convert.h"
#include "bench/ort.h"
#include "exec/run/executable.h"
#include "exec/run/session.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"
#include "suite/decoding_cases.h"
#include "tensor/compare.h"

namespace bench {
namespace {

using frazil::Datum;
using frazil::Tensor;
using frazil::test::DecodingCase;
using frazil::test::Rows;

struct Arguments {
  int count = 200;
  std::uint32_t seed = 1;
  bool sampling = false, recorded = false;
  std::string peer;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " wants a value");
      return argv[i];
    };
    if (word == "--count") {
      a.count = std::stoi(value());
    } else if (word == "--seed") {
      a.seed = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (word == "--sampling") {
      a.sampling = true;
    } else if (word == "--recorded") {
      a.recorded = true;
    } else if (word == "--peer") {
      a.peer = value();
    } else {
      throw std::runtime_error(
          "usage: decoding_peer [--count N] [--seed S] [--sampling | --recorded] [--peer "
          "LIBRARY]");
    }
  }
  return a;
}

constexpr std::size_t kDraws = 4000;

/// Random cases. Each has its own decoder.
class Cases {
 public:
  explicit Cases(std::uint32_t seed) : random_(seed) {}

  /// Many items with the same prompt, and one step.
  DecodingCase next_sampling() {
    DecodingCase c;
    c.op = "Sampling";
    c.weights = below(100000);
    c.eos = 19;
    c.prompt = Rows(kDraws, rows(1, 3, 20)[0]);
    c.max_length = 4;
    c.custom = chance(2) ? 1 : 0;
    c.top_p = 0.1F * static_cast<float>(below(11));
    c.min_tokens_to_keep = below(3);
    if (chance(2)) c.temperature = 0.5F + 0.5F * static_cast<float>(below(4));
    // Without presence_penalty, which the peer subtracts from the first score only.
    if (chance(3)) c.repetition_penalty = 1.5F;
    if (chance(3)) c.vocab_mask = mask(1, 20, 5);
    c.seed = static_cast<std::int32_t>(below(1000));
    return c;
  }

  DecodingCase next() {
    DecodingCase c;
    constexpr const char* kForms[] = {"gpt", "gpt", "gpt", "gpt init", "t5", "t5 new", "t5 whole", "whisper"};
    c.weights = below(100000);
    c.op = chance(3) ? "GreedySearch" : "BeamSearch";
    c.form = c.op == "GreedySearch" ? (chance(4) ? "gpt init" : "gpt") : kForms[below(8)];
    if (c.form == "whisper" && chance(2)) c.op = "WhisperBeamSearch";
    const std::uint32_t items = 1 + below(3), length = 1 + below(5);
    c.eos = 1 + below(8);
    c.prompt = rows(items, length, 20);
    if (chance(2)) pad_left(c.prompt);
    const std::uint32_t start = c.form.starts_with("gpt") ? length : 1;
    c.max_length = static_cast<std::int32_t>(start + 2 + below(10));
    // The peer refuses BeamSearch without these two, which its schema calls optional.
    const bool required = c.op != "GreedySearch";
    if (required) c.min_length = 0;
    if (required) c.length_penalty = 1.0F;
    if (chance(3)) c.min_length = static_cast<std::int32_t>(below(static_cast<std::uint32_t>(c.max_length)));
    if (chance(3)) c.repetition_penalty = 0.8F + 0.1F * static_cast<float>(below(8));
    if (chance(3)) c.vocab_mask = mask(1, 20, 5);
    if (chance(3)) c.prefix_vocab_mask = mask(items, 20, 4);
    if (chance(4)) c.ngram = 1 + below(3);
    if (chance(5) && c.form != "whisper") c.attention_mask = mask(items, length, 3);
    c.beams = static_cast<std::int32_t>(1 + below(4));
    c.returned = static_cast<std::int32_t>(1 + below(static_cast<std::uint32_t>(c.beams)));
    if (chance(2)) c.length_penalty = 0.2F * static_cast<float>(below(11)) - 0.4F;
    c.early_stopping = required && chance(2) ? 1 : 0;
    c.all_outputs = true;
    c.constants = chance(2);
    if (c.form == "whisper" && chance(2)) {
      c.decoder_input_ids = rows(items, 1 + below(3), 20);
      c.max_length += 2;
    }
    return c;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t n) { return below(n) == 0; }
  Rows rows(std::uint32_t count, std::uint32_t width, std::uint32_t tokens) {
    Rows r(count, std::vector<std::int32_t>(width));
    for (auto& row : r) {
      for (auto& x : row) x = static_cast<std::int32_t>(1 + below(tokens - 1));
    }
    return r;
  }
  Rows mask(std::uint32_t count, std::uint32_t width, std::uint32_t holes) {
    Rows r(count, std::vector<std::int32_t>(width, 1));
    for (auto& row : r) {
      for (auto& x : row) x = chance(holes) ? 0 : 1;
      row.back() = 1;
    }
    return r;
  }
  void pad_left(Rows& r) {
    for (auto& row : r) std::fill_n(row.begin(), below(static_cast<std::uint32_t>(row.size())), 0);
  }
  std::mt19937 random_;
};

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() / ("frazil_decoding_" + std::to_string(getpid()) + ".onnx")) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<Tensor> run_peer(const Ort& ort, const DecodingCase& c) {
  const TemporaryFile file(decoding_model(c));
  const OrtSession session(ort, file.path());
  NamedTensors inputs;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    if (tensor && !(c.constants && tensor->rank() == 0)) inputs[name] = to_host(*tensor);
  }
  std::vector<Tensor> results;
  for (const HostTensor& t : session.run(inputs)) results.push_back(to_tensor(t));
  return results;
}

std::string shown(const Tensor& t) {
  std::string s;
  for (const std::int32_t x : t.as<std::int32_t>()) s += std::to_string(x) + " ";
  return s;
}

std::string described(const DecodingCase& c) {
  std::string s = fmt::format("{} {} weights {} eos {} max {} beams {} of {} early {} ngram {} items {} length {}",
                              c.op, c.form, c.weights, c.eos, c.max_length, c.returned, c.beams, c.early_stopping,
                              c.ngram, c.prompt.size(), c.prompt[0].size());
  if (c.min_length) s += fmt::format(" min {}", *c.min_length);
  if (c.length_penalty) s += fmt::format(" length penalty {}", *c.length_penalty);
  if (c.repetition_penalty) s += fmt::format(" repetition {}", *c.repetition_penalty);
  for (const auto& [name, m] : {std::pair("vocab", &c.vocab_mask), std::pair("prefix", &c.prefix_vocab_mask),
                                std::pair("mask", &c.attention_mask), std::pair("decoder ids", &c.decoder_input_ids)}) {
    if (!m->empty()) s += fmt::format(" {}", name);
  }
  return s + (c.constants ? " constants" : "");
}

/// Copies our zeros in steps that are not taken to the peer's scores, which are uninitialised there.
Tensor with_zeros(const Tensor& peer, const Tensor& ours) {
  Tensor t = to_tensor(to_host(peer));
  const auto mine = ours.as<float>();
  const auto to = t.as_mutable<float>();
  const std::size_t step = mine.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, ours.sizes()[0]));
  for (std::size_t at = 0; at + step <= mine.size(); at += step) {
    const auto part = mine.subspan(at, step);
    if (std::ranges::all_of(part, [](float x) { return x == 0; }))
      std::ranges::copy(part, to.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return t;
}

/// Copies our padding after the end of all rows to the peer's result, which is uninitialised there.
Tensor with_padding(const Tensor& peer, const Tensor& ours, std::int64_t pad) {
  Tensor t = to_tensor(to_host(peer));
  const auto mine = ours.as<std::int32_t>();
  const auto width = static_cast<std::size_t>(ours.sizes()[1]);
  std::size_t end = width;
  const auto is_padding = [&](std::size_t column) {
    for (std::size_t at = column; at < mine.size(); at += width) {
      if (mine[at] != pad) return false;
    }
    return true;
  };
  while (end > 0 && is_padding(end - 1)) --end;
  const auto to = t.as_mutable<std::int32_t>();
  for (std::size_t at = 0; at < to.size(); ++at) {
    if (at % width > end) to[at] = mine[at];
  }
  return t;
}

/// Returns what differs, or "".
std::string compare(const DecodingCase& c, const std::vector<Tensor>& want) {
  const auto got = frazil::test::run_decoding(c);
  if (!got) return "frazil: " + got.error().text();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Tensor& ours = (*got)[i];
    if (ours.sizes() != want[i].sizes()) return fmt::format("output {} has another shape", i);
    Tensor expected = want[i];
    if (!c.op.ends_with("BeamSearch")) expected = with_padding(want[i], ours, c.pad);
    if (i == 2) expected = with_zeros(want[i], ours);
    const auto what = difference(Datum(ours), Datum(expected), {.rtol = 1e-4, .atol = 1e-5});
    if (!what) continue;
    if (i == 0 && want.size() > 1 && !difference(Datum((*got)[1]), Datum(want[1]), {.rtol = 1e-5, .atol = 1e-5})) {
      return "";  // sequences of equal scores
    }
    if (i == 2 && c.beams == 1) continue;  // those of items that are done have no meaning
    if (i > 0) return *what;
    return *what + "\n    frazil " + shown((*got)[0]) + "\n    peer   " + shown(want[0]);
  }
  return "";
}

int run_random(const Ort& ort, const Arguments& a) {
  Cases cases(a.seed);
  int differing = 0, refused = 0;
  for (int i = 0; i < a.count; ++i) {
    const DecodingCase c = cases.next();
    std::vector<Tensor> want;
    try {
      want = run_peer(ort, c);
    } catch (const std::exception& error) {
      ++refused;
      const auto got = frazil::test::run_decoding(c);
      std::printf("case %d: %s\n  peer: %s\n  frazil: %s\n", i, described(c).c_str(), error.what(),
                  got ? "runs" : got.error().text().c_str());
      continue;
    }
    const std::string what = compare(c, want);
    if (what.empty()) continue;
    ++differing;
    std::printf("case %d: %s\n  %s\n", i, described(c).c_str(), what.c_str());
  }
  std::printf("%d cases, %d refused by the peer, %d differ\n", a.count, refused, differing);
  return differing == 0 ? 0 : 1;
}

/// Returns how often each token is the last one of a row.
std::vector<double> shares(const Tensor& sequences) {
  std::vector<double> share(frazil::test::kVocabulary);
  const auto width = static_cast<std::size_t>(sequences.sizes()[1]);
  const auto tokens = sequences.as<std::int32_t>();
  for (std::size_t at = width - 1; at < tokens.size(); at += width) {
    share[static_cast<std::size_t>(tokens[at])] += 1.0 / static_cast<double>(kDraws);
  }
  return share;
}

int run_sampling(const Ort& ort, const Arguments& a) {
  Cases cases(a.seed);
  int differing = 0;
  for (int i = 0; i < a.count; ++i) {
    const DecodingCase c = cases.next_sampling();
    const auto want = shares(run_peer(ort, c)[0]), got = shares(take(frazil::test::run_decoding(c))[0]);
    bool differs = false;
    for (std::size_t t = 0; t < want.size(); ++t) {
      const double p = (want[t] + got[t]) / 2, deviation = std::sqrt(2 * p * (1 - p) / static_cast<double>(kDraws));
      if (std::abs(want[t] - got[t]) <= 5 * deviation) continue;
      if (!differs) {
        std::printf("case %d: %s custom %d top_p %g keep %d temperature %g penalty %g\n", i, described(c).c_str(),
                    static_cast<int>(c.custom), static_cast<double>(*c.top_p), static_cast<int>(c.min_tokens_to_keep),
                    static_cast<double>(c.temperature.value_or(1)),
                    static_cast<double>(c.presence_penalty.value_or(0)));
      }
      std::printf("  token %zu: frazil %g, peer %g\n", t, got[t], want[t]);
      differs = true;
    }
    differing += differs ? 1 : 0;
  }
  std::printf("%d cases of %zu draws, %d differ\n", a.count, kDraws, differing);
  return differing == 0 ? 0 : 1;
}

int run_recorded(const Ort& ort) {
  int differing = 0;
  for (const DecodingCase& c : frazil::test::recorded_decoding()) {
    const auto want = run_peer(ort, c);
    const std::string what = compare(c, want);
    differing += what.empty() ? 0 : 1;
    if (!what.empty()) std::printf("%s: %s\n", c.name.c_str(), what.c_str());
    Tensor sequences = want[0];
    if (!c.op.ends_with("BeamSearch")) {
      sequences = with_padding(sequences, take(frazil::test::run_decoding(c))[0], c.pad);
    }
    std::string text;
    for (const std::int32_t x : sequences.as<std::int32_t>()) text += fmt::format("{}{}", text.empty() ? "" : ", ", x);
    std::printf("      {\"%s\", {%s}},\n", c.name.c_str(), text.c_str());
  }
  return differing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  const bench::Arguments a = bench::parse_arguments(argc, argv);
  frazil::link_operators();
  const bench::Ort ort(bench::Ort::find_library(a.peer));
  if (a.sampling) return bench::run_sampling(ort, a);
  return a.recorded ? bench::run_recorded(ort) : bench::run_random(ort, a);
} catch (const std::exception& error) {
  std::fprintf(stderr, "decoding_peer: %s\n", error.what());
  return 2;
}
