// What could pass for served as configured: each is right, an error or a warning.
#include <cmath>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Reply;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// y = x * w + b, where the weights are inputs with defaults, as old exporters write them.
constexpr const char* kLinear =
    "graph g(%x: f32[N,2], %w: f32[2] = f32[2] [3, 4], %t: f32[] = f32[] 1) "
    "{ %p = Mul(%x, %w) %y = Mul(%p, %t) return y = %y }";

class Configured : public testing::Test {
 protected:
  void serve(const std::string& config = "") {
    server::ServiceOptions options = options_of(folder_);
    options.config = server::read_server_config_text(config, "f");
    options.notify = [this](const server::Notice& notice) {
      if (notice.level == server::Notice::Level::warning) warnings_.push_back(notice.subject + ": " + notice.text);
    };
    warnings_.clear();
    service_.reset();
    service_.emplace(options);
  }
  /// The error that keeps the server from starting; empty: none does.
  std::string error_of_start(const std::string& config = "") {
    try {
      serve(config);
    } catch (const api::Error& error) {
      return error.what();
    }
    return "";
  }
  Reply send(std::string_view path, std::string_view body) {
    return reply_to(*service_, {.method = "POST", .path = path, .body = body});
  }
  Reply infer(const std::string& model, const std::string& inputs) {
    return send("/v2/models/" + model + "/infer", R"({"inputs":[)" + inputs + "]}");
  }
  static std::string tensor(const std::string& name, const std::string& shape, const std::string& data) {
    return R"({"name":")" + name + R"(","datatype":"FP32","shape":[)" + shape + R"(],"data":[)" + data + "]}";
  }

  Folder folder_;
  std::vector<std::string> warnings_;
  std::optional<server::Service> service_;
};

TEST_F(Configured, DefaultsThatMayBeWeightsAreNotLeftOpenWithoutAWord) {
  folder_.add("m/1", kLinear);
  const std::string x = tensor("x", "1,2", "1,1"), w = tensor("w", "2", "5,6"), t = tensor("t", "", "10");
  serve();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("model 'm': every request may replace the defaults of inputs 'w', which "
                                               "may be weights: set defaults to fixed, or to inputs")));
  EXPECT_THAT(infer("m", x + "," + w).body, HasSubstr(R"("data":[5,6])"));

  serve("models: {m: {defaults: inputs}}");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(infer("m", x + "," + w).body, HasSubstr(R"("data":[5,6])"));

  serve("models: {m: {defaults: fixed}}");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(infer("m", x + "," + w).body, HasSubstr("model 'm' has no input 'w'"));
  EXPECT_THAT(infer("m", x + "," + t).body, HasSubstr("model 'm' has no input 't'"));
  EXPECT_THAT(infer("m", x).body, HasSubstr(R"("data":[3,4])"));

  folder_.write("m/config.pbtxt", "input [ { name: 'x' }, { name: 't' } ]");
  serve();
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(infer("m", x + "," + w).body, HasSubstr("model 'm' has no input 'w'")) << "it is not declared";
  EXPECT_THAT(infer("m", x + "," + t).body, HasSubstr(R"("data":[30,40])"));
  folder_.write("m/config.pbtxt", "parameters { key: 'frazil.defaults' value { string_value: 'fixed' } }");
  serve();
  EXPECT_THAT(infer("m", x + "," + w).body, HasSubstr("model 'm' has no input 'w'"));
  EXPECT_THAT(error_of_start("models: {m: {defaults: open}}"),
              HasSubstr("'models.m.defaults': expected fixed or inputs"));
}

TEST_F(Configured, StatesStayInputsWhereDefaultsAreFixed) {
  folder_.add("m",
              "graph g(%x: f32[1,2], %acc: f32[1,2] = f32[1,2] [[10, 20]]) "
              "{ %y = Add(%x, %acc) return y = %y }");
  serve("models: {m: {state: {acc: y}, defaults: fixed}}");
  const auto turn = [&](bool start) {
    return floats_of(
        ask(*service_, {.model = "m", .inputs = {{"x", row({1, 1})}}, .sequence = {.id = "s", .start = start}}).get());
  };
  EXPECT_THAT(turn(true), ElementsAre(11, 21));
  EXPECT_THAT(turn(false), ElementsAre(12, 22));
}

TEST_F(Configured, PortsThatAreDeclaredAreThoseOfTheModel) {
  folder_.add("m/1", "graph g(%x: f32[N,2], %n: i64[2]) { %y = Add(%x, %x) return y = %y, n = %n }");
  const struct {
    const char *config, *why;
  } cases[] = {
      {"input { name: 'z' }", "line 1: input 'z': the model has no such input; expected one of 'x', 'n'"},
      {"output { name: 'x' }", "output 'x': the model has no such output; expected one of 'y', 'n'"},
      {"input { name: 'x' data_type: TYPE_INT32 }", "input 'x': expected the model's datatype FP32, got INT32"},
      {"\ninput { name: 'x' dims: [ 1, 2, 2 ] }",
       "line 2: input 'x': expected dims that fit the model's shape [-1,2], "
       "got [1,2,2]"},
      {"input { name: 'x' dims: [ 1, 3 ] }", "expected dims that fit the model's shape [-1,2], got [1,3]"},
      {"output { name: 'y' dims: [ -1, 7 ] }",
       "output 'y': expected dims that fit the model's shape [-1,2], got [-1,7]"},
      {"max_batch_size: 4 input { name: 'x' dims: [ 3 ] }", "got [-1,3]"},
      {"max_batch_size: 4 input { name: 'n' dims: [ 2 ] }",
       "input 'n': it is i64[2] in the model: expected a max_batch_size of 0, as its first extent is fixed"},
      {"input { name: 'x' data_type: TYPE_FP32 dims: [ -1, 2 ] } output { name: 'y' dims: [ 5, -1 ] }", nullptr},
      {"max_batch_size: 4 input { name: 'x' dims: [ 2 ] } output { name: 'y' dims: [ 2 ] }", nullptr}};
  for (const auto& c : cases) {
    folder_.write("m/config.pbtxt", c.config);
    const std::string error = error_of_start();
    if (c.why == nullptr) {
      EXPECT_EQ(error, "") << c.config;
    } else {
      EXPECT_THAT(error, testing::AllOf(HasSubstr("model 'm': config.pbtxt, line "), HasSubstr(c.why))) << c.config;
    }
  }
}

TEST_F(Configured, RequestsKeepToWhatIsDeclared) {
  folder_.add("m/1", "graph g(%x: f32[N,K]) { %y = Add(%x, %x) return y = %y }");
  const struct {
    const char *config, *shape, *data, *why;
  } cases[] = {
      {"input { name: 'x' dims: [ -1, 2 ] }", "1,2", "1,2", nullptr},
      {"input { name: 'x' dims: [ -1, 2 ] }", "1,3", "1,2,3",
       "input 'x': expected the shape [-1,2] that config.pbtxt declares, got [1,3]"},
      {"max_batch_size: 2 input { name: 'x' dims: [ -1 ] }", "2,1", "1,2", nullptr},
      {"max_batch_size: 2 input { name: 'x' dims: [ -1 ] }", "3,1", "1,2,3",
       "input 'x': a batch of 3, max_batch_size is 2"},
      {"max_batch_size: 2", "3,1", "1,2,3", "input 'x': a batch of 3, max_batch_size is 2"},
      {"max_batch_size: 2 dynamic_batching { }", "3,1", "1,2,3", "input 'x': a batch of 3, max_batch_size is 2"},
      {"max_batch_size: 0", "3,1", "1,2,3", nullptr}};
  for (const auto& c : cases) {
    folder_.write("m/config.pbtxt", c.config);
    serve();
    const Reply reply = infer("m", tensor("x", c.shape, c.data));
    EXPECT_EQ(reply.status, c.why == nullptr ? Http::ok : Http::bad_request) << c.config << reply.body;
    if (c.why != nullptr) EXPECT_THAT(reply.body, HasSubstr(c.why));
  }
}

TEST_F(Configured, FoldersThatAreSkippedAreNamed) {
  folder_.add("m/1", kDouble);
  folder_.write("m/2/weights.bin", "");
  folder_.write("empty/readme", "");
  folder_.write("ens/config.pbtxt", "platform: 'ensemble'");
  folder_.write(".git/config", "");
  folder_.add("flat", kDouble);
  folder_.write("flat/canary/input_0.pb", "");
  std::filesystem::remove_all(folder_.path() + "flat/canary");
  serve();
  EXPECT_THAT(
      warnings_,
      ElementsAre("model 'empty': the folder is skipped: expected VERSION/model.onnx or VERSION/model.frzc in it",
                  testing::AllOf(HasSubstr("model 'ens': the folder is skipped: "),
                                 HasSubstr("an ensemble can be written as a pipeline")),
                  "model 'm': version 2 is skipped: it has no model.onnx or model.frzc"));
  EXPECT_THAT(send("/v2/repository/models/ens/load", "").body, HasSubstr("the folder has no model 'ens': "));
}

TEST_F(Configured, LoadsWithAnotherConfigurationAreRefused) {
  folder_.add("m", kDouble);
  serve();
  for (const char* parameter : {R"("config":"{}")", R"("file:1/model.onnx":"AAAA")"}) {
    const Reply reply = send("/v2/repository/models/m/load", R"({"parameters":{)" + std::string(parameter) + "}}");
    EXPECT_EQ(reply.status, Http::unsupported) << parameter;
    EXPECT_THAT(reply.body, HasSubstr("models are loaded from the folder; put the file there"));
  }
  EXPECT_EQ(send("/v2/repository/models/m/load", R"({"parameters":{}})").status, Http::ok);
  EXPECT_EQ(send("/v2/repository/models/m/load", R"({"parameters":7})").status, Http::bad_request);
}

TEST_F(Configured, NumbersThatAreWrittenAreRead) {
  folder_.add("m", "graph g(%x: f32[N,2]) { %y = Neg(%x) return y = %y }");
  serve();
  for (const char* data : {"NaN,Infinity", "-Infinity,1", R"("NaN","-Infinity")"}) {
    const Reply once = infer("m", tensor("x", "1,2", data));
    ASSERT_EQ(once.status, Http::ok) << data << once.body;
    const std::size_t at = once.body.find("\"data\":[") + 8;
    const std::string written = once.body.substr(at, once.body.find(']', at) - at);
    const Reply twice = infer("m", tensor("x", "1,2", written));
    ASSERT_EQ(twice.status, Http::ok) << written << twice.body;
    std::string plain(data);
    std::erase(plain, '"');
    EXPECT_THAT(twice.body, HasSubstr("\"data\":[" + plain + "]"));
  }
  for (const char* data : {"Nan,1", "NaN1,1", "+Infinity,1", "nan,1", R"("1","2")", "\"N\",NaN"}) {
    EXPECT_EQ(infer("m", tensor("x", "1,2", data)).status, Http::bad_request) << data;
  }
  EXPECT_EQ(infer("m", tensor("x", R"(1,2],"more":["\"NaN\\",)", "NaN,1")).status, Http::bad_request)
      << "words inside of strings stay";
}

// ---- sequences ----

constexpr const char* kAccumulate = "graph g(%x: f32[1,2], %acc: f32[1,2]) { %y = Add(%x, %acc) return y = %y }";
constexpr const char* kSubtract = "graph g(%x: f32[1,2], %acc: f32[1,2]) { %y = Sub(%acc, %x) return y = %y }";

class Sequences : public Configured {
 protected:
  struct Turn {
    std::string id = {};
    float x = 1;
    server::SequencePart sequence = {};
  };
  server::Outcome turn(Turn turn) {
    if (turn.sequence.id.empty()) turn.sequence.id = "s";
    return ask(*service_, {.model = "m", .inputs = {{"x", row({turn.x, 0})}}, .sequence = turn.sequence, .id = turn.id})
        .get();
  }
  float value(Turn which) {
    const std::vector<float> values = floats_of(turn(std::move(which)));
    return values.empty() ? -1 : values[0];
  }
  std::string error(Turn which) {
    const server::Outcome outcome = turn(std::move(which));
    return outcome ? "none" : outcome.error().what();
  }
};

TEST_F(Sequences, AConstantIdIsNoRepetition) {
  folder_.add("m", kAccumulate);
  serve("models: {m: {state: {acc: y}}}");
  EXPECT_EQ(value({.id = "same", .x = 1, .sequence = {.start = true}}), 1);
  EXPECT_EQ(value({.id = "same", .x = 10}), 11) << "it asks for something else";
  EXPECT_EQ(value({.id = "same", .x = 10}), 11) << "it is sent again";
  EXPECT_EQ(value({.id = "other", .x = 10}), 21);
  EXPECT_EQ(value({.id = "same", .x = 10}), 31) << "the last one was another";
  EXPECT_EQ(value({.id = "same", .x = 10, .sequence = {.end = true}}), 41) << "it ends the sequence";
  EXPECT_THAT(error({.id = "same", .x = 10}), HasSubstr("is not known"));
}

TEST_F(Sequences, DoNotGoOnWithAnotherModel) {
  folder_.add("m", kAccumulate);
  serve("models: {m: {state: {acc: y}}}");
  EXPECT_EQ(value({.x = 5, .sequence = {.start = true}}), 5);
  service_->models().load("m");
  EXPECT_EQ(value({.x = 1}), 6) << "the same model";
  folder_.add("m", kSubtract);
  service_->models().load("m");
  const std::string why =
      "sequence 's' of model 'm' was left by another version of the model than this one: start a new one";
  EXPECT_THAT(error({.x = 1}), HasSubstr(why));
  EXPECT_THAT(error({.x = 1, .sequence = {.id = "fork", .start = true, .parent = "s"}}), HasSubstr(why));
  EXPECT_THAT(error({.x = 1, .sequence = {.start_if_new = true}}), HasSubstr(why)) << "nor begin as if it were new";
  EXPECT_EQ(value({.x = 1, .sequence = {.start = true}}), -1);
  EXPECT_EQ(value({.x = 1}), -2);
}

}  // namespace
}  // namespace frazil::test
