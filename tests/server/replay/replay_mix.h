#pragma once

#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "govern/audit/audit_log.h"
#include "govern/audit/log_reader.h"
#include "server/asked.h"
#include "server/host/host_node.h"
#include "server/replay/replay.h"

// Random requests to random pipelines, and replays of them from the audit log.
namespace frazil::test {

/// The calls of the host functions "noise" and "moody", whose answers no replay can compute.
inline std::atomic<std::uint64_t>& host_calls() {
  static std::atomic<std::uint64_t> calls = 0;
  return calls;
}

inline void register_unpredictable_functions() {
  static const bool once = [] {
    const server::HostSignature signature{.inputs = {{"x", "f32[N,4]"}}, .outputs = {{"y", "f32[N,4]"}}};
    const auto noisy = [](const server::HostCall& call) {
      const std::uint64_t number = ++host_calls();
      std::minstd_rand random(static_cast<unsigned>(number));
      api::Array y = call.inputs[0];
      for (float& value : y.mutable_values<float>()) value += static_cast<float>(random() % 1000) / 1000;
      return std::vector{y};
    };
    server::register_host_function("noise", signature, noisy);
    server::register_host_function("moody", signature, [noisy](const server::HostCall& call) {
      if (host_calls() % 3 == 0)
        throw server::Refusal(server::Http::unavailable, "not now " + std::to_string(++host_calls()));
      return noisy(call);
    });
    return true;
  }();
  (void)once;
}

/// Writes random pipelines. Each node has a name of its own.
class PipelineWriter {
 public:
  explicit PipelineWriter(unsigned seed) : random_(seed) {}

  std::string pipeline() {
    const auto [steps, value] = sequence(1, 3, "    ", "x");
    return "inputs: {x: 'f32[N,4]'}\nsteps:\n" + steps + "outputs: {y: " + value + "}\n";
  }

 private:
  struct Written {
    std::string text, value;  ///< steps, and the name of the last result
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  std::string name(const char* kind) { return kind + std::to_string(count_++); }

  Written sequence(int depth, std::size_t most, const std::string& indent, std::string value) {
    std::string text;
    for (std::size_t left = 1 + below(most); left > 0; --left) {
      Written step = one(depth, indent, value);
      text += step.text;
      value = step.value;
    }
    return {text, value};
  }

  Written call(const std::string& indent, const std::string& value) {
    static constexpr const char* kModels[] = {"dense", "dense", "narrow", "draws", "talk", "fails", "cosine"};
    const std::string own = name("m");
    return {indent + "- {name: " + own + ", model: " + kModels[below(std::size(kModels))] + ", inputs: {x: " + value +
                "}}\n",
            own + ".y"};
  }
  Written host(const std::string& indent, const std::string& value) {
    const std::string own = name("h");
    return {indent + "- {name: " + own + ", code: {function: " + (below(3) == 0 ? "moody" : "noise") +
                ", inputs: {x: " + value + "}}}\n",
            own + ".y"};
  }

  /// Writes blocks as a list. `extra`: keys of block i.
  template <class Extra>
  std::string blocks(std::size_t count, int depth, const std::string& indent, const std::string& value, Extra extra) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const Written inner = sequence(depth + 1, 2, indent + "    ", value);
      text += indent + "- name: b" + std::to_string(i) + "\n" + extra(i, indent + "  ") + indent + "  steps:\n" +
              inner.text + indent + "  results: {y: " + inner.value + "}\n";
    }
    return text;
  }

  Written one(int depth, const std::string& indent, const std::string& value) {
    const std::size_t kind = below(depth >= 3 ? 4 : 11);
    const std::string deeper = indent + "    ";
    const auto plain = [](std::size_t, const std::string&) { return std::string(); };
    if (kind < 3) return call(indent, value);
    if (kind == 3) return host(indent, value);
    const std::string own = name("s"), head = indent + "- name: " + own + "\n" + indent + "  ";
    const std::string result = own + ".y";
    if (kind <= 5) {
      const auto share = [](std::size_t i, const std::string& in) {
        return in + "share: " + (i == 0 ? "0.25" : "0.75") + "\n";
      };
      return {head + "split:\n" + indent + "    arms:\n" + blocks(2, depth, deeper + "  ", value, share), result};
    }
    if (kind == 6) {
      const auto when = [&](std::size_t i, const std::string& in) {
        return i == 0 ? in + "when: sum(" + value + ") > param('limit', 0.5)\n" : std::string();
      };
      return {head + "switch:\n" + blocks(2, depth, deeper, value, when), result};
    }
    if (kind == 7) return {head + "fallback:\n" + blocks(2, depth, deeper, value, plain), result};
    if (kind == 8) return {head + "race:\n" + blocks(2, depth, deeper, value, plain), result};
    if (kind == 9) {
      return {head + "ensemble:\n" + deeper + "combine: " + (below(2) == 0 ? "mean" : "first") + "\n" + deeper +
                  "blocks:\n" + blocks(3, depth, deeper + "  ", value, plain),
              result};
    }
    const std::string carried = own + "v";
    const Written inner = sequence(depth + 1, 2, deeper + "  ", carried);
    return {head + "loop:\n" + deeper + "start: {" + carried + ": " + value + "}\n" + deeper + "while: sum(" + carried +
                ") < 20\n" + deeper + "most: 3\n" + deeper + "steps:\n" + inner.text + deeper + "next: {" + carried +
                ": " + inner.value + "}\n",
            own + "." + carried};
  }

  std::minstd_rand random_;
  unsigned count_ = 0;
};

}  // namespace frazil::test
