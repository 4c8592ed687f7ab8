// What the readers of configuration take, and what they say about the rest.
#include <cmath>
#include <fstream>

#include <frazil/error.h>
#include <gmock/gmock.h>

#include "error/tool.h"
#include "server/config/config_pbtxt.h"
#include "server/config/config_yaml.h"
#include "server/config/text_proto.h"
#include "server/config/yaml.h"
#include "server/core/digest.h"

namespace frazil::test {
namespace {

using server::ReadConfig;
using server::ServerConfig;
using server::TextField;
using server::TextMessage;
using server::VersionPolicy;
using std::chrono::microseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// The message of the error that is thrown; empty without one.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const api::Error& error) {
    EXPECT_EQ(error.code(), api::Code::bad_input);
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    return error.what();
  }
  return "";
}

/// A text and a part of its error.
using BadText = std::pair<std::string, const char*>;

template <class Read>
void expect_bad(const std::vector<BadText>& cases, Read read) {
  for (const auto& [text, part] : cases) {
    const std::string error = error_of([&] { read(text); });
    EXPECT_THAT(error, HasSubstr(part)) << text.substr(0, 300);
    EXPECT_THAT(error, StartsWith("f:")) << text.substr(0, 300);
  }
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// One line for a message: a{b:1 c:"x"}.
std::string line_of(const TextMessage& message) {
  std::string line;
  for (const TextField& field : message.fields) {
    line += (line.empty() ? "" : " ") + field.name;
    switch (field.kind) {
      case TextField::Kind::message: line += "{" + line_of(field.message) + "}"; break;
      case TextField::Kind::string: line += ":'" + field.text + "'"; break;
      case TextField::Kind::number: line += ":#" + field.text; break;
      case TextField::Kind::word: line += ":" + field.text; break;
      case TextField::Kind::none: line += ":[]"; break;
    }
  }
  return line;
}

TEST(TextProtoTest, ReadsTheFormat) {
  const std::pair<std::string, const char*> cases[] = {
      {"", ""},
      {"# nothing\n\n  # more", ""},
      {"\xef\xbb\xbf"
       "a: 1",
       "a:#1"},
      {"a: 1 b: 2", "a:#1 b:#2"},
      {"a:1,b:2;c:3", "a:#1 b:#2 c:#3"},
      {"a: -1 b: - 2 c: -\n# x\n3", "a:#-1 b:#-2 c:#-3"},
      {"a: 0x1F b: 017 c: 0 d: 1.5 e: 1e-3 f: .5 g: 2f h: 1.", "a:#0x1F b:#017 c:#0 d:#1.5 e:#1e-3 f:#.5 g:#2f h:#1."},
      {"a: inf b: -inf c: nan d: TYPE_FP32", "a:inf b:-inf c:nan d:TYPE_FP32"},
      {"a { b: 1 }", "a{b:#1}"},
      {"a: { b: 1 }", "a{b:#1}"},
      {"a < b: 1 > c: <>", "a{b:#1} c{}"},
      {"a { b { c { } } };", "a{b{c{}}}"},
      {"a: [1, 2,3]", "a:#1 a:#2 a:#3"},
      {"a: []", "a:[]"},
      {"a [{b: 1}, <b: 2>]", "a{b:#1} a{b:#2}"},
      {"a: 1 a: 2", "a:#1 a:#2"},
      {"a: 'x' \"y\"\n 'z' # end\n b: 1", "a:'xyz' b:#1"},
      {R"(a: "\n\t\\\"\'\?\101\x41\x4a")", "a:'\n\t\\\"'?AAJ'"},
      {R"(a: "\u00e9\U0001F600\ud83d\ude00")", "a:'\u00e9\U0001F600\U0001F600'"},
      {R"(a: "# {" b: '"')", "a:'# {' b:'\"'"},
      {"[a.b.c]: 1 [type.url/x.Y] { z: 1 }", "[a.b.c]:#1 [type.url/x.Y]{z:#1}"},
      {"[ a . b ]: 1", "[a.b]:#1"},
  };
  for (const auto& [text, line] : cases) EXPECT_EQ(line_of(server::read_text_proto(text, "f")), line) << text;
}

TEST(TextProtoTest, TellsWhereAFieldIs) {
  const TextMessage message = server::read_text_proto("a: 1\n  b {\n c: [5,\n 6] }", "f");
  ASSERT_EQ(message.fields.size(), 2U);
  EXPECT_EQ(message.fields[1].line, 2U);
  EXPECT_EQ(message.fields[1].column, 3U);
  EXPECT_EQ(message.fields[1].message.fields[1].line, 4U);
}

TEST(TextProtoTest, NamesTheLineAndColumnOfAnError) {
  const std::vector<BadText> cases = {
      {"a", "f:1:2: expected ':' or a message, got the end"},
      {"a 1", "f:1:3: expected ':' or a message, got '1'"},
      {"a:", "f:1:3: expected a value, got the end"},
      {"a: }", "f:1:4: expected a value, got '}'"},
      {"\n\n  = 2", "f:3:3: expected a field's name, got '='"},
      {"a: 1 }", "f:1:6: expected a field's name, got '}'"},
      {"a {\n b: 1\n", "f:3:1: expected a field or '}' for line 1, got the end"},
      {"a { b: 1 >", "expected a field's name, got '>'"},
      {"a: [1, 2", "expected ',' or ']', got the end"},
      {"a: [1 2]", "f:1:7: expected ',' or ']', got '2'"},
      {"a: [1,]", "expected a value, got ']'"},
      {"a: [[1]]", "expected a value, got '['"},
      {"a: 'x", "f:1:4: expected a string that ends in its line"},
      {"a: 'x\n'", "f:1:4: expected a string that ends in its line"},
      {std::string("a: 'x\0y'", 8), "f:1:4: expected a string that ends in its line"},
      {R"(a: "\q")", "f:1:5: expected an escape, got 'q' after a backslash"},
      {R"(a: "\400")", "expected an escape of at most"},
      {R"(a: "\x")", "expected a digit of an escape"},
      {R"(a: "\ud800")", "expected a character of Unicode"},
      {R"(a: "\ud800\u0041")", "expected a character of Unicode"},
      {R"(a: "\U00110000")", "expected a character of Unicode"},
      {"a: 12x", "f:1:4: expected a number, got '12x'"},
      {"a: 1.2.3", "expected a number"},
      {"a: 089", "expected an octal number, got '089'"},
      {"a: 0x", "expected hexadecimal digits"},
      {"a: 1e", "expected digits of an exponent"},
      {"a: -", "expected a number, got the end"},
      {"a: -'x'", "expected a number"},
      {"[a: 1", "expected ']', got ':'"},
      {"[]: 1", "expected a name in brackets"},
      {"a: \x01", "got '\\x01'"},
      {repeated("a{", 101) + repeated("}", 101), "f:1:202: expected at most 100 levels of messages"},
      {repeated("a{", 100'000), "expected at most 100 levels of messages"},
      {repeated("n", 201) + ": 1", "expected a name of at most 200 bytes"},
      {repeated("#", (1U << 20U) + 1), "expected at most 1 MiB"},
  };
  expect_bad(cases, [](const std::string& text) { server::read_text_proto(text, "f"); });
  EXPECT_EQ(error_of([] { server::read_text_proto(repeated("a{", 100) + repeated("}", 100), "f"); }), "");
}

ReadConfig pbtxt(const std::string& text) { return server::read_config_pbtxt_text(text, "f"); }

constexpr const char* kConfig = R"(
name: "bert"
backend: "onnxruntime"
max_batch_size: 16
input [
  { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "mask" data_type: 8 dims: -1 dims: 0x4 }
]
output { name: "scores" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "labels.txt" }
output { name: "words" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }
instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 kind: KIND_GPU } ]
dynamic_batching {
  preferred_batch_size: [ 8, 4, 8 ]
  max_queue_delay_microseconds: 500
  priority_levels: 3
  default_priority_level: 2
  default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 50000 allow_timeout_override: true max_queue_size: 100 }
}
sequence_batching {
  max_sequence_idle_microseconds: 5000000
  oldest { max_candidate_sequences: 4 }
  state [ { input_name: "h" output_name: "hn" data_type: TYPE_FP32 dims: [ 1 ] initial_state { name: "z" zero_data: true dims: 1 data_type: TYPE_FP32 } } ]
}
version_policy: { specific: { versions: [1, 3] } }
model_warmup { name: "a" batch_size: 1 count: 3 inputs { key: "ids" value: { data_type: TYPE_INT64 dims: 8 zero_data: true } } }
model_warmup { name: "b" }
parameters { key: "frazil.deadline_ms" value: { string_value: "12.5" } }
parameters: { key: "frazil.memory_limit", value: { string_value: "1GiB" } }
parameters [
  { key: "frazil.pad" value: { string_value: "ids:1:0;mask:0:1:-inf;" } },
  { key: "frazil.lengths" value: { string_value: "len" } },
  { key: "frazil.max_waste" value: { string_value: "0.25" } },
  { key: "frazil.canary_rtol" value: { string_value: "0.5" } },
  { key: "frazil.canary_atol" value: { string_value: "2" } }
]
)";

TEST(ConfigPbtxtTest, ReadsWhatItKnows) {
  const ReadConfig read = pbtxt(kConfig);
  EXPECT_EQ(read.name, "bert");
  EXPECT_EQ(read.config.max_in_request, 16U);
  const server::Batching& batching = read.config.batching;
  EXPECT_EQ(batching.most, 16U);
  EXPECT_THAT(batching.preferred, ElementsAre(4, 8));
  EXPECT_EQ(batching.delay, microseconds(500));
  EXPECT_EQ(batching.levels, 3U);
  EXPECT_EQ(batching.default_level, 2U);
  EXPECT_EQ(batching.time_out, microseconds(50'000));
  EXPECT_EQ(batching.max_queued, 100U);
  ASSERT_EQ(batching.paddings.size(), 2U);
  EXPECT_EQ(batching.paddings[0].input, "ids");
  EXPECT_EQ(batching.paddings[1].input, "mask:0");
  EXPECT_EQ(batching.paddings[1].axis, 1U);
  EXPECT_EQ(batching.paddings[1].value, -INFINITY);
  EXPECT_EQ(batching.lengths, "len");
  EXPECT_EQ(batching.max_waste, 0.25);
  ASSERT_EQ(read.config.sequences.states.size(), 1U);
  EXPECT_EQ(read.config.sequences.states[0].input, "h");
  EXPECT_EQ(read.config.sequences.states[0].output, "hn");
  EXPECT_EQ(read.config.sequences.idle, std::chrono::seconds(5));
  EXPECT_EQ(read.config.versions.kind, VersionPolicy::Kind::specific);
  EXPECT_THAT(read.config.versions.specific, ElementsAre(1, 3));
  EXPECT_EQ(read.config.warm_up, 4U);
  EXPECT_EQ(read.config.canary.relative, 0.5);
  EXPECT_EQ(read.config.canary.absolute, 2);
  EXPECT_EQ(read.config.deadline_ms, 12.5);
  EXPECT_EQ(read.config.memory_limit, 1ULL << 30U);
  EXPECT_THAT(read.config.labels, ElementsAre(testing::Pair("scores", "labels.txt")));
}

TEST(ConfigPbtxtTest, TellsThePortsWithTheBatchAxis) {
  const ReadConfig read = pbtxt(kConfig);
  ASSERT_EQ(read.config.inputs.size(), 2U);
  EXPECT_EQ(read.config.inputs[0].name, "ids");
  EXPECT_EQ(read.config.inputs[0].datatype, "INT64");
  EXPECT_THAT(read.config.inputs[0].shape, ElementsAre(-1, -1));
  EXPECT_EQ(read.config.inputs[1].datatype, "INT32");
  EXPECT_THAT(read.config.inputs[1].shape, ElementsAre(-1, -1, 4));
  ASSERT_EQ(read.config.outputs.size(), 2U);
  EXPECT_EQ(read.config.outputs[1].datatype, "BYTES");
  EXPECT_THAT(read.config.outputs[1].shape, ElementsAre(-1)) << "what the model gives, before its reshape";
  const ReadConfig plain = pbtxt("input { name: 'x' dims: [ 3, -1 ] } output { name: 'y' }");
  EXPECT_THAT(plain.config.inputs[0].shape, ElementsAre(3, -1));
  EXPECT_TRUE(plain.config.inputs[0].has_shape);
  EXPECT_FALSE(plain.config.outputs[0].has_shape);
}

TEST(ConfigPbtxtTest, WarnsOnceOfEachFieldThatItIgnores) {
  const ReadConfig read = pbtxt(kConfig);
  EXPECT_THAT(read.warnings,
              ElementsAre(StartsWith("f:10: field 'output.reshape' is ignored: "),
                          StartsWith("f:11: field 'instance_group' is ignored: all models share the threads")));
}

TEST(ConfigPbtxtTest, WarnsOfWhatHasNoMeaning) {
  const std::pair<const char*, const char*> cases[] = {
      {"optimization { graph { level: 1 } }", "field 'optimization' is ignored: a model is optimized when"},
      {"ensemble_scheduling { step [] }",
       "field 'ensemble_scheduling' is ignored: its steps can be written as a pipeline"},
      {"response_cache { enable: true }", "field 'response_cache.enable' is ignored"},
      {"model_transaction_policy { decoupled: True }", "field 'model_transaction_policy.decoupled' is ignored"},
      {"wings: 2", "f:1: field 'wings' is ignored: it is unknown"},
      {"[my.ext] { a: 1 }", "field '[my.ext]' is ignored"},
      {"dynamic_batching { preserve_ordering: true }", "field 'dynamic_batching.preserve_ordering' is ignored"},
      {"dynamic_batching { wings: 2 }", "field 'dynamic_batching.wings' is ignored: it is unknown"},
      {"dynamic_batching { priority_queue_policy { key: 1 value: { } } }", "default_queue_policy holds for all levels"},
      {"dynamic_batching { default_queue_policy { timeout_action: DELAY } }",
       "a request whose time is over is refused"},
      {"sequence_batching { }", "field 'sequence_batching' has no effect"},
      {"sequence_batching { control_input { name: 'START' } state { input_name: 'a' output_name: 'b' } }",
       "field 'sequence_batching.control_input' is ignored"},
      {"sequence_batching { state { input_name: 'a' output_name: 'b' initial_state { data_file: 'x' } } }",
       "field 'sequence_batching.state.initial_state' is ignored"},
      {"model_warmup { inputs { key: 'x' value { random_data: true } } }", "a model is warmed up on zeros"},
      {"parameters { key: 'intra_op_thread_count' value { string_value: '2' } }",
       "field 'parameters.intra_op_thread_count' is ignored"},
      {"parameters { key: 'frazil.max_waste' value { string_value: '0' } }",
       "field 'parameters.frazil.max_waste' has no effect without dynamic_batching"},
      {"default_model_filename: 'm.onnx'", "a version's file is model.onnx or model.frzc"},
      {"input { name: 'x' allow_ragged_batch: true }", "the parameter \"frazil.pad\" joins"},
      {"input { name: 'x' label_filename: 'y' }", "field 'input.label_filename' is ignored: it is unknown"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_THAT(pbtxt(text).warnings, ElementsAre(HasSubstr(part))) << text;
  }
  for (const char* text :
       {"", "platform: 'onnxruntime_onnx'", "backend: 'frazil'", "backend: ''", "default_model_filename: 'model.onnx'",
        "response_cache { enable: false }", "model_transaction_policy { }",
        "sequence_batching { direct { } state { input_name: 'a' output_name: 'b' } }",
        "input { name: 'x' format: FORMAT_NCHW optional: false }", "input: []"}) {
    EXPECT_THAT(pbtxt(text).warnings, IsEmpty()) << text;
  }
}

TEST(ConfigPbtxtTest, JoinsRequestsOnlyWithDynamicBatching) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"", 0},
      {"max_batch_size: 8", 0},
      {"dynamic_batching { }", 0},
      {"dynamic_batching { } max_batch_size: 8", 8},
      {"max_batch_size: 0x10 dynamic_batching: { }", 16},
  };
  for (const auto& [text, most] : cases) EXPECT_EQ(pbtxt(text).config.batching.most, most) << text;
}

TEST(ConfigPbtxtTest, ServesTheVersionsThatTritonServes) {
  const std::tuple<const char*, VersionPolicy::Kind, std::uint64_t> cases[] = {
      {"", VersionPolicy::Kind::latest, 1},
      {"version_policy { }", VersionPolicy::Kind::latest, 1},
      {"version_policy { latest { } }", VersionPolicy::Kind::latest, 1},
      {"version_policy { latest { num_versions: 3 } }", VersionPolicy::Kind::latest, 3},
      {"version_policy { all { } }", VersionPolicy::Kind::all, 1},
  };
  for (const auto& [text, kind, latest] : cases) {
    EXPECT_EQ(pbtxt(text).config.versions.kind, kind) << text;
    EXPECT_EQ(pbtxt(text).config.versions.latest, latest) << text;
  }
}

std::string pbtxt_parameter(const std::string& key, const std::string& value) {
  return "parameters { key: '" + key + "' value { string_value: '" + value + "' } }";
}

TEST(ConfigPbtxtTest, NamesTheFieldOfAnError) {
  const std::vector<BadText> cases = {
      {"name: bert", "f:1: field 'name': expected a text in quotes, got 'bert'"},
      {"name: 'a'\nname: 'b'", "f:2: field 'name': expected it once, got it again"},
      {"name: []", "field 'name': expected a value, got an empty list"},
      {"name: '\\377'", "expected a text in UTF-8"},
      {"\nbackend: \"python\"", "f:2: field 'backend': expected \"onnxruntime\" or \"frazil\", got the text 'python'"},
      {"platform: 'tensorrt_plan'", "field 'platform': expected \"onnxruntime_onnx\", got the text 'tensorrt_plan'"},
      {"platform: 'ensemble'", "an ensemble can be written as a pipeline"},
      {"max_batch_size: -1", "field 'max_batch_size': expected a whole number from 0 to 2147483647, got '-1'"},
      {"max_batch_size: 1.5", "got '1.5'"},
      {"max_batch_size: 99999999999999999999", "got '99999999999999999999'"},
      {"max_batch_size: '8'", "got the text '8'"},
      {"max_batch_size { }", "got a message"},
      {"dynamic_batching: 1", "field 'dynamic_batching': expected a message, got '1'"},
      {"max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 2, 8 ] }",
       "field 'dynamic_batching.preferred_batch_size': expected at most max_batch_size, 4, got '8'"},
      {"dynamic_batching { priority_levels: 2\n default_priority_level: 3 }",
       "f:2: field 'dynamic_batching.default_priority_level': expected at most priority_levels, 2, got '3'"},
      {"dynamic_batching { max_queue_delay_microseconds: 99999999999999999 }", "expected a whole number from 0 to"},
      {"dynamic_batching { default_queue_policy { timeout_action: WAIT } }", "expected REJECT or DELAY, got 'WAIT'"},
      {"dynamic_batching { preserve_ordering: maybe }", "expected true or false, got 'maybe'"},
      {"input { data_type: TYPE_FP32 }", "field 'input': expected a field 'name', which is missing"},
      {"input { name: 'x' data_type: FP32 }", "field 'input.data_type': expected a type such as TYPE_FP32, got 'FP32'"},
      {"input { name: 'x' data_type: 15 }", "expected a whole number from 1 to 14, got '15'"},
      {"input { name: 'x' data_type: TYPE_INVALID }", "expected a type"},
      {"input { name: 'x' dims: 0 }", "expected an extent of at least 1, or -1, got '0'"},
      {"input { name: 'x' dims: -2 }", "expected a whole number from -1, got '-2'"},
      {"input { name: 'x' } input { name: 'x' }", "expected distinct names, got 'x' twice"},
      {"output { name: 'x' label_filename: '../x' }", "expected a file in the folder of the configuration"},
      {"output { name: 'x' label_filename: '/etc/passwd' }", "expected a file in the folder of the configuration"},
      {"version_policy { latest { } all { } }", "expected one of latest, all and specific, got several"},
      {"version_policy { latest { num_versions: 0 } }", "expected a whole number from 1"},
      {"version_policy { specific { } }", "expected a field 'versions', which is missing"},
      {"sequence_batching { state { input_name: 'x' } }", "expected the fields 'input_name' and 'output_name'"},
      {"sequence_batching { direct: 1 }", "expected a message, got '1'"},
      {pbtxt_parameter("frazil.deadline_ms", "soon"), "field 'parameters.frazil.deadline_ms': expected milliseconds"},
      {pbtxt_parameter("frazil.deadline_ms", "nan"), "expected milliseconds"},
      {pbtxt_parameter("frazil.memory_limit", "1GB"),
       "expected a number of bytes such as 1048576 or 512MiB, got the text '1GB'"},
      {pbtxt_parameter("frazil.memory_limit", "99999999TiB"), "expected a number of bytes"},
      {pbtxt_parameter("frazil.max_waste", "1.5"), "expected a share from 0 to 1"},
      {pbtxt_parameter("frazil.pad", "x"), "expected INPUT:AXIS:VALUE"},
      {pbtxt_parameter("frazil.pad", ""), "expected INPUT:AXIS:VALUE"},
      {pbtxt_parameter("frazil.pad", ":1:0"), "expected INPUT:AXIS:VALUE"},
      {pbtxt_parameter("frazil.pad", "x:64:0"), "expected INPUT:AXIS:VALUE with an axis from 0 to 63"},
      {pbtxt_parameter("frazil.pad", "x:1:nan"), "expected INPUT:AXIS:VALUE"},
      {pbtxt_parameter("frazil.pad", "x:1:0;x:1:2"), "expected distinct axes"},
      {pbtxt_parameter("frazil.lengths", "n"), "requires the parameter frazil.pad"},
      {pbtxt_parameter("frazil.wings", "2"), "field 'parameters.frazil.wings': this parameter is unknown"},
      {pbtxt_parameter("a", "1") + pbtxt_parameter("a", "2"), "expected distinct keys, got 'a' twice"},
      {"parameters { key: 'frazil.pad' }", "expected the fields 'key' and 'value'"},
      {"parameters { key: 'frazil.pad' value { } }", "expected a text in quotes, got a message"},
  };
  expect_bad(cases, pbtxt);
}

ServerConfig yaml(const std::string& text) { return server::read_server_config_text(text, "f"); }

constexpr const char* kServer = R"(# all of it
models:
  bert: {batching: {max_batch_size: 16, preferred: [8, 4], delay_us: 500, max_queue: 100, priority_levels: 2,
                    default_priority: 1, timeout_us: 50000, pad: {input_ids: {axis: 2, value: -.inf}, mask: 1},
                    lengths: len, max_waste: 0.3},
         deadline_ms: 100, memory_limit: 1GiB, warm_up: 2, canary: {rtol: 0, atol: 0.5},
         versions: {latest: 2}, labels: {y: names.txt}}
  vad: {state: {state: stateN, past: {output: present, axis: 2}}, idle_s: 0.5, versions: [3, 1]}
  "a.b": {versions: all}
tenants:
  - {name: shop, keys: [abc, sha256:A665A45920422F9D417E4867EFDC4FB8A04A1F3FFF1FA07E998E86F7F7A27AE3], max_waiting: 32, requests_per_second: 100, models: [bert]}
  - name: other
    keys: ["d:e"]
    admin: true
state: {memory: 256MiB, max_sequences: 1000, folder: /var/lib/frazil, redis: 127.0.0.1:6379, redis_prefix: "f:",
        pages: false}
paths: {ring: 10, sample: 0.5, inputs: true, otlp: "[::1]:4318", check: 0.01}
)";

TEST(ConfigYamlTest, ReadsModels) {
  const ServerConfig config = yaml(kServer);
  ASSERT_EQ(config.models.size(), 3U);
  const server::ModelConfig& bert = config.models.at("bert");
  EXPECT_EQ(bert.batching.most, 16U);
  EXPECT_THAT(bert.batching.preferred, ElementsAre(4, 8));
  EXPECT_EQ(bert.batching.delay, microseconds(500));
  EXPECT_EQ(bert.batching.max_queued, 100U);
  EXPECT_EQ(bert.batching.levels, 2U);
  EXPECT_EQ(bert.batching.default_level, 1U);
  EXPECT_EQ(bert.batching.time_out, microseconds(50'000));
  ASSERT_EQ(bert.batching.paddings.size(), 2U);
  EXPECT_EQ(bert.batching.paddings[0].input, "input_ids");
  EXPECT_EQ(bert.batching.paddings[0].axis, 2U);
  EXPECT_EQ(bert.batching.paddings[0].value, -INFINITY);
  EXPECT_EQ(bert.batching.paddings[1].axis, 1U);
  EXPECT_EQ(bert.batching.paddings[1].value, 0);
  EXPECT_EQ(bert.batching.lengths, "len");
  EXPECT_EQ(bert.batching.max_waste, 0.3);
  EXPECT_EQ(bert.deadline_ms, 100);
  EXPECT_EQ(bert.memory_limit, 1ULL << 30U);
  EXPECT_EQ(bert.warm_up, 2U);
  EXPECT_EQ(bert.canary.relative, 0);
  EXPECT_EQ(bert.canary.absolute, 0.5);
  EXPECT_EQ(bert.versions.kind, VersionPolicy::Kind::latest);
  EXPECT_EQ(bert.versions.latest, 2U);
  EXPECT_THAT(bert.labels, ElementsAre(testing::Pair("y", "names.txt")));
  const server::ModelConfig& vad = config.models.at("vad");
  EXPECT_EQ(vad.batching.most, 0U);
  EXPECT_EQ(vad.sequences.idle, microseconds(500'000));
  EXPECT_EQ(vad.sequences.states.at(0).input, "state");
  EXPECT_EQ(vad.sequences.states.at(0).output, "stateN");
  EXPECT_EQ(vad.sequences.states.at(0).axis, std::nullopt);
  EXPECT_EQ(vad.sequences.states.at(1).output, "present");
  EXPECT_EQ(vad.sequences.states.at(1).axis, 2U);
  EXPECT_THAT(vad.versions.specific, ElementsAre(3, 1));
}

TEST(ConfigYamlTest, ReadsTheServer) {
  const ServerConfig config = yaml(kServer);
  ASSERT_EQ(config.tenants.size(), 2U);
  EXPECT_EQ(config.tenants[0].name, "shop");
  EXPECT_THAT(config.tenants[0].keys,
              ElementsAre("sha256:" + server::sha256("abc"), "sha256:" + server::sha256("123")));
  EXPECT_EQ(config.tenants[0].max_waiting, 32U);
  EXPECT_EQ(config.tenants[0].requests_per_second, 100);
  EXPECT_THAT(config.tenants[0].models, ElementsAre("bert"));
  EXPECT_THAT(config.tenants[1].models, IsEmpty());
  EXPECT_FALSE(config.tenants[0].admin);
  EXPECT_TRUE(config.tenants[1].admin);
  EXPECT_EQ(config.state.memory_bytes, 256ULL << 20U);
  EXPECT_EQ(config.state.max_sequences, 1000U);
  EXPECT_EQ(config.state.folder, "/var/lib/frazil");
  EXPECT_EQ(config.state.redis, "127.0.0.1:6379");
  EXPECT_EQ(config.state.redis_prefix, "f:");
  EXPECT_EQ(config.state.page_bytes, 0U);
  EXPECT_EQ(config.paths.ring, 10U);
  EXPECT_EQ(config.paths.sample, 0.5);
  EXPECT_TRUE(config.paths.inputs);
  EXPECT_EQ(config.paths.otlp, "[::1]:4318");
  EXPECT_EQ(config.paths.check, 0.01);
}

TEST(ConfigYamlTest, LeavesTheRestAsItIs) {
  for (const char* text : {"", "# nothing\n", "---\n", "{}", "~"}) {
    const ServerConfig config = yaml(text);
    EXPECT_TRUE(config.models.empty() && config.tenants.empty()) << text;
    EXPECT_EQ(config.state.redis_prefix, "frazil:");
    EXPECT_GT(config.state.page_bytes, 0U);
    EXPECT_EQ(config.paths.ring, 1000U);
  }
  const server::RedisAccess access =
      yaml("state: {redis: 'a:1', redis_user: u, redis_password: p, redis_tls: {ca: c, certificate: d, key: k}}")
          .state.redis_access;
  EXPECT_EQ(access,
            (server::RedisAccess{
                .user = "u", .password = "p", .tls = server::TlsFiles{.ca = "c", .certificate = "d", .key = "k"}}));
  EXPECT_EQ(yaml("state: {redis: 'a:1', redis_tls: {}}").state.redis_access.tls, server::TlsFiles());
  EXPECT_EQ(yaml("models: {m: {defaults: fixed}}").models.at("m").defaults, server::Defaults::fixed);
  const ServerConfig shared = yaml("models: {a: {batching: &b {max_batch_size: 4}}, b: {batching: *b}}");
  EXPECT_EQ(shared.models.at("b").batching.most, 4U);
}

TEST(ConfigYamlTest, ReadsHowToReachRedis) {
  const TempFolder folder;
  const std::string file = folder / "password";
  std::ofstream(file) << "by file\n";
  ::setenv("FRAZIL_TEST_PASSWORD", "by environment", 1);
  const struct {
    std::string text, address;
    server::RedisAccess access;
  } cases[] = {{"redis: 'a:1'", "a:1", {}},
               {"redis: 'redis://a'", "a:6379", {}},
               {"redis: 'redis://[::1]:1/3'", "[::1]:1", {.database = 3}},
               {"redis: 'rediss://u:p%40@a:1/'", "a:1", {.user = "u", .password = "p@", .tls = server::TlsFiles()}},
               {"redis: 'redis://:p@a'", "a:6379", {.password = "p"}},
               {"redis: 'redis://u@a/2', redis_password: {file: '" + file + "'}, redis_database: 4",
                "a:6379",
                {.user = "u", .password = "by file", .database = 4}},
               {"redis: 'a:1', redis_password: {environment: FRAZIL_TEST_PASSWORD}, redis_tls: {ca: c}",
                "a:1",
                {.password = "by environment", .tls = server::TlsFiles{.ca = "c"}}}};
  for (const auto& c : cases) {
    const server::StateConfig state = yaml("state: {" + c.text + "}").state;
    EXPECT_EQ(state.redis, c.address) << c.text;
    EXPECT_EQ(state.redis_access, c.access) << c.text;
  }
}

TEST(ConfigYamlTest, ReadsCollectors) {
  EXPECT_EQ(yaml("paths: {otlp: 'https://u:p@h:4318', otlp_tls: {ca: c}}").paths.otlp_tls.ca, "c");
  EXPECT_EQ(yaml("paths: {otlp: 'http://h:4318/x'}").paths.otlp, "http://h:4318/x");
}

TEST(ConfigYamlTest, ReadsBudgets) {
  const auto config = yaml(
      "tenants:\n  - name: shop\n    keys: [k]\n    budget:\n      per_request: {cost_ms: 50, memory: 64MiB, time_ms: "
      "200}\n"
      "      per_day: {cost_ms: 3600000}\n      per_second: {cost_ms: 500, burst_ms: 2000}\n      memory: 1GiB\n"
      "governance: {cost: {reserve: forecast, prices: {large: 2.5}}}");
  const server::BudgetConfig expected{.request_cost_ms = 50,
                                      .request_memory = 64U << 20U,
                                      .request_time_ms = 200,
                                      .day_cost_ms = 3'600'000,
                                      .second_cost_ms = 500,
                                      .burst_ms = 2000,
                                      .memory = 1U << 30U};
  EXPECT_EQ(config.tenants.at(0).budget, expected);
  EXPECT_EQ(config.governance.cost.reserve, server::Reserve::forecast);
  EXPECT_EQ(config.governance.cost.prices.at("large"), 2.5);
  EXPECT_EQ(yaml("governance: {budget: {per_day: {cost_ms: 5}}}").governance.budget->day_cost_ms, 5);
}

TEST(ConfigYamlTest, NamesThePlaceOfAnError) {
  const std::vector<BadText> cases = {
      {"modles: {}",
       "f:1: field 'modles': this key is unknown; expected models, tenants, network, state, paths, governance"},
      {"[]", "f:1: expected a map, got a list"},
      {"models:\n  bert:\n    batching:\n      max_batch_size: 4\n      delay_us: soon",
       "f:5: field 'models.bert.batching.delay_us': expected a whole number from 0 to 31536000000000, got 'soon'"},
      {"models: {m: {batching: {max_batch_size: '4'}}}", "expected a whole number from 0 to 2147483647, got '4'"},
      {"models: {m: {batching: {max_batch_size: -1}}}", "got '-1'"},
      {"models: {m: {batching: {max_batch_size: 1.0}}}", "got '1.0'"},
      {"models: {m: {batching: {max_batch_size: 0x10}}}", "got '0x10'"},
      {"models: {m: {batching: {max_batch_size: [4]}}}", "got a list"},
      {"models: {m: {batching: {max_batch_size:}}}", "got nothing"},
      {"models: {m: {batching: {max_batch_size: 4, preferred: [2, 8]}}}",
       "field 'models.m.batching.preferred[1]': expected at most max_batch_size, 4, got '8'"},
      {"models: {m: {batching: {delay_us: 5}}}",
       "field 'models.m.batching.delay_us': requires a max_batch_size of at least 1"},
      {"models: {m: {batching: {priority_levels: 2, default_priority: 3}}}",
       "expected at most priority_levels, 2, got '3'"},
      {"models: {m: {batching: {max_batch_size: 2, lengths: n}}}", "requires the key 'pad'"},
      {"models: {m: {batching: {max_batch_size: 2, pad: {x: 64}}}}",
       "field 'models.m.batching.pad.x': expected a whole number from 0 to 63, got '64'"},
      {"models: {m: {batching: {max_batch_size: 2, pad: {x: {axis: 1, value: .nan}}}}}",
       "expected a number, got '.nan'"},
      {"models: {m: {batching: {max_batch_size: 2, max_waste: 1.1}}}", "expected a number from 0 to 1, got '1.1'"},
      {"models: {m: {batching: {wings: 2}}}",
       "field 'models.m.batching.wings': this key is unknown; expected max_batch"},
      {"models: {m: {memory_limit: 1GB}}", "expected a number of bytes such as 1048576 or 512MiB, got '1GB'"},
      {"models: {m: {memory_limit: 0}}", "expected at least 1 byte"},
      {"models: {m: {idle_s: 1}}", "requires the key 'state'"},
      {"models: {m: {state: {x: ''}}}", "expected a text that is not empty, got ''"},
      {"models: {m: {state: {x: {axis: 1}}}}", "field 'models.m.state.x': expected the key 'output', which is missing"},
      {"models: {m: {state: {x: {output: y, axis: -1}}}}", "expected a whole number"},
      {"models: {m: {versions: []}}", "expected at least one version"},
      {"models: {m: {versions: some}}", "expected all, {latest: N} or a list of versions, got 'some'"},
      {"models: {m: {labels: {y: a/../../x}}}", "expected a file in the model's folder"},
      {"models: {m:}", "field 'models.m': expected a map, got nothing"},
      {"models: {m: {}, m: {}}", "f:1: field 'models': expected distinct keys, got 'm' twice"},
      {"tenants: []", "expected at least one tenant"},
      {"tenants: [{name: a, keys: [k], budget: {}}]",
       "field 'tenants[0].budget': expected at least one of per_request, per_day, per_second and memory"},
      {"tenants: [{name: a, keys: [k], budget: {per_request: {}}}]", "expected at least one of cost_ms, memory and"},
      {"governance: {budget: {per_day: {cost_ms: -1}}}", "field 'governance.budget.per_day.cost_ms': expected"},
      {"governance: {budget: {per_second: {burst_ms: 1}}}", "expected the key 'cost_ms', which is missing"},
      {"governance: {cost: {reserve: some}}", "expected worst or forecast, got 'some'"},
      {"tenants: [{name: a, keys: [k]}]\ngovernance: {budget: {memory: 1MiB}}",
       "f:2: field 'governance.budget': is for callers without a tenant: give each tenant a budget"},
      {"tenants: [{keys: [a]}]", "field 'tenants[0]': expected the key 'name', which is missing"},
      {"tenants: [{name: a}]", "field 'tenants[0]': expected the key 'keys' or 'certificates'"},
      {"tenants: [{name: a, keys: []}]", "field 'tenants[0].keys': expected at least one"},
      {"tenants: [{name: a, certificates: c}]", "field 'tenants[0].certificates': expected a list"},
      {"tenants: [{name: a, certificates: [c]}, {name: b, certificates: [c]}]",
       "field 'tenants[1].certificates[0]': duplicate value"},
      {"tenants: [{name: a, keys: [k]}, {name: a, keys: [l]}]", "expected distinct names, got 'a' twice"},
      {"tenants: [{name: a, keys: [k]}, {name: b, keys: [l, k]}]", "field 'tenants[1].keys[1]': duplicate value"},
      {"tenants: [{name: a, keys: [k], models: []}]", "expected at least one model"},
      {"tenants: [{name: a, keys: [k], requests_per_second: 0}]", "expected a number from 0.001 to 1e+09, got '0'"},
      {"state: {redis: localhost}", "field 'state.redis': expected HOST:PORT, got 'localhost'"},
      {"state: {redis: 'a:0'}", "expected HOST:PORT"},
      {"state: {redis: ':80'}", "expected HOST:PORT"},
      {"state: {redis: '::1:80'}", "expected HOST:PORT"},
      {"state: {redis_password: secret}", "field 'state.redis_password': requires the key 'redis'"},
      {"state: {redis_tls: {}}", "field 'state.redis_tls': requires the key 'redis'"},
      {"state: {redis: 'a:1', redis_user: u}", "requires the key 'redis_password'"},
      {"state: {redis: 'a:1', redis_password: ''}", "expected a text that is not empty"},
      {"state: {redis: 'a:1', redis_tls: {key: k}}", "expected both of the keys 'certificate' and 'key'"},
      {"state: {redis: 'redis://a:1/x'}", "field 'state.redis': expected redis://"},
      {"state: {redis: 'http://a:1'}", "field 'state.redis': expected redis://"},
      {"state: {redis: 'redis://u@a'}", "field 'state.redis': requires the key 'redis_password'"},
      {"state: {redis: 'a:1', redis_database: -1}", "expected a whole number"},
      {"state: {redis_database: 1}", "field 'state.redis_database': requires the key 'redis'"},
      {"state: {redis: 'a:1', redis_password: {file: /no/such}}",
       "field 'state.redis_password.file': /no/such: No such file or directory"},
      {"state: {redis: 'a:1', redis_password: {file: /dev/null}}", "expected a secret, the file is empty"},
      {"state: {redis: 'a:1', redis_password: {environment: FRAZIL_TEST_NONE}}",
       "the environment variable FRAZIL_TEST_NONE is not set"},
      {"state: {redis: 'a:1', redis_password: {text: a}}", "expected a text, {file: PATH} or {environment: NAME}"},
      {"paths: {otlp: 'ftp://h:1'}", "field 'paths.otlp': expected HOST:PORT, http://HOST:PORT or https://HOST:PORT"},
      {"paths: {otlp: 'h:1', otlp_tls: {}}", "field 'paths.otlp_tls': requires an 'otlp' that begins with https://"},
      {"tenants: [{name: a, keys: ['sha256:12']}]", "expected 64 hexadecimal digits after sha256:"},
      {"tenants: [{name: a, keys: [k]}, {name: b, keys: ['sha256:" + server::sha256("k") + "']}]",
       "field 'tenants[1].keys[0]': duplicate value"},
      {"models: {m: {defaults: open}}", "field 'models.m.defaults': expected fixed or inputs, got 'open'"},
      {"paths: {sample: 2}", "expected a number from 0 to 1, got '2'"},
      {"paths: {inputs: yes}", "expected true or false, got 'yes'"},
      {"paths: {inputs: 'true'}", "expected true or false"},
  };
  expect_bad(cases, yaml);
}

TEST(ConfigYamlTest, ShowsNoPasswords) {
  for (const char* text : {"state: {redis: 'redis://u:secret@a:x'}", "state: {redis: 'ftp://u:secret@a'}",
                           "state: {redis: 'u:secret@a:0'}", "state: {redis: 'a:1', redis_password: [secret]}",
                           "paths: {otlp: 'ftp://u:secret@h:1'}", "paths: {otlp: 'u:secret@h:x'}"}) {
    EXPECT_THAT(error_of([&] { yaml(text); }), testing::AllOf(StartsWith("f:1: "), testing::Not(HasSubstr("secret"))))
        << text;
  }
}

TEST(ConfigYamlTest, ShowsNoKeys) {
  for (const char* text : {"tenants: [{name: a, keys: secret}]", "tenants: [{name: a, keys: ['secret x']}]",
                           "tenants: [{name: a, keys: [secret, secret]}]", "tenants: [{name: a, keys: [[secret]]}]"}) {
    const std::string error = error_of([&] { yaml(text); });
    EXPECT_THAT(error, StartsWith("f:1: field 'tenants[0].keys")) << text;
    EXPECT_THAT(error, testing::Not(HasSubstr("secret"))) << text;
  }
}

/// A map of `levels` lists, each of ten aliases of the one before.
std::string laughs(std::size_t levels) {
  std::string text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (std::size_t i = 1; i < levels; ++i) {
    const std::string name = "l" + std::to_string(i), last = "*l" + std::to_string(i - 1) + ", ";
    text.append(name).append(": &").append(name).append(" [").append(repeated(last, 10)).append("]\n");
  }
  return text;
}

TEST(YamlTest, RefusesWhatItDoesNotTake) {
  const std::vector<BadText> cases = {
      {"a: [1", "expected YAML, got a syntax error"},
      {"a: b: c", "f:1: expected YAML, got a syntax error"},
      {"a: 1\n b: 2", "f:2: expected YAML, got a syntax error"},
      {"a: \"\\", "f:1: expected YAML, got a syntax error: unknown escape character: \\x04"},
      {"a: *b", "expected YAML, got a syntax error"},
      {"a:\n\tb: 1", "f:2: expected spaces at the beginning of a line, got a tab"},
      {std::string("a: \x04 b"), "got the control character '\\x04'"},
      {std::string("a: \0 b", 6), "got the control character '\\x00'"},
      {"a: 1\nb: \xff", "f:2: expected UTF-8"},
      {"a: 1\n---\nb: 2", "f:2: expected one document, got another one"},
      {"a: !!str 1", "f:1: field 'a': expected a value without a tag, got the tag 'tag:yaml.org,2002:str'"},
      {"a: !!binary aGk=", "expected a value without a tag"},
      {"{[1]: 2}", "expected a text as a key"},
      {"{{a: 1}: 2}", "expected a text as a key"},
      {"~: 2", "expected a text as a key"},
      {"a: {b: 1,\n b: 2}", "f:2: field 'a': expected distinct keys, got 'b' twice"},
      {"a: 1\n'a': 2", "f:2: expected distinct keys, got 'a' twice"},
      {"a: &a {b: 1}\nc: {<<: *a}", "merge keys are not supported"},
      {"a: &a [*a]", "expected an alias of a value before it"},
      {laughs(6), "expected at most 100000 values, those behind aliases included"},
      {"[" + repeated("a,", 100'000) + "]", "expected at most 100000 values"},
      {repeated("- ", 65) + "x", "f:1: field '[0][0]"},
      {repeated("- ", 65) + "x", "expected at most 64 levels"},
      {repeated("- ", 500'000), "expected at most 64 levels"},
      {repeated("[", 65) + repeated("]", 65), "expected at most 64 levels"},
      {repeated("[", 500'000), "f:1: "},
      {repeated("{a: ", 200'000), "f:1: "},
      {repeated("? ", 200'000), "f:1: "},
      {repeated("#", (1U << 20U) + 1), "f: expected at most 1 MiB"},
  };
  expect_bad(cases, [](const std::string& text) { server::read_yaml_text(text, "f"); });
}

TEST(YamlTest, CountsTheLevelsBehindAnAlias) {
  std::string text = "a: &a " + repeated("[", 40) + repeated("]", 40) + "\n";
  EXPECT_NO_THROW(server::read_yaml_text(text + "b: *a", "f"));
  text += "b: " + repeated("[", 30) + "*a" + repeated("]", 30);
  EXPECT_THAT(error_of([&] { server::read_yaml_text(text, "f"); }), HasSubstr("expected at most 64 levels"));
}

TEST(YamlTest, ReadsTypedValues) {
  const server::YamlNode root = server::read_yaml_text(
      "text: 'a # b'\nplain: x y\nyes: true\nwhole: 18446744073709551615\nless: -5\nnumber: 1.5e3\nsize: 2KiB\n"
      "list: [1, {x: 2}]\nnone: ~\nempty: ''\n",
      "f");
  EXPECT_EQ(root.at("text").text(), "a # b");
  EXPECT_EQ(root.at("plain").name(), "x y");
  EXPECT_TRUE(root.at("yes").boolean());
  EXPECT_EQ(root.at("whole").whole(0, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(root.at("less").integer(-5, 5), -5);
  EXPECT_EQ(root.at("number").number(0, 1e4), 1500);
  EXPECT_EQ(root.at("size").bytes(), 2048U);
  EXPECT_TRUE(root.at("none").is_null());
  EXPECT_EQ(root.at("empty").text(), "");
  EXPECT_TRUE(root.at("list").is_list());
  const server::YamlNode inner = root.at("list").items().at(1).at("x");
  EXPECT_EQ(inner.path(), "list[1].x");
  EXPECT_EQ(inner.line(), 8U);
  EXPECT_FALSE(root.find("more"));
  EXPECT_EQ(root.entries().size(), 10U);
  EXPECT_EQ(root.entries()[1].first, "plain");
  EXPECT_EQ(error_of([&] { root.at("empty").name(); }),
            "f:10: field 'empty': expected a text that is not empty, got ''");
  EXPECT_EQ(error_of([&] { root.at("list").text(); }), "f:8: field 'list': expected a text, got a list");
  EXPECT_EQ(error_of([&] { root.at("less").whole(0, 9); }),
            "f:5: field 'less': expected a whole number from 0 to 9, got '-5'");
}

TEST(YamlTest, LivesLongerThanItsRoot) {
  const server::YamlNode node = server::read_yaml_text("a: {b: [c]}", "f").at("a").at("b").items().at(0);
  EXPECT_EQ(node.text(), "c");
  EXPECT_EQ(node.path(), "a.b[0]");
}

TEST(ConfigFileTest, ReadsFilesUpToALimit) {
  const TempFolder folder;
  const std::string path = folder / "config";
  std::ofstream(path) << "max_batch_size: 3";
  EXPECT_EQ(server::read_config_pbtxt(path).config.max_in_request, 3U);
  std::ofstream(path) << "models: {m: {warm_up: 1}}";
  EXPECT_EQ(server::read_server_config(path).models.at("m").warm_up, 1U);
  std::ofstream(path) << "max_batch_size: x";
  EXPECT_THAT(error_of([&] { server::read_config_pbtxt(path); }), StartsWith(path + ":1: field 'max_batch_size': "));
  std::ofstream(path) << repeated("#", (1U << 20U) + 1);
  EXPECT_THAT(error_of([&] { server::read_config_pbtxt(path); }), HasSubstr("expected at most 1 MiB"));
  EXPECT_THAT(error_of([&] { server::read_server_config(path); }), HasSubstr("expected at most 1 MiB"));
  EXPECT_THAT(error_of([&] { server::read_server_config(folder / "none"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { server::read_server_config(folder / ""); }), HasSubstr("cannot be read"));
}

TEST(ConfigTextTest, ShowsTextsOnOneLine) {
  EXPECT_EQ(server::shown("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(server::shown("\xc3\xa9"), "'\u00e9'");
  EXPECT_EQ(server::shown("\xff"), "'\\xff'");
  EXPECT_EQ(server::shown(repeated("a", 61)), "'" + repeated("a", 60) + "...'");
  EXPECT_EQ(server::shown("a" + repeated("\u00e9", 40)), "'a...'") << "no half of a character";
}

TEST(ConfigTextTest, ReadsSizes) {
  const std::pair<const char*, std::optional<std::uint64_t>> cases[] = {
      {"0", 0},    {"7", 7},       {"7B", 7},  {"1KiB", 1024}, {"3MiB", 3U << 20U}, {"16TiB", 16ULL << 40U}, {"", {}},
      {"MiB", {}}, {"1.5GiB", {}}, {"-1", {}}, {"1 KiB", {}},  {"1K", {}},          {"16777216TiB", {}},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(server::bytes_from(text), bytes) << text;
}

}  // namespace
}  // namespace frazil::test
