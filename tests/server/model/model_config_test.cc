// Batches and states of models in their configuration, and requests outside of a sequence.
#include <gmock/gmock.h>

#include "server/folder.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc_encode.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::HasSubstr;
using testing::Not;

class ModelConfigTest : public testing::Test {
 protected:
  void serve(server::ModelConfig config) {
    folder_.add("talk", kTalk);
    folder_.add("double", kDouble);
    server::ServiceOptions options = options_of(folder_);
    options.config.models["talk"] = std::move(config);
    service_.emplace(options);
  }
  std::string get(std::string_view path) { return reply_to(*service_, {.method = "GET", .path = path}).body; }
  server::Reply ask(std::string_view body, std::string_view session = "") {
    return reply_to(*service_, {.method = "POST", .path = "/v2/models/talk/infer", .body = body, .session = session});
  }
  const server::Served& talk() const { return *service_->models().find("talk", ""); }

  Folder folder_;
  std::optional<server::Service> service_;
};

server::ModelConfig talking() {
  return {.batching = {.preferred = {2, 4}, .delay = std::chrono::microseconds(7)},
          .sequences = {.states = {{.input = "said", .output = "all"}}, .idle = std::chrono::seconds(3)}};
}

TEST_F(ModelConfigTest, StatesAreNoInputs) {
  serve(talking());
  EXPECT_THAT(get("/v2/models/talk"), HasSubstr(R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1]}],)"
                                                R"("outputs":[{"name":"sum")"));
  EXPECT_THAT(get("/v2/models/talk/config"),
              HasSubstr(R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1]}])"));
  EXPECT_THAT(server::proto::write_model_metadata(talk(), {}), Not(HasSubstr("said")));
  serve({});
  EXPECT_THAT(get("/v2/models/talk"), HasSubstr("said")) << "without sequences it is an input";
}

TEST_F(ModelConfigTest, SequencesAreDescribedAsByTriton) {
  serve(talking());
  EXPECT_THAT(get("/v2/models/talk/config"),
              HasSubstr(R"("sequence_batching":{"max_sequence_idle_microseconds":3000000,"control_input":[],)"
                        R"("oldest":{"preferred_batch_size":[2,4],"max_queue_delay_microseconds":7,)"
                        R"("preserve_ordering":false},"state":[{"input_name":"said","output_name":"all",)"
                        R"("data_type":"TYPE_FP32","dims":[-1]}]})"));
  EXPECT_THAT(get("/v2/models/talk/config"), Not(HasSubstr("dynamic_batching"))) << "a model has one scheduler";
  const std::string state = field(1, "said") + field(2, "all") + integer(3, 11) + integers(4, {-1});
  EXPECT_THAT(
      server::proto::write_model_config(talk()),
      HasSubstr(field(13, integer(1, 3'000'000) + field(4, integers(2, {2, 4}) + integer(3, 7)) + field(5, state))));
}

TEST_F(ModelConfigTest, DynamicBatchingHasItsSettings) {
  server::ModelConfig config;
  config.batching = {.most = 8,
                     .preferred = {4},
                     .delay = std::chrono::microseconds(100),
                     .max_queued = 9,
                     .levels = 3,
                     .default_level = 2,
                     .time_out = std::chrono::microseconds(50)};
  folder_.add("double", kDouble);
  folder_.add("talk", kTalk);
  server::ServiceOptions options = options_of(folder_);
  options.config.models["double"] = config;
  service_.emplace(options);
  EXPECT_THAT(get("/v2/models/double/config"),
              HasSubstr(R"("dynamic_batching":{"preferred_batch_size":[4],"max_queue_delay_microseconds":100,)"
                        R"("preserve_ordering":false,"priority_levels":3,"default_priority_level":2,)"
                        R"("default_queue_policy":{"timeout_action":"REJECT","default_timeout_microseconds":50,)"
                        R"("allow_timeout_override":true,"max_queue_size":9}})"));
  EXPECT_THAT(get("/v2/models/talk/config"), Not(HasSubstr("_batching\"")));
}

constexpr std::string_view kWords = R"("inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}])";

TEST_F(ModelConfigTest, ARequestWithoutASequenceIsToldWhatToSend) {
  serve(talking());
  const server::Reply reply = ask("{" + std::string(kWords) + "}");
  EXPECT_EQ(reply.status, Http::bad_request);
  for (const char* part : {"input 'said' of model 'talk' is the state of a sequence", "sequence_id", "X-Session-Id"}) {
    EXPECT_THAT(reply.body, HasSubstr(part));
  }
  EXPECT_EQ(ask("{" + std::string(kWords) + "}", "me").status, Http::ok);
  EXPECT_EQ(ask(R"({"parameters":{"sequence_id":1,"sequence_start":true},)" + std::string(kWords) + "}").status,
            Http::ok);
  EXPECT_EQ(ask(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]},)"
                R"({"name":"said","datatype":"FP32","shape":[1],"data":[1]}]})")
                .status,
            Http::ok)
      << "a state may be given";
}

}  // namespace
}  // namespace frazil::test
