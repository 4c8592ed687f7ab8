#include "bench/requests.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "bench/inputs.h"

namespace bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::string_view kSamples = ".wav:";

[[noreturn]] void fail(const std::string& word, const std::string& what) {
  throw std::runtime_error("'" + word + "': " + what);
}

std::vector<std::string> split(std::string_view words) {
  std::istringstream in{std::string(words)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::size_t number(const std::string& word, std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) fail(word, "not a number");
  return value;
}

/// What the * at the end of `pattern` stands for in `name`; null where they do not match.
std::optional<std::string> match(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name ? std::optional<std::string>("") : std::nullopt;
  pattern.remove_suffix(1);
  if (!name.starts_with(pattern)) return std::nullopt;
  return std::string(name.substr(pattern.size()));
}

/// The samples of a file of 16-bit PCM, one channel.
std::vector<float> read_samples(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::size_t at = bytes.find("data");
  if (at == bytes.npos) throw std::runtime_error(path + ": no samples");
  std::vector<float> samples;
  for (at += 8; at + 1 < bytes.size(); at += 2) {
    std::int16_t sample = 0;
    std::memcpy(&sample, bytes.data() + at, sizeof sample);
    samples.push_back(static_cast<float>(sample) / 32768.0f);
  }
  return samples;
}

/// Windows over samples: each `size` new ones after the `before` ones that precede them.
class Windows {
 public:
  /// `spec` is FILE.wav:BEFORE+SIZE[/STEP].
  Windows(const std::string& spec, const std::filesystem::path& folder) {
    const std::size_t colon = spec.find(kSamples) + kSamples.size() - 1, plus = spec.find('+', colon);
    if (plus == spec.npos) fail(spec, "wants BEFORE+SIZE");
    const std::size_t slash = std::min(spec.find('/', plus), spec.size());
    const std::string_view text = spec;
    before_ = number(spec, text.substr(colon + 1, plus - colon - 1));
    size_ = number(spec, text.substr(plus + 1, slash - plus - 1));
    const std::size_t step = slash < spec.size() ? number(spec, text.substr(slash + 1)) : 1;
    if (size_ == 0 || step == 0) fail(spec, "wants numbers above 0");
    const std::vector<float> all = read_samples(folder / spec.substr(0, colon));
    samples_.resize(before_);
    for (std::size_t i = 0; i < all.size(); i += step) samples_.push_back(all[i]);
  }
  std::size_t count() const { return (samples_.size() - before_) / size_; }
  HostTensor window(std::size_t n) const {
    HostTensor tensor(Elem::f32, {1, static_cast<std::int64_t>(before_ + size_)});
    std::memcpy(tensor.data.data(), samples_.data() + n * size_, tensor.data.size());
    return tensor;
  }

 private:
  std::size_t before_ = 0, size_ = 0;
  std::vector<float> samples_;
};

/// The parts of a row's words.
struct Words {
  std::vector<std::pair<std::string, std::string>> specs, carried;
  std::size_t count = 1;

  explicit Words(std::string_view words) {
    for (const std::string& word : split(words)) {
      if (word.starts_with('#')) {
        count = number(word, std::string_view(word).substr(1));
      } else if (const std::size_t at = word.find('>'); at != word.npos) {
        carried.emplace_back(word.substr(0, at), word.substr(at + 1));
      } else {
        const std::size_t equals = word.find('=');
        if (equals == word.npos || equals == 0) fail(word, "not NAME=SPEC");
        specs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
      }
    }
  }
  const std::string& spec_of(const std::string& input) const {
    for (const auto& [pattern, spec] : specs) {
      if (match(pattern, input)) return spec;
    }
    throw std::runtime_error("nothing for input " + input);
  }
  std::optional<Carry> carry_of(const std::string& input) const {
    for (const auto& [output, pattern] : carried) {
      const auto rest = match(pattern, input);
      if (rest) return Carry{output.ends_with('*') ? output.substr(0, output.size() - 1) + *rest : output, input};
    }
    return std::nullopt;
  }
};

bool is_samples(const std::string& spec) { return spec.find(kSamples) != spec.npos; }

}  // namespace

Requests make_requests(const std::vector<Port>& inputs, std::string_view text, const std::string& folder) {
  const Words words(text);
  Requests requests;
  std::map<std::string, Windows> windows;
  std::size_t count = words.count;
  for (const Port& port : inputs) {
    const std::string& spec = words.spec_of(port.name);
    if (const auto carry = words.carry_of(port.name)) {
      requests.carried.push_back(*carry);
      requests.initial[port.name] = make_input(port, spec, kSeed);
    } else if (is_samples(spec)) {
      count = windows.try_emplace(port.name, spec, folder).first->second.count();
    }
  }
  for (std::size_t n = 0; n < count; ++n) {
    NamedTensors& request = requests.each.emplace_back();
    for (const Port& port : inputs) {
      if (requests.initial.contains(port.name)) continue;
      const auto found = windows.find(port.name);
      request[port.name] =
          found != windows.end() ? found->second.window(n) : make_input(port, words.spec_of(port.name), kSeed + n);
    }
  }
  return requests;
}

std::string missing_file(std::string_view words, const std::string& folder) {
  for (const auto& [name, spec] : Words(words).specs) {
    if (!is_samples(spec)) continue;
    const auto path = std::filesystem::path(folder) / spec.substr(0, spec.find(kSamples) + kSamples.size() - 1);
    if (!std::filesystem::exists(path)) return path;
  }
  return {};
}

}  // namespace bench
