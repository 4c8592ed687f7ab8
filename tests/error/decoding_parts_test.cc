// Invalid operands and attributes of the parts of decoding loops: a one-line error on both tiers.
#include "error/refusal_rows.h"

namespace frazil::test {
namespace {

std::vector<IndexRow> decoding_index_rows() {
  const std::string_view ids = "%x = i32[2,3] 1";
  return {
      {{"frazil::RepeatRows(%x, %n)", ids, "%n = i32[1] 2"},
       {{"%n = i32[1] 0", "num_beams 0 is outside [1, 129)"},
        {"%n = i32[1] 129", "num_beams 129"},
        {"%n = i32[1] -2147483648", "num_beams -2147483648"},
        {"%n = i32[2] 2", "1|2"}}},
      {{"frazil::PromptInputs(%x, %m) {pad_token_id = 0}", ids, "%m = i32[2,3] 1"},
       {{"%m = i32[2,4] 1", "'attention_mask'"}, {"%m = i32[1,3] 1", "'attention_mask'"}}},
      {{"frazil::PromptInputs(%x) {pad_token_id = 0}", "", "%x = i32[1,1] 1"}, {{"%x = i32[2] 1", "2 axes"}}},
      {{"frazil::NextInputs(%x, %p)", ids, "%p = i32[2,1] 1", 2},
       {{"%p = i32[1,1] 1", "'position'"}, {"%p = i32[2,2] 1", "'position'"}}},
      {{"frazil::StepCount(%m, %x)", ids, "%m = i32[] 4096"},
       {{"%m = i32[] 3", "max_length 3 is outside [4, 4097)"},
        {"%m = i32[] 4097", "max_length 4097"},
        {"%m = i32[] -1", "max_length -1"},
        {"%m = i32[2] 4", "1|2"}}},
      {{"frazil::TokenScores(%l, %x, i64[] 0, f32[] 2) {eos_token_id = 0}", "%l = f32[2,1,4] 1", "%x = i32[2,3] 1"},
       {{"%x = i32[2,3] 4", "token 4 is outside [0, 4)"},
        {"%x = i32[2,3] -1", "token -1"},
        {"%x = i32[3,3] 1", "'logits'"}}},
      {{"frazil::TokenScores(%l, i32[2,3] 1, i64[] 0, _, %v, %f, %m, %p) {eos_token_id = 0, presence_penalty = 1}",
        "%l = f32[2,1,4] 1", "%v = i32[4] 1, %f = i32[2,4] 1, %m = i32[] 1, %p = i32[2,4] 1"},
       {{"%v = i32[3] 1, %f = i32[2,4] 1, %m = i32[] 1, %p = i32[2,4] 1", "'vocab_mask'|broadcast"},
        {"%v = i32[4] 1, %f = i32[1,4] 1, %m = i32[] 1, %p = i32[2,4] 1", "'prefix_vocab_mask'|broadcast"},
        {"%v = i32[4] 1, %f = i32[2,4] 1, %m = i32[2] 1, %p = i32[2,4] 1", "1|2"},
        {"%v = i32[4] 1, %f = i32[2,4] 1, %m = i32[] 1, %p = i32[2,5] 1", "'presence_mask'|broadcast"}}},
      {{"frazil::SampledTokens(%s, i64[] 0, %n)", "%s = f32[2,3] 1", "%n = i32[] -5"}, {{"%n = i32[2] 1", "seed"}}},
      {{"frazil::AppendTokens(%t, %x, bool[2] false) {eos_token_id = 0, pad_token_id = 0}", "",
        "%t = i64[2] 1, %x = i32[2,3] 1", 4},
       {{"%t = i64[3] 1, %x = i32[2,3] 1", ""}, {"%t = i64[2] 1, %x = i32[3,3] 1", ""}}},
      {{"frazil::PadSequences(%x, %m)", ids, "%m = i32[] 3"},
       {{"%m = i32[] 2", "max_length 2 is outside [3, 4097)"}, {"%m = i32[] 2147483647", "max_length 2147483647"}}},
      {{"frazil::UniformOf(%n, %s, i64[] 0)", "", "%n = i64[1] 2, %s = i64[] -1"},
       {{"%n = i64[1] -1, %s = i64[] 1", "negative"},
        {"%n = i64[1] " HIGH ", %s = i64[] 1", "limit", true},
        {"%n = i64[2] 1, %s = i64[] 1", ""},
        {"%n = i64[1] 1, %s = i64[2] 1", "seed"}}},
      {{"frazil::BeamStart(%x, %n, %m) {pad_token_id = 0}", ids, "%n = i32[] 2, %m = i32[] 4", 5},
       {{"%n = i32[] 0, %m = i32[] 4", "num_beams 0"},
        {"%n = i32[] 200, %m = i32[] 4", "num_beams 200"},
        {"%n = i32[] 2, %m = i32[] -1", "max_length -1"}}},
      {{"frazil::BeamStep(f32[2,3] 1, f32[1,2] 1, %x, bool[1] false, %k, f32[1,2] 0, %t) {eos_token_id = 0, "
        "pad_token_id = 0}",
        "", "%x = i32[2,3] 1, %k = i64[1] 0, %t = i32[1,2,4] 1", 9},
       {{"%x = i32[2,3] 1, %k = i64[1] 3, %t = i32[1,2,4] 1", "kept: expected a count from 0 to 2, got 3"},
        {"%x = i32[2,3] 1, %k = i64[1] -1, %t = i32[1,2,4] 1", "got -1"},
        {"%x = i32[2,3] 1, %k = i64[1] 0, %t = i32[1,2,2] 1", "sequences of 3 tokens exceed the limit of 2"},
        {"%x = i32[3,3] 1, %k = i64[1] 0, %t = i32[1,2,4] 1", ""},
        {"%x = i32[2,3] 1, %k = i64[2] 0, %t = i32[1,2,4] 1", ""}}},
      {{"frazil::BeamRank(f32[1,4] 1, %t, %b, i32[2,3] 1, bool[1] false, i64[1] 0, f32[1,2] 0, i32[1,2,4] 1, f32[] 1) "
        "{eos_token_id = 0, pad_token_id = 0}",
        "", "%t = i64[1,4] 1, %b = i64[1,4] [[0, 1, 1, 0]]", 7},
       {{"%t = i64[1,4] 1, %b = i64[1,4] 2", "beams: expected an index from 0 to 1, got 2"},
        {"%t = i64[1,4] 1, %b = i64[1,4] -1", "got -1"},
        {"%t = i64[1,4] 0, %b = i64[1,4] 1", "4 candidates do not fill 2 beams"},
        {"%t = i64[1,3] 1, %b = i64[1,4] 1", ""}}},
      {{"frazil::BeamResult(%x, f32[1,2] 1, bool[1] false, %k, f32[1,2] 0, i32[1,2,4] 1, f32[] 1, %n) {pad_token_id = "
        "0}",
        "", "%x = i32[2,3] 1, %k = i64[1] 0, %n = i64[1] 2", 2},
       {{"%x = i32[2,3] 1, %k = i64[1] 0, %n = i64[1] 3", "count: expected a number from 0 to 2, got 3|3"},
        {"%x = i32[2,3] 1, %k = i64[1] 0, %n = i64[1] -1", "-1"},
        {"%x = i32[2,3] 1, %k = i64[1] 0, %n = i64[2] 1", "'count'"},
        {"%x = i32[2,3] 1, %k = i64[1] 9, %n = i64[1] 1", "got 9"},
        {"%x = i32[2,5] 1, %k = i64[1] 0, %n = i64[1] 1", "sequences of 5 tokens exceed the limit of 4"}}},
      {{"frazil::BeamEnd(i32[2,3] 1, f32[1,2] 1, bool[1] false, i64[1] 0, f32[1,2] 0, i32[1,2,4] 1, %n) {pad_token_id "
        "= 0}",
        "", "%n = i32[] 2", 2},
       {{"%n = i32[] 3", "num_return_sequences 3 is outside [1, 3)"}, {"%n = i32[] 0", "num_return_sequences 0"}}},
      {{"frazil::StepScores(f32[1,2,3] 1, %s, %n)", "", "%s = i64[] 2, %n = i32[] 2"},
       {{"%s = i64[] 0, %n = i32[] 2", "steps 0 is outside [1, 4097)"},
        {"%s = i64[] 2, %n = i32[] 0", ""},
        {"%s = i64[] 2, %n = i32[] 3", ""},
        {"%s = i64[] " HIGH ", %n = i32[] 2", "steps " HIGH}}},
  };
}

class DecodingIndices : public testing::TestWithParam<IndexRow> {};

TEST_P(DecodingIndices, AreRefusedHoweverTheyCome) { expect_bad_indices(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, DecodingIndices, testing::ValuesIn(decoding_index_rows()),
                         [](const auto& row) { return name_of_row(row.param.call.text, row.index); });

std::vector<AttrRow> decoding_attribute_rows() {
  return {{"frazil::TokenScores(%l, i32[1,2] 1, i64[] 0)",
           "%l = f32[1,1,3] 1",
           "eos_token_id = 0, no_repeat_ngram_size = 2",
           {{"eos_token_id = 0, no_repeat_ngram_size = " HIGH, "limit|memory|large|" HIGH, true}}}};
}

TEST(DecodingAttributes, AreRefused) {
  for (const AttrRow& row : decoding_attribute_rows()) expect_bad_attributes(row);
}

/// Switches, tokens and counts, for which every number is valid.
const std::set<std::string_view> kFreeDecodingAttributes = {
    "custom", "early_stopping", "eos_token_id", "leading", "log_softmax", "min_tokens_to_keep", "pad_token_id"};

TEST(DecodingTables, CoverEveryPart) {
  const auto rows = decoding_index_rows();
  std::set<std::string_view> covered;
  for (const IndexRow& row : rows) covered.insert(op_in(row.call.text));
  EXPECT_EQ(covered, kDecodingParts);
  const auto attributes = decoding_attribute_rows();
  auto tried = tried_attributes(attributes);
  for (const OpDef* op : OpRegistry::global().all()) {
    if (kDecodingParts.contains(op->name)) expect_integers_tried(*op, tried[op->name], kFreeDecodingAttributes);
  }
}

}  // namespace
}  // namespace frazil::test
