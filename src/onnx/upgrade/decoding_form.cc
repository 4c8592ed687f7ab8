#include "onnx/upgrade/decoding_form.h"

#include <algorithm>

namespace frazil::onnx::rules {
namespace {

constexpr std::array<std::size_t, 2> kWhisperRefused{12, 13};  ///< cross_qk_layer_head and extra_decoding_ids

}  // namespace

Status DecodingForm::read_attributes(Draft& d) {
  SearchAttrs& a = attrs;
  FRAZIL_TRY(const auto eos, d.take<std::int64_t>("eos_token_id"));
  FRAZIL_TRY(const auto pad, d.take<std::int64_t>("pad_token_id"));
  if (!eos || *eos < 0) return d.error("attribute 'eos_token_id': expected a token, got {}", eos.value_or(-1));
  if (!pad || *pad < 0) return d.error("attribute 'pad_token_id': expected a token, got {}", pad.value_or(-1));
  a.eos = *eos;
  a.pad = *pad;
  FRAZIL_TRY(a.model_type, d.take_or<std::int64_t>("model_type", op == "WhisperBeamSearch" ? kWhisperModel : 0));
  FRAZIL_TRY(a.start_token, d.take_or<std::int64_t>("decoder_start_token_id", -1));
  FRAZIL_TRY(a.ngram, d.take_or<std::int64_t>("no_repeat_ngram_size", 0));
  FRAZIL_TRY(a.vocab_size, d.take_or<std::int64_t>("vocab_size", -1));
  if (beams()) {
    FRAZIL_TRY(a.early_stopping, d.take_or<std::int64_t>("early_stopping", 0));
    if (op == "WhisperBeamSearch") {
      FRAZIL_TRY(const auto cross, d.take_or<std::int64_t>("decoder_output_cross_qk", 0));
      if (cross != 0) return d.unsupported("attribute 'decoder_output_cross_qk' is not supported; leave it out");
      d.drop("no_speech_token");  // read by an output that is not supported
    }
  }
  if (ports.choice == Choice::sampling) {
    FRAZIL_TRY(a.presence_penalty, d.take_or<float>("presence_penalty", 0));
    FRAZIL_TRY(a.temperature, d.take_or<float>("temperature", 1));
    std::swap(a.sampling, d.attrs);  // the others are those of frazil.SampledTokens, which checks them
  }
  if (!d.attrs.empty()) return d.error("it has no attribute '{}'", proto::shown(d.attrs[0].name));
  return {};
}

Status DecodingForm::check_inputs(const Draft& d) const {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool refused = op == "WhisperBeamSearch" && std::ranges::find(kWhisperRefused, i) != kWhisperRefused.end();
    if (in[i] && (refused || i >= ports.count)) return unsupported("input {} is not supported; leave it out", i);
  }
  if (!d.has(0)) return error("input 'input_ids' is missing");
  if (!d.has(kMaxLength)) return error("input 'max_length' is missing");
  if (beams() && !d.has(ports.num_beams)) return error("input 'num_beams' is missing");
  if (beams() && !d.has(ports.num_return_sequences)) return error("input 'num_return_sequences' is missing");
  if (input(ports.logits_processor)) {
    const Tensor* processor = d.constant(ports.logits_processor);
    if (processor == nullptr || processor->count() != 1 || processor->integer_at(0) != 0) {
      return unsupported("input 'logits_processor' is supported with the constant 0 only; leave it out");
    }
  }
  for (std::size_t i = beams() ? 3 : 1; i < wanted.size(); ++i) {
    if (wanted[i]) return unsupported("output {} is not supported; leave it out", i);
  }
  return {};
}

Result<Signature> DecodingForm::signature(const GraphAttr& graph, std::string_view attr) const {
  FRAZIL_TRY(const GraphParts parts, read_graph(graph.bytes));
  Graph scratch;
  Builder types(scratch);
  const Source anything{.keep_alive = {}, .external = {}, .max_name = ~std::size_t{0}};
  Signature s;
  const auto read = [&](const std::vector<Bytes>& from, std::vector<DeclaredValue>& to) -> Status {
    for (const Bytes bytes : from) {
      FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
      if (!info.type) return error("attribute '{}': '{}' has no type", attr, proto::shown(info.name));
      FRAZIL_TRY(Type type, read_type(*info.type, types, info.name, anything));
      if (!type.is_tensor() || !type.ranked) {
        return error("attribute '{}': '{}': expected a tensor with a shape, got {}", attr, proto::shown(info.name),
                     str(type, scratch.scope()));
      }
      to.push_back({info.name, std::move(type)});
    }
    return {};
  };
  FRAZIL_CHECK(read(parts.inputs, s.inputs));
  FRAZIL_CHECK(read(parts.outputs, s.outputs));
  for (const DeclaredValue& v : s.inputs) {
    if (v.name != "past_sequence_length" && v.name != "beam_width" && v.name != "cache_indirection") continue;
    return unsupported(
        "attribute '{}': its input '{}' belongs to buffers that past and present share; export it without them", attr,
        v.name);
  }
  return s;
}

Status DecodingForm::check_names(const std::vector<DeclaredValue>& values,
                                 std::initializer_list<std::string_view> names, std::string_view what) const {
  std::size_t i = 0;
  for (const std::string_view expected : names) {
    if (i >= values.size()) return error("{} {}: expected '{}', got none", what, i, expected);
    if (values[i].name != expected) {
      return error("{} {}: expected '{}', got '{}'", what, i, expected, proto::shown(values[i].name));
    }
    ++i;
  }
  return {};
}

Status DecodingForm::check_vocabulary(const Type& logits) {
  if (logits.rank() != 3) return error("'logits' of the decoder: expected 3 axes, got {}", logits.rank());
  if (!logits.shape[2].is_const() || logits.shape[2].value() < 1) {
    return error("'logits' of the decoder: expected a positive number as last extent");
  }
  vocabulary = logits.shape[2].value();
  if (attrs.vocab_size > 0 && vocabulary != attrs.vocab_size) {
    return unsupported("attribute 'vocab_size' is {}, the last extent of 'logits' {}; they must be equal",
                       attrs.vocab_size, vocabulary);
  }
  return {};
}

Status DecodingForm::check_gpt(const Signature& s, std::string_view attr) {
  const std::string inputs = fmt::format("attribute '{}': its input", attr);
  const std::string outputs = fmt::format("attribute '{}': its output", attr);
  FRAZIL_CHECK(check_names(s.inputs, {"input_ids", "position_ids", "attention_mask", "past_0"}, inputs));
  FRAZIL_CHECK(check_names(s.outputs, {"logits", "present_0"}, outputs));
  if (s.inputs.size() != s.outputs.size() + 2) {
    return error("attribute '{}': it has {} inputs and {} outputs, expected 2 more inputs than outputs", attr,
                 s.inputs.size(), s.outputs.size());
  }
  return check_vocabulary(s.outputs[0].type);
}

Status DecodingForm::check_decoder() {
  const Signature& s = decoder_signature;
  const std::size_t before = 1 + (s.inputs.size() > 1 && s.inputs[1].name == "encoder_attention_mask" ? 1U : 0U);
  FRAZIL_CHECK(check_names(s.inputs, {"input_ids"}, "attribute 'decoder': its input"));
  FRAZIL_CHECK(check_names(s.outputs, {"logits"}, "attribute 'decoder': its output"));
  if (attrs.model_type == kT5Model && before != 2) {
    return error("attribute 'decoder': its input 1: expected 'encoder_attention_mask'");
  }
  const bool hidden = s.inputs.size() > before && s.inputs[before].name == "encoder_hidden_states";
  const std::size_t past = s.inputs.size() - before - (hidden ? 1U : 0U);
  if (past == 0 || past % 4 != 0 || s.outputs.size() != 1 + past / 2) {
    return error(
        "attribute 'decoder': it has {} inputs for past keys and values and {} outputs, expected 4 inputs and 2 "
        "outputs "
        "for each layer, and 'logits'",
        past, s.outputs.size());
  }
  return check_vocabulary(s.outputs[0].type);
}

Status DecodingForm::check_encoder() const {
  const Signature& s = encoder_signature;
  const std::string_view inputs = "attribute 'encoder': its input", outputs = "attribute 'encoder': its output";
  const std::size_t past = 2 * (decoder_signature.outputs.size() - 1);
  if (attrs.model_type == kWhisperModel) {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "decoder_input_ids"}, inputs));
  } else if (attrs.start_token >= 0 && s.inputs.size() != 2) {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "encoder_attention_mask", "decoder_input_ids"}, inputs));
  } else {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "encoder_attention_mask"}, inputs));
    FRAZIL_CHECK(check_names(s.outputs, {"present_key_cross_0", "present_value_cross_0"}, outputs));
    if (s.outputs.size() == past / 2) return {};
    return error("attribute 'encoder': it has {} outputs, expected {}", s.outputs.size(), past / 2);
  }
  FRAZIL_CHECK(check_names(s.outputs, {"logits", "encoder_hidden_states"}, outputs));
  if (s.outputs.size() == past + 2) return {};
  return error("attribute 'encoder': it has {} outputs, expected {}", s.outputs.size(), past + 2);
}

Status DecodingForm::read(Draft& d) {
  FRAZIL_TRY(decoder, d.take_graph("decoder"));
  FRAZIL_TRY(encoder, d.take_graph("encoder"));
  FRAZIL_TRY(init_decoder, d.take_graph("init_decoder"));
  FRAZIL_CHECK(read_attributes(d));
  FRAZIL_CHECK(check_inputs(d));
  if (!decoder) return error("attribute 'decoder' is missing");
  FRAZIL_TRY(decoder_signature, signature(*decoder, "decoder"));
  if (attrs.model_type == kGptModel) {
    FRAZIL_CHECK(check_gpt(decoder_signature, "decoder"));
    if (!init_decoder) return {};
    FRAZIL_TRY(const Signature first, signature(*init_decoder, "init_decoder"));
    if (first.inputs.size() != decoder_signature.inputs.size()) {
      return error("attributes 'decoder' and 'init_decoder' have {} and {} inputs", decoder_signature.inputs.size(),
                   first.inputs.size());
    }
    return check_gpt(first, "init_decoder");
  }
  const bool known = attrs.model_type == kT5Model || attrs.model_type == kWhisperModel;
  if (!beams() || !known) {
    return unsupported("attribute 'model_type' {} is not supported; expected {}", attrs.model_type,
                       beams() ? "0, 1 or 2" : "0");
  }
  if (!encoder) return error("attribute 'encoder' is missing");
  FRAZIL_TRY(encoder_signature, signature(*encoder, "encoder"));
  FRAZIL_CHECK(check_decoder());
  return check_encoder();
}

}  // namespace frazil::onnx::rules
