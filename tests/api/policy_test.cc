#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"
#include "api/square.h"
#include "api/tiny_onnx.h"

// Policies: what they are asked, in which order, and that a rejection leaves everything as it was.
namespace {

using frazil::Array;
using frazil::Change;
using frazil::Code;
using frazil::Dispatch;
using frazil::FileFacts;
using frazil::HostOperator;
using frazil::LiveModel;
using frazil::LoadOptions;
using frazil::Model;
using frazil::Patch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Reason = std::optional<std::string>;

/// Writes a line for each question, and rejects the lines in `rejected`.
class PolicyRecorder : public frazil::Policy {
 public:
  Reason check_file(const FileFacts& file) override {
    std::string line = "file " + std::string(name_of(file.kind)) + " " +
                       std::filesystem::path(file.path).filename().string() + " " + std::to_string(file.content.size());
    for (const auto& op : file.operators()) line += " " + op.full_name() + "@" + std::to_string(op.opset);
    digests.push_back(file.digest());
    return answer(line);
  }
  Reason check_load(const Model& model) override { return answer("load " + model.name()); }
  Reason check_change(const Change& change) override {
    const std::string author = change.note == nullptr ? "nobody" : change.note->author;
    return answer(std::string(name_of(change.kind)) + " " + change.from.name() + " " + change.to.name() + " by " +
                  author);
  }
  Reason check_run(const Model& model) override { return answer("run " + model.name()); }
  Reason check_dispatch(const Dispatch& call) override {
    return answer("dispatch " + std::string(call.name) + " " + std::to_string(call.version) + " " + call.model.name());
  }
  Reason check_operator(const HostOperator& op) override { return answer("operator " + op.domain + "." + op.name); }

  std::vector<std::string> take() { return std::exchange(lines, {}); }

  std::set<std::string> rejected;
  std::vector<std::string> lines, digests;

 private:
  Reason answer(const std::string& line) {
    lines.push_back(line);
    return rejected.contains(line) ? Reason("not " + line.substr(0, line.find(' '))) : std::nullopt;
  }
};

class Policies : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("frazil_policy_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& content) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  LoadOptions options() const { return {.policy = policy}; }

  std::filesystem::path folder_;
  std::shared_ptr<PolicyRecorder> policy = std::make_shared<PolicyRecorder>();
};

std::string adding_external() {
  using namespace onnx_file;
  return model({.nodes = {node("Add", {"x", "w"}, "s"), node("Mul", {"s", "v"}, "y")},
                .inputs = {f32("x", {"2"})},
                .outputs = {f32("y", {"2"})},
                .initializers = {external("w", "w.bin", 0), external("v", "w.bin", 4)}});
}

Model named(const std::string& name, const std::string& op, const LoadOptions& options = {}) {
  return Model::from_text("graph " + name + "(%x: f32[N]) { %y = " + op + "(%x) return y = %y }", {}, options);
}

TEST_F(Policies, EachFileIsCheckedOnceBeforeTheModel) {
  const std::string bytes = adding_external(), path = write("m.onnx", bytes);
  write("w.bin", "abcdefghijkl");
  Model::load(path, options());
  EXPECT_THAT(policy->take(), ElementsAre("file model m.onnx " + std::to_string(bytes.size()) + " Add@18 Mul@18",
                                          "file external w.bin 12", "load g"));
  EXPECT_EQ(policy->digests[1], "sha256:d682ed4ca4d989c134ec94f1551e1ec580dd6d5a6ecde9f3d35e6e4a717fbde4");
  policy->rejected = {"file external w.bin 12"};
  EXPECT_THAT(message_of([&] { Model::load(path, options()); }, Code::bad_input),
              HasSubstr("external data 'w.bin': the policy refuses the file: not file"));
}

TEST_F(Policies, BytesAndFilesInMemoryAreFilesToo) {
  const std::string bytes = adding_external(), weights = "abcdefghijkl";
  LoadOptions with = options();
  with.files["w.bin"] = std::as_bytes(std::span(weights));
  const auto load = [&] { Model::from_bytes(std::as_bytes(std::span(bytes)), with); };
  load();
  const std::string whole = "file model  " + std::to_string(bytes.size()) + " Add@18 Mul@18";
  EXPECT_THAT(policy->take(), ElementsAre(whole, "file external w.bin 12", "load g"));
  policy->rejected = {whole};
  EXPECT_EQ(message_of(load, Code::bad_input), "the policy refuses the file: not file");
  EXPECT_THAT(policy->take(), ElementsAre(whole));
}

TEST_F(Policies, AFileIsRefusedBeforeItsOperatorsAreLookedUp) {
  using namespace onnx_file;
  const std::string path =
      write("m.onnx",
            model({.nodes = {node("Unheard", {"x"}, "y")}, .inputs = {f32("x", {"2"})}, .outputs = {f32("y", {"2"})}}));
  policy->rejected = {"file model m.onnx " + std::to_string(std::filesystem::file_size(path)) + " Unheard@18"};
  EXPECT_THAT(message_of([&] { Model::load(path, options()); }, Code::bad_input), HasSubstr("not file"));
  policy->rejected = {};
  EXPECT_THAT(message_of([&] { Model::load(path, options()); }, Code::unsupported), HasSubstr("Unheard"));
}

TEST_F(Policies, APackageIsAFileOfItsOwnKind) {
  const std::string path = (folder_ / "m.frzc").string();
  frazil::PackageBuilder(square_model(), {.tier = "0"}).save(path, {});
  const std::string line = "file package m.frzc " + std::to_string(std::filesystem::file_size(path));
  policy->rejected = {line};
  EXPECT_THAT(message_of([&] { Model::load(path, options()); }, Code::bad_input),
              HasSubstr("m.frzc: the policy refuses the file: not file"));
  EXPECT_THAT(policy->take(), ElementsAre(line));
}

TEST_F(Policies, ChangesHaveAKindAndANote) {
  LiveModel live(named("a", "Neg", options()));
  policy->take();
  live.edit({"ada", ""}, [](Patch& patch) { patch.replace("y", patch.op("Abs", {patch.tap("y")})); });
  EXPECT_THAT(policy->take(), ElementsAre("load a", "edit a a by ada"));
  live.publish(named("b", "Exp"), {"bob", ""});
  EXPECT_THAT(policy->take(), ElementsAre("load b", "publish a b by bob"));
  live.roll_back(1, {"cyd", ""});
  EXPECT_THAT(policy->take(), ElementsAre("load a", "roll back b a by cyd"));
  Patch patch(live.current().model, "p");
  patch.replace("y", patch.op("Abs", {patch.tap("y")}));
  patch.commit();
  EXPECT_THAT(policy->take(), ElementsAre("load a", "edit a a by nobody"));
  policy->rejected = {"publish a b by dan", "roll back a b by dan"};
  EXPECT_EQ(message_of([&] { live.publish(named("b", "Exp"), {"dan", ""}); }, Code::bad_input),
            "the policy refuses to publish 'a': not publish");
  EXPECT_EQ(message_of([&] { live.roll_back(3, {"dan", ""}); }, Code::bad_input),
            "the policy refuses to roll back 'a': not roll");
  EXPECT_EQ(live.current().number, 4u);
}

TEST_F(Policies, APublishedModelKeepsItsPolicyAndGetsThatOfTheLiveModel) {
  const auto other = std::make_shared<PolicyRecorder>();
  LiveModel live(named("a", "Neg", options()));
  live.publish(named("b", "Exp", {.policy = other}), {});
  policy->take();
  other->take();
  live.open().run({{"x", Array::of<float>({1}, {1})}});
  EXPECT_THAT(policy->take(), ElementsAre("run b"));
  EXPECT_THAT(other->take(), ElementsAre("run b"));
  other->rejected = {"load b"};
  const auto edit = [&] { live.edit({}, [](Patch& patch) { patch.replace("y", patch.op("Abs", {patch.tap("y")})); }); };
  EXPECT_THAT(message_of(edit, Code::bad_input), HasSubstr("not load"));
  other->rejected = {};
  policy->rejected = {"load b"};
  EXPECT_THAT(message_of(edit, Code::bad_input), HasSubstr("not load"));
}

TEST_F(Policies, ACallIsCheckedByThePoliciesOfTheCaller) {
  const auto theirs = std::make_shared<PolicyRecorder>();
  frazil::Registry::instance().put("head", LiveModel(named("h", "Neg", {.policy = theirs})));
  auto session = Model::from_text(R"(graph c(%x: f32[N]) {
    %y = frazil::Call(%x) {model = "head", takes = ["f32[N]"], gives = ["f32[N]"]} return y = %y })",
                                  {}, options())
                     .open();
  policy->take();
  theirs->take();
  const auto run = [&] { session.run({{"x", Array::of<float>({1}, {1})}}); };
  run();
  EXPECT_THAT(policy->take(), ElementsAre("run c", "dispatch head 1 h"));
  EXPECT_THAT(theirs->take(), ElementsAre("run h"));
  policy->rejected = {"dispatch head 1 h"};
  EXPECT_THAT(message_of(run, Code::bad_input), HasSubstr("the policy refuses the call of 'head', version 1"));
  EXPECT_THAT(theirs->take(), IsEmpty());
  frazil::Registry::instance().remove("head");
}

TEST_F(Policies, OperatorsOfALoadAreChecked) {
  HostOperator same{.name = "Same", .domain = "com.acme"};
  same.types = [](const frazil::NodeAttributes&, std::span<const frazil::TensorType> in) { return std::vector{in[0]}; };
  same.run = [](const frazil::NodeAttributes&, std::span<const Array> in) { return std::vector{in[0]}; };
  LoadOptions with = options();
  with.operators = std::make_shared<const std::vector<HostOperator>>(std::vector{same});
  named("a", "com.acme::Same", with);
  EXPECT_THAT(policy->take(), ElementsAre("operator com.acme.Same", "load a"));
  policy->rejected = {"operator com.acme.Same"};
  EXPECT_EQ(message_of([&] { named("a", "com.acme::Same", with); }, Code::bad_input),
            "the policy refuses operator 'com.acme.Same': not operator");
}

TEST_F(Policies, AnExceptionRejects) {
  struct Broken : frazil::Policy {
    Reason check_file(const FileFacts&) override { throw std::runtime_error("no connection"); }
  };
  const std::string path = write("m.onnx", negating_onnx());
  EXPECT_THAT(message_of([&] { Model::load(path, {.policy = std::make_shared<Broken>()}); }, Code::bad_input),
              HasSubstr("no connection"));
}

/// Gives this process a policy, which it then has until it ends, and returns whether all is as expected.
int governed_process(const std::string& path) {
  Model before = named("before", "Neg");
  const auto policy = std::make_shared<PolicyRecorder>();
  frazil::install_policy(policy);
  LiveModel live(named("a", "Neg"));
  live.edit({"ada", ""}, [](Patch& patch) { patch.replace("y", patch.op("Abs", {patch.tap("y")})); });
  before.run({{"x", Array::of<float>({1}, {1})}});
  Model::load(path);
  const std::string size = std::to_string(std::filesystem::file_size(path));
  EXPECT_THAT(policy->take(), ElementsAre("load a", "load a", "edit a a by ada", "run before",
                                          "file model m.onnx " + size + " Neg@13", "load g"));
  policy->rejected = {"operator com.acme.New", "run before"};
  HostOperator made{.name = "New", .domain = "com.acme"};
  made.types = [](const frazil::NodeAttributes&, std::span<const frazil::TensorType> in) { return std::vector{in[0]}; };
  made.run = [](const frazil::NodeAttributes&, std::span<const Array> in) { return std::vector{in[0]}; };
  EXPECT_THAT(message_of([&] { register_operator(made); }, Code::bad_input), HasSubstr("not operator"));
  EXPECT_THAT(message_of([&] { before.run({{"x", Array::of<float>({1}, {1})}}); }, Code::bad_input),
              HasSubstr("not run"));
  EXPECT_EQ(message_of([&] { frazil::install_policy(std::make_shared<PolicyRecorder>()); }, Code::bad_input),
            "install_policy: the process has a policy, which cannot be replaced");
  EXPECT_EQ(frazil::process_policy(), policy);
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST_F(Policies, ThatOfTheProcessCannotBeReplaced) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path = write("m.onnx", negating_onnx());
  EXPECT_EXIT(std::exit(governed_process(path)), testing::ExitedWithCode(0), "");
}

}  // namespace
