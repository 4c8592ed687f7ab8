// Import of decoding loops of com.microsoft: the graph that they become, and the forms that are refused.
#include "import_testing.h"
#include "ir/text/text.h"
#include "onnx/export/export.h"
#include "suite/decoders.h"

namespace frazil::test {
namespace {

DecodingCase search(std::string op, std::string form) {
  return {.name = "search", .op = std::move(op), .form = std::move(form), .prompt = {{5, 9, 2}}};
}

std::size_t count_of(const std::string& names, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = names.find(name); at != std::string::npos; at = names.find(name, at + 1)) ++count;
  return count;
}

TEST(ImportDecoding, BecomesALoopAroundTheDecoder) {
  DecodingCase c = search("GreedySearch", "gpt");
  c.constants = true;
  const Graph g = imported(import(decoding_model(c)));
  const std::string names = op_names(g);
  EXPECT_EQ(count_of(names, "Loop"), 1U) << names;
  EXPECT_EQ(count_of(names, "Softmax"), 0U) << names;
  EXPECT_EQ(output_type(g), "i32[input_ids0,12]");
  const NodeId loop = *std::ranges::find_if(g.main().nodes, [&](NodeId n) { return g.node(n).op->name == "Loop"; });
  const std::string body = op_names(g, g.node(loop).blocks[0]);
  EXPECT_EQ(count_of(body, "Softmax"), static_cast<std::size_t>(kLayers)) << body;
  for (const char* part : {"TokenScores", "AppendTokens", "NextInputs"}) EXPECT_EQ(count_of(body, part), 1U) << body;
}

TEST(ImportDecoding, FirstStepBeforeTheLoop) {
  for (const char* form : {"gpt init", "t5", "whisper"}) {
    const std::string names = op_names(imported(import(decoding_model(search("BeamSearch", form)))));
    EXPECT_EQ(count_of(names, "BeamStep"), 1U) << form << ": " << names;
  }
  const std::string names = op_names(imported(import(decoding_model(search("BeamSearch", "t5 new")))));
  EXPECT_EQ(count_of(names, "BeamStep"), 0U) << names;
}

TEST(ImportDecoding, IsWrittenAsItsLoop) {
  for (const char* form : {"gpt", "t5"}) {
    const Graph g = imported(import(decoding_model(search("BeamSearch", form))));
    const auto bytes = onnx::export_model(g);
    ASSERT_TRUE(bytes) << bytes.error().text();
    const Graph again = imported(import(*bytes));
    EXPECT_EQ(op_names(again), op_names(g));
  }
}

/// A case whose model has a part of its bytes replaced by other bytes of the same length.
struct Changed {
  DecodingCase search;
  std::string from, to;
  Code code;
  std::vector<std::string> fault;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, to.size(), to);
  return text;
}

TEST(ImportDecoding, OtherFormsOfSubgraphsAreRefused) {
  const DecodingCase gpt = search("GreedySearch", "gpt"), t5 = search("BeamSearch", "t5");
  const Changed rows[] = {
      {gpt,
       "position_ids",
       "position_idx",
       Code::bad_model,
       {"'decoder': its input 1: expected 'position_ids', got 'position_idx'"}},
      {gpt, "past_0", "last_0", Code::bad_model, {"'decoder': its input 3: expected 'past_0', got 'last_0'"}},
      {gpt, "present_0", "percent_0", Code::bad_model, {"its output 1: expected 'present_0', got 'percent_0'"}},
      {gpt, "eos_token_id", "eos_tokon_id", Code::bad_model, {"'eos_token_id': expected a token"}},
      {gpt, "pad_token_id", "pad_tokon_id", Code::bad_model, {"'pad_token_id': expected a token"}},
      {gpt, "decoder", "docoder", Code::bad_model, {"it has no attribute 'docoder'"}},
      {t5, "encoder", "oncoder", Code::bad_model, {"it has no attribute 'oncoder'"}},
      {t5, "encoder_attention_mask", "encoder_attentive_mask", Code::bad_model, {"'encoder_attention_mask'"}},
      {t5,
       "encoder_input_ids",
       "encoder_input_idz",
       Code::bad_model,
       {"'encoder': its input 0: expected 'encoder_input_ids'"}},
  };
  for (const auto& [c, from, to, code, parts] : rows) {
    const auto result = import(replaced(decoding_model(c), from, to));
    expect_fault(result, code, {"node 'search' (" + c.op + ")", parts[0]});
  }
}

/// A model of GreedySearch or BeamSearch whose node has other attributes, or other inputs.
GraphSpec with_attributes(const DecodingCase& c, std::vector<Message> more) {
  GraphSpec spec;
  Names names;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    names.push_back(tensor ? name : "");
    if (tensor) spec.inputs.push_back(value(name, tensor_type(tensor->elem(), Names(tensor->rank(), ""))));
  }
  std::vector<Message> attrs = decoding_attributes(c);
  attrs.insert(attrs.end(), more.begin(), more.end());
  spec.nodes = {{c.op, names, {"sequences"}, attrs, "search", "com.microsoft"}};
  spec.outputs = {value("sequences")};
  return spec;
}

TEST(ImportDecoding, AttributesAndPortsThatAreRefused) {
  const ModelSpec model{.opset = 17, .opsets = {{"com.microsoft", 1}}};
  const DecodingCase gpt = search("GreedySearch", "gpt"), beams = search("BeamSearch", "gpt");
  const DecodingCase whisper = search("WhisperBeamSearch", "whisper");
  expect_fault(import(with_attributes(gpt, {attr("early_stopping", 1)}), model), Code::bad_model,
               {"(GreedySearch)", "it has no attribute 'early_stopping'"});
  expect_fault(import(with_attributes(gpt, {attr("model_type", 1)}), model), Code::unsupported,
               {"(GreedySearch)", "attribute 'model_type' 1 is not supported; expected 0"});
  expect_fault(import(with_attributes(beams, {attr("model_type", 3)}), model), Code::unsupported,
               {"(BeamSearch)", "attribute 'model_type' 3 is not supported; expected 0, 1 or 2"});
  expect_fault(import(with_attributes(beams, {attr("vocab_size", 19)}), model), Code::unsupported,
               {"(BeamSearch)", "attribute 'vocab_size' is 19, the last extent of 'logits' 20"});
  expect_fault(import(with_attributes(whisper, {attr("decoder_output_cross_qk", 1)}), model), Code::unsupported,
               {"(WhisperBeamSearch)", "attribute 'decoder_output_cross_qk' is not supported"});
  GraphSpec without = with_attributes(gpt, {});
  without.nodes[0].attrs.pop_back();
  expect_fault(import(without, model), Code::bad_model, {"(GreedySearch)", "attribute 'decoder' is missing"});
  GraphSpec missing = with_attributes(gpt, {});
  missing.nodes[0].inputs[1] = "";
  expect_fault(import(missing, model), Code::bad_model, {"(GreedySearch)", "input 'max_length' is missing"});
  GraphSpec more = with_attributes(beams, {});
  more.nodes[0].inputs.resize(12);
  more.nodes[0].inputs[11] = "max_length";
  expect_fault(import(more, model), Code::unsupported, {"(BeamSearch)", "input 'logits_processor'"});
  GraphSpec outputs = with_attributes(search("Sampling", "gpt"), {});
  outputs.nodes[0].outputs.push_back("filtered_logits");
  expect_fault(import(outputs, model), Code::unsupported, {"(Sampling)", "output 1 is not supported"});
}

/// Buffers that past and present share are for other devices.
TEST(ImportDecoding, SharedBuffersAreRefused) {
  GraphSpec spec = with_attributes(search("GreedySearch", "gpt"), {});
  Message decoder = gpt_decoder(1);
  decoder = text(decoder, 11, value("past_sequence_length", tensor_type(Elem::i32, {"1"})));
  spec.nodes[0].attrs = {attr("eos_token_id", 3), attr("pad_token_id", 0), graph_attr("decoder", decoder)};
  expect_fault(import(spec, ModelSpec{.opset = 17, .opsets = {{"com.microsoft", 1}}}), Code::unsupported,
               {"(GreedySearch)", "'decoder': its input 'past_sequence_length' belongs to buffers"});
}

}  // namespace
}  // namespace frazil::test
