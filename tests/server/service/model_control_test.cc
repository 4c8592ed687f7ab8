// Loads and unloads of models: at the start, by requests, and as the folder changes.
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::ModelControl;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kDoubling =
    "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, model: double, inputs: {x: x}}]\noutputs: {y: s.y}\n";

class Control : public testing::Test {
 protected:
  Control() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.write("p.yaml", kDoubling);
  }
  void serve(ModelControl control, std::vector<std::string> load = {}) {
    server::ServiceOptions options = options_of(folder_);
    options.control = control;
    options.load_models = std::move(load);
    options.poll_every = std::chrono::milliseconds(10);
    options.workers = 2;
    options.notify = [this](const server::Notice& notice) {
      const std::scoped_lock lock(mutex_);
      lines_.push_back(notice.subject + ": " + notice.text);
    };
    service_.emplace(std::move(options));
  }
  std::vector<std::string> served() const {
    std::vector<std::string> names;
    for (const auto& one : service_->repository()->all()) names.push_back(one->name());
    return names;
  }
  server::Reply post(std::string_view path, std::string_view body = "") {
    return reply_to(*service_, {.method = "POST", .path = path, .body = body});
  }
  /// The first output for the row (1, 2); empty: there is no such model.
  std::vector<float> answer(const char* model) {
    if (!service_->repository()->has_model(model)) return {};
    return floats_of(ask(*service_, {.model = model, .inputs = {{"x", row({1, 2})}}}).get());
  }
  template <class F>
  static void wait_until(F holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(holds());
  }
  std::size_t lines_with(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  /// Puts a model into the folder in one step, as operators should.
  void replace(const std::string& name, const std::string& text) const {
    const TempFolder beside;
    api::Model::from_text(text).save(beside / "m.onnx");
    std::filesystem::copy_file(beside / "m.onnx", folder_.path() + ".new");
    std::filesystem::rename(folder_.path() + ".new", folder_.path() + name + ".onnx");
  }

  Folder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::optional<server::Service> service_;
};

// ---- explicit ----

TEST_F(Control, LoadsWhatIsNamedAtTheStart) {
  const struct {
    std::vector<std::string> load, served;
  } cases[] = {{{}, {}},
               {{"triple"}, {"triple"}},
               {{"p"}, {"double", "p"}},  // with what it needs
               {{"triple", "p", "double"}, {"double", "p", "triple"}},
               {{"*"}, {"double", "p", "triple"}}};
  for (const auto& c : cases) {
    serve(ModelControl::on_request, c.load);
    EXPECT_EQ(served(), c.served);
    EXPECT_FALSE(service_->why_not_ready());
  }
  try {
    serve(ModelControl::on_request, {"none"});
    ADD_FAILURE() << "it serves";
  } catch (const api::Error& error) {
    EXPECT_EQ(error.code(), api::Code::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("the folder has no model 'none'"));
  }
}

TEST_F(Control, LoadsAndUnloadsOnRequest) {
  serve(ModelControl::on_request);
  EXPECT_EQ(post("/v2/models/double/infer", "{}").status, Http::not_found);
  EXPECT_EQ(post("/v2/repository/models/p/load").status, Http::ok);
  EXPECT_THAT(served(), ElementsAre("double", "p"));
  EXPECT_EQ(post("/v2/repository/models/double/unload").status, Http::bad_request) << "p needs it";
  EXPECT_EQ(post("/v2/repository/models/p/unload").status, Http::ok);
  EXPECT_THAT(served(), ElementsAre("double"));
}

TEST_F(Control, TheIndexHasModelsThatAreNotLoaded) {
  folder_.add("many/2", kTriple);
  folder_.add("many/3", kTriple);
  serve(ModelControl::on_request, {"triple"});
  const auto line = [](const std::string& name, const std::string& version, bool loaded) {
    return R"({"name":")" + name + R"(","version":")" + version +
           (loaded ? R"(","state":"READY","reason":""})" : R"(","state":"UNAVAILABLE","reason":"not loaded"})");
  };
  const std::string others = line("many", "2", false) + "," + line("many", "3", false) + ",";
  EXPECT_EQ(post("/v2/repository/index").body, "[" + line("triple", "1", true) + "," + line("double", "1", false) +
                                                   "," + others + line("p", "1", false) + "]");
  EXPECT_EQ(post("/v2/repository/index", R"({"ready":true})").body, "[" + line("triple", "1", true) + "]");
  EXPECT_FALSE(service_->why_not_ready()) << "nobody has asked for them";
  EXPECT_EQ(post("/v2/repository/models/p/load").status, Http::ok);
  EXPECT_EQ(post("/v2/repository/models/triple/unload").status, Http::ok);
  EXPECT_EQ(post("/v2/repository/index").body, "[" + line("double", "1", true) + "," + line("p", "1", true) + "," +
                                                   others.substr(0, others.size() - 1) + "," +
                                                   line("triple", "1", false) + "]");
  folder_.write("double.yaml", kDoubling);
  const server::Reply broken = post("/v2/repository/index");
  EXPECT_EQ(broken.status, Http::unavailable);
  EXPECT_THAT(broken.body, Not(HasSubstr(folder_.path()))) << "tenants see no paths";
  EXPECT_EQ(lines_with("there is a model 'double', too"), 1U);
}

TEST_F(Control, TheIndexOfATenantHasItsModels) {
  server::ServiceOptions options = options_of(folder_);
  options.control = ModelControl::on_request;
  options.config.tenants = {{.name = "shop", .keys = {"k"}, .models = {"p"}}};
  service_.emplace(std::move(options));
  const server::Reply reply =
      reply_to(*service_, {.method = "POST", .path = "/v2/repository/index", .body = "", .authorization = "Bearer k"});
  EXPECT_EQ(reply.body, R"([{"name":"p","version":"1","state":"UNAVAILABLE","reason":"not loaded"}])");
}

TEST_F(Control, UnloadsDependentsThatNothingElseNeeds) {
  folder_.write("q.yaml", kDoubling);
  serve(ModelControl::on_request, {"p", "q", "triple"});
  constexpr const char* kDependents = R"({"parameters": {"unload_dependents": true}})";
  EXPECT_EQ(post("/v2/repository/models/q/unload", kDependents).status, Http::ok);
  EXPECT_THAT(served(), ElementsAre("double", "p", "triple")) << "p needs double";
  EXPECT_EQ(post("/v2/repository/models/p/unload", kDependents).status, Http::ok);
  EXPECT_THAT(served(), ElementsAre("triple"));
  EXPECT_EQ(lines_with("model 'double': unloaded"), 1U);
  EXPECT_THAT(post("/v2/repository/models/triple/unload", R"({"parameters": {"unload_dependents": 1}})").body,
              HasSubstr("unload_dependents: expected true or false"));
}

// ---- poll ----

TEST_F(Control, FollowsTheFolder) {
  serve(ModelControl::poll);
  EXPECT_THAT(served(), ElementsAre("double", "p", "triple"));
  replace("double", kTriple);
  wait_until([&] { return answer("double") == std::vector<float>{3, 6}; });
  wait_until([&] { return answer("p") == std::vector<float>{3, 6}; });
  replace("fresh", kDouble);
  wait_until([&] { return answer("fresh") == std::vector<float>{2, 4}; });
  folder_.add("many/2", kTriple);
  wait_until([&] { return answer("many") == std::vector<float>{3, 6}; });
  folder_.add("many/3", kDouble);
  wait_until([&] { return answer("many") == std::vector<float>{2, 4}; });
  std::filesystem::remove_all(folder_.path() + "many/3");
  wait_until([&] { return answer("many") == std::vector<float>{3, 6}; });
  std::filesystem::remove_all(folder_.path() + "many");
  std::filesystem::remove(folder_.path() + "p.yaml");
  std::filesystem::remove(folder_.path() + "double.onnx");
  wait_until([&] { return served() == std::vector<std::string>{"fresh", "triple"}; });
  EXPECT_EQ(lines_with("triple"), 0U) << "it has not changed";
}

TEST_F(Control, FilesBesideModelsAndPipelinesBelongToThem) {
  const auto before = server::state_of_folder(folder_.path());
  folder_.write("clean.py", "def clean(x): return x");
  const auto after = server::state_of_folder(folder_.path());
  EXPECT_NE(after.models.at("double"), before.models.at("double"));
  EXPECT_NE(after.pipelines.at("p"), before.pipelines.at("p"));
}

TEST_F(Control, KeepsWhatCannotBeReplaced) {
  serve(ModelControl::poll);
  folder_.write("double.onnx", "nonsense");
  folder_.write("broken.onnx", "nonsense");
  std::filesystem::remove(folder_.path() + "triple.onnx");
  wait_until([&] { return service_->repository()->find("triple", "") == nullptr; });
  wait_until(
      [&] { return lines_with("model 'double': not changed") > 0 && lines_with("model 'broken': not changed") > 0; });
  EXPECT_EQ(answer("double"), (std::vector<float>{2, 4}));
  EXPECT_FALSE(service_->why_not_ready());
  std::filesystem::remove(folder_.path() + "p.yaml");  // double stays while it is in the folder
  wait_until([&] { return service_->repository()->find("p", "") == nullptr; });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(lines_with("model 'double': not changed"), 3U) << "it is tried again after another change alone";
  replace("double", kTriple);
  wait_until([&] { return answer("double") == std::vector<float>{3, 6}; });
}

TEST_F(Control, KeepsModelsThatPipelinesNeedAndThoseOfALostFolder) {
  serve(ModelControl::poll);
  std::filesystem::remove(folder_.path() + "double.onnx");
  std::filesystem::remove(folder_.path() + "triple.onnx");
  wait_until([&] { return service_->repository()->find("triple", "") == nullptr; });
  EXPECT_EQ(answer("p"), (std::vector<float>{2, 4}));
  const TempFolder beside;
  std::string path = folder_.path();
  path.pop_back();  // the '/'
  std::filesystem::rename(path, beside / "moved");
  wait_until([&] { return lines_with("poll: ") == 1; });
  EXPECT_EQ(answer("p"), (std::vector<float>{2, 4}));
  std::filesystem::rename(beside / "moved", path);
}

TEST_F(Control, RefusesRequestsToLoadWhilePolling) {
  serve(ModelControl::poll);
  for (const char* verb : {"load", "unload"}) {
    const server::Reply reply = post(std::string("/v2/repository/models/double/") + verb);
    EXPECT_EQ(reply.status, Http::bad_request);
    EXPECT_THAT(reply.body, HasSubstr("the models follow the folder"));
  }
}

TEST_F(Control, AnEmptyFolderMayBeFilled) {
  for (const char* name : {"double.onnx", "triple.onnx", "p.yaml"}) std::filesystem::remove(folder_.path() + name);
  serve(ModelControl::poll);
  EXPECT_THAT(served(), IsEmpty());
  replace("double", kDouble);
  wait_until([&] { return answer("double") == std::vector<float>{2, 4}; });
}

TEST_F(Control, NoRequestFailsWhileModelsAreReplaced) {
  serve(ModelControl::poll);
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0, answered = 0;
  std::vector<std::jthread> clients;
  for (const char* model : {"double", "p"}) {
    clients.emplace_back([&, model] {
      while (!over) {
        const server::Outcome outcome = ask(*service_, {.model = model, .inputs = {{"x", row({1, 2})}}}).get();
        const auto values = outcome ? floats_of(outcome) : std::vector<float>();
        if (values != std::vector<float>{2, 4} && values != std::vector<float>{3, 6}) ++wrong;
        ++answered;
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    replace("double", i % 2 == 0 ? kTriple : kDouble);
    const std::size_t wanted = static_cast<std::size_t>(i) + 1;
    wait_until([&] { return lines_with("model 'double': loaded") >= wanted; });
  }
  over = true;
  clients.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 100);
}

}  // namespace
}  // namespace frazil::test
