#pragma once

#include <array>

#include "onnx/upgrade/rules.h"

// What a decoding loop of com.microsoft and its subgraphs declare.
namespace frazil::onnx::rules {

enum class Choice : std::uint8_t { greedy, sampling, beams };

/// The positions of the inputs of an operator. kNoInput marks an input that it lacks.
constexpr std::size_t kNoInput = 99;
struct SearchPorts {
  Choice choice;
  std::size_t num_beams = kNoInput, num_return_sequences = kNoInput, length_penalty = kNoInput;
  std::size_t repetition_penalty = 3, vocab_mask = 4, prefix_vocab_mask = 5, attention_mask = 6;
  std::size_t presence_mask = kNoInput, seed = kNoInput, decoder_input_ids = kNoInput, logits_processor = kNoInput;
  std::size_t temperature = kNoInput;
  std::size_t count = 7;
};
constexpr std::size_t kMaxLength = 1, kMinLength = 2;
constexpr std::int64_t kGptModel = 0, kT5Model = 1, kWhisperModel = 2;

struct SearchAttrs {
  std::int64_t model_type = 0, eos = 0, pad = 0, start_token = -1, ngram = 0, early_stopping = 0, vocab_size = -1;
  float presence_penalty = 0, temperature = 1;
  std::vector<NamedAttr> sampling;
};

/// A value that a subgraph declares.
struct DeclaredValue {
  std::string_view name;
  Type type;
};

/// The declarations of a subgraph on its inputs and outputs.
struct Signature {
  std::vector<DeclaredValue> inputs, outputs;
};

/// A node with a decoder, after checks: its attributes, inputs, outputs and subgraphs.
class DecodingForm {
 public:
  DecodingForm(const Draft& d, const SearchPorts& numbers)
      : op(d.op), name(d.name), described(d.describe()), in(d.in), wanted(d.wanted), ports(numbers) {}

  /// Takes all attributes of the node. Fails unless the node and its subgraphs have a form that ONNX Runtime runs on
  /// CPUs.
  Status read(Draft& d);
  Value input(std::size_t i) const { return i < in.size() ? in[i] : Value{}; }
  bool beams() const { return ports.choice == Choice::beams; }
  /// Returns the axis of a past along which the rows lie.
  std::int64_t rows_axis() const { return attrs.model_type == kGptModel ? 1 : 0; }
  bool wants_scores() const { return beams() && wanted.size() > 2 && wanted[2]; }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> error(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(described, Code::bad_model, format, std::forward<A>(args)...);
  }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> unsupported(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(described, Code::unsupported, format, std::forward<A>(args)...);
  }

  const std::string op, name, described;
  const std::vector<Value> in;
  const std::vector<bool> wanted;
  const SearchPorts& ports;
  SearchAttrs attrs;
  std::optional<GraphAttr> decoder, encoder, init_decoder;
  Signature decoder_signature, encoder_signature;
  std::int64_t vocabulary = 0;  ///< the last extent of the logits

 private:
  Status read_attributes(Draft& d);
  Status check_inputs(const Draft& d) const;
  Result<Signature> signature(const GraphAttr& graph, std::string_view attr) const;
  Status check_names(const std::vector<DeclaredValue>& values, std::initializer_list<std::string_view> names,
                     std::string_view what) const;
  Status check_vocabulary(const Type& logits);
  Status check_gpt(const Signature& s, std::string_view attr);
  Status check_decoder();
  Status check_encoder() const;
};

}  // namespace frazil::onnx::rules
