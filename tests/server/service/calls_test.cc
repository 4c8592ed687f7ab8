// Served graphs that call served models, and edits of served models.
#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc_encode.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kNegative = "graph g(%x: f32[N,2]) { %y = Neg(%x) return y = %y }";
constexpr const char* kWide = "graph g(%x: f32[N,3]) { %y = Neg(%x) return y = %y }";

/// A model that calls another one with its input.
std::string calling(const std::string& name, const std::string& more = "") {
  return "graph c(%x: f32[N,2]) { %y = frazil::Call(%x) {model = \"" + name +
         R"(", takes = ["f32[N,2]"], gives = ["f32[N,2]"])" + more + "} \"call\" return y = %y }";
}

class ServedCalls : public testing::Test {
 protected:
  /// Writes a model that may call models which are in no registry yet.
  void add(const std::string& name, const std::string& text) {
    const bool version = name.find('/') != std::string::npos;
    if (version) std::filesystem::create_directories(folder_.path() + name);
    api::Model::from_text(text, {}, {.check_calls = false})
        .save(folder_.path() + name + (version ? "/model.onnx" : ".onnx"));
  }
  server::ServiceOptions options() {
    server::ServiceOptions options = options_of(folder_);
    options.notify = [this](const server::Notice& notice) { log_ += notice.subject + ": " + notice.text + "\n"; };
    return options;
  }
  void serve() { service_.emplace(options()); }
  std::vector<float> answer(const char* model, const char* version = "") {
    std::promise<server::Outcome> promise;
    server::Call call{.caller = std::make_shared<server::Caller>(), .arrived = server::Clock::now()};
    call.request.inputs = {{"x", row({1, 2})}};
    call.done = [&](server::Outcome outcome) { promise.set_value(std::move(outcome)); };
    service_->infer(service_->models().find(model, version), std::move(call));
    return floats_of(promise.get_future().get());
  }
  /// The status and reason of the answer.
  std::string refusal(const char* model) {
    const auto outcome = ask(*service_, {.model = model, .inputs = {{"x", row({1, 2})}}}).get();
    return outcome ? "answered"
                   : std::to_string(static_cast<int>(outcome.error().status())) + " " + outcome.error().what();
  }
  template <class F>
  static std::string refused(F f) try {
    f();
    return "accepted";
  } catch (const api::Error& error) {
    return error.what();
  } catch (const server::Refusal& refusal) {
    return std::to_string(static_cast<int>(refusal.status())) + " " + refusal.what();
  }
  std::vector<std::string> served() const {
    std::vector<std::string> names;
    for (const auto& one : service_->repository()->all()) names.push_back(one->name() + "/" + one->version());
    return names;
  }

  Folder folder_;
  std::string log_;
  std::optional<server::Service> service_;
};

TEST_F(ServedCalls, RunTheServedModel) {
  add("a_caller", calling("head"));
  add("head", kTriple);
  serve();
  EXPECT_THAT(answer("a_caller"), ElementsAre(3, 6));
  EXPECT_THAT(service_->registry().names(), ElementsAre("a_caller", "head"));

  add("head", kNegative);
  service_->models().load("head");
  EXPECT_THAT(answer("a_caller"), ElementsAre(-1, -2)) << "a reload";
}

TEST_F(ServedCalls, NameVersionsOfTheFolder) {
  add("head/2", kDouble);
  add("head/5", kTriple);
  folder_.write("head/config.pbtxt", "version_policy: {all: {}}");
  add("newest", calling("head"));
  add("second", calling("head", ", version = 2"));
  serve();
  EXPECT_THAT(answer("newest"), ElementsAre(3, 6));
  EXPECT_THAT(answer("second"), ElementsAre(2, 4));
  EXPECT_EQ(service_->registry().get("head").current().number, 5u);
}

TEST_F(ServedCalls, ModelsThatCannotBeCalledAreNamed) {
  struct Case {
    std::string call, other, wanted;
  };
  const Case cases[] = {
      {calling("tail"), kDouble,
       "model 'caller' version 1: node 'call' (Call): there is no model 'tail': add tail.onnx or tail/1/model.onnx to "
       "the folder"},
      {calling("head", ", version = 7"), kDouble, "node 'call' (Call): the model has no version 7"},
      {calling("head"), kWide, "input 'x' of its model is f32[N,3]"},
      {calling("caller"), kDouble, "node 'call' (Call): models call each other in a circle: 'caller', 'caller'"},
      {calling("head"), calling("caller"), "in a circle: 'caller', 'head', 'caller'"},
      {calling("p"), kDouble, "'p' is a pipeline; graphs call models only"},
  };
  folder_.write("p.yaml", "inputs: {x: 'f32[N,2]'}\nsteps: []\noutputs: {y: x}\n");
  for (const Case& c : cases) {
    add("caller", c.call);
    add("head", c.other);
    EXPECT_THAT(refused([&] { serve(); }), HasSubstr(c.wanted));
  }
}

TEST_F(ServedCalls, AModelThatIsNotReadyMakesItsCallersNotReady) {
  add("head", kDouble);
  folder_.write("head/canary/input_0.pb", "no tensor");
  add("caller", calling("head"));
  serve();
  EXPECT_THAT(
      refused([&] { (void)service_->models().find("caller", ""); }),
      HasSubstr("503 model 'caller' version 1 is not ready: node 'call' (Call): model 'head' version 1 is not"));
  EXPECT_THAT(service_->registry().names(), IsEmpty());
  std::filesystem::remove_all(folder_.path() + "head");
  service_->models().load("caller");
  EXPECT_THAT(answer("caller"), ElementsAre(2, 4)) << "the called model is loaded, too";
}

TEST_F(ServedCalls, ALoadThatFailsChangesNothing) {
  add("head", kTriple);
  add("caller", calling("head"));
  serve();
  add("head", kWide);
  EXPECT_THAT(refused([&] { service_->models().load("head"); }),
              HasSubstr("400 model 'caller' version 1: node 'call' (Call): input 'x' of its model is"));
  EXPECT_THAT(answer("caller"), ElementsAre(3, 6));
  EXPECT_THAT(answer("head"), ElementsAre(3, 6));
}

TEST_F(ServedCalls, ModelsAreUnloadedAfterTheirCallers) {
  add("head", kTriple);
  add("caller", calling("head"));
  serve();
  EXPECT_EQ(refused([&] { service_->models().unload("head"); }), "400 model 'caller' needs model 'head'");
  service_->models().unload("caller");
  EXPECT_THAT(service_->registry().names(), ElementsAre("head"));
  service_->models().load("caller");
  service_->models().unload("caller", true);
  EXPECT_THAT(service_->registry().names(), IsEmpty());
  EXPECT_THAT(served(), IsEmpty());
  service_->models().load("caller");
  EXPECT_THAT(served(), ElementsAre("caller/1", "head/1")) << "a load brings what the model calls";
}

TEST_F(ServedCalls, ACircleMadeByAnEditMeetsALimit) {
  add("head", kDouble);
  add("caller", calling("head"));
  serve();
  service_->registry().get("head").publish(
      api::Model::from_text(calling("head"), {}, {.registry = service_->options().registry}), {});
  EXPECT_THAT(refusal("caller"), HasSubstr("more than 32 deep"));
}

TEST_F(ServedCalls, ServersDoNotSeeEachOthersModels) {
  add("head", kTriple);
  add("caller", calling("head"));
  serve();
  const Folder other;
  other.add("head", kNegative);
  server::Service second(options_of(other));
  EXPECT_THAT(answer("caller"), ElementsAre(3, 6));
  second.models().unload("head");
  EXPECT_THAT(answer("caller"), ElementsAre(3, 6));
  EXPECT_THAT(api::Registry::instance().names(), IsEmpty());
}

TEST_F(ServedCalls, AProgramMayPutModels) {
  add("caller", calling("own"));
  server::ServiceOptions with = options();
  with.registry = std::make_shared<api::Registry>();
  with.registry->put("own", api::LiveModel(api::Model::from_text(kNegative)));
  service_.emplace(with);
  EXPECT_THAT(answer("caller"), ElementsAre(-1, -2));
  EXPECT_THAT(served(), ElementsAre("caller/1"));
  EXPECT_THAT(with.registry->names(), ElementsAre("caller", "own"));
}

/// Negates the result.
void negate(api::Patch& patch) { patch.replace("y", patch.op("Neg", {patch.tap("y")})); }

TEST_F(ServedCalls, AnEditedModelIsServed) {
  add("head/4", kTriple);
  folder_.write("head/config.pbtxt", "version_policy: {latest: {num_versions: 1}}");
  add("caller", calling("head"));
  folder_.write("p.yaml",
                "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, model: head, inputs: {x: x}}]\noutputs: {y: s.y}\n");
  serve();
  const auto edited = service_->registry().get("head").edit({"ada", "sign"}, negate);
  EXPECT_EQ(edited.number, 5u);
  for (const char* const model : {"head", "caller", "p"}) EXPECT_THAT(answer(model), ElementsAre(-3, -6)) << model;
  EXPECT_THAT(served(), ElementsAre("caller/1", "head/5", "p/1")) << "the version policy applies";
  EXPECT_THAT(log_, HasSubstr("version 5 is served: patch 'sign'"));
  service_->registry().get("head").roll_back(4, {});
  EXPECT_THAT(answer("head", "6"), ElementsAre(3, 6));

  service_->models().load("head");
  EXPECT_THAT(served(), ElementsAre("caller/1", "head/4", "p/1"));
  EXPECT_THAT(log_, HasSubstr("version 6 (rolled back to 4) is not served any more"));
}

TEST_F(ServedCalls, AnEditThatFailsACanaryIsRefused) {
  add("head", kTriple);
  const std::string shape = integers(1, {1, 2}) + integer(2, 1);
  folder_.write("head/canary/input_0.pb", shape + field(9, raw<float>({1, 2})));
  folder_.write("head/canary/output_0.pb", shape + field(9, raw<float>({3, 6})));
  serve();
  api::LiveModel head = service_->registry().get("head");
  EXPECT_THAT(refused([&] { head.edit({}, negate); }), HasSubstr("output 'y': "));
  EXPECT_EQ(head.current().number, 1u);
  EXPECT_THAT(answer("head"), ElementsAre(3, 6));
}

TEST_F(ServedCalls, EditsOfReplacedModelsAreNotServed) {
  add("head", kTriple);
  serve();
  api::LiveModel old = service_->registry().get("head");
  service_->models().load("head");
  old.edit({}, negate);
  EXPECT_THAT(answer("head"), ElementsAre(3, 6));
  service_->models().unload("head");
  old.edit({}, negate);
  EXPECT_THAT(served(), IsEmpty());
  service_.reset();
  old.edit({}, negate);
}

}  // namespace
}  // namespace frazil::test
