// Replays of recorded requests: random pipelines, batches, sequences, hosts, edits. FRAZIL_REPLAYS is their number.
#include <cstdlib>

#include <gmock/gmock.h>

#include "server/replay/compare.h"
#include "server/replay/replay_mix.h"
#include "server/state/state_bytes.h"

namespace frazil::test {
namespace {

using server::Happening;
using server::Http;
using server::Payload;
using server::ReplayReport;
using server::ReplayResult;
using testing::HasSubstr;

std::string dense_text(std::size_t inner) {
  std::string a = "f32[4," + std::to_string(inner) + "] [", b = "f32[" + std::to_string(inner) + ",4] [";
  for (std::size_t i = 0; i < 4 * inner; ++i) {
    a += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>((i * 7919) % 199) / 1000 - 0.1);
    b += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>((i * 104729) % 211) / 1000 - 0.1);
  }
  return "graph dense(%x: f32[N,4]) { %h = MatMul(%x, " + a + "]) %t = Tanh(%h) %y = MatMul(%t, " + b +
         "]) return y = %y }";
}

constexpr const char* kDraws = "graph draws(%x: f32[N,4]) { %r = RandomNormalLike(%x) %y = Add(%x, %r) return y = %y }";
constexpr const char* kCosine = "graph cosine(%x: f32[N,4]) { %y = Cos(%x) return y = %y }";
/// Fails if the largest value of a row is above 1: its index is outside of the tensor.
constexpr const char* kMayFail =
    "graph fails(%x: f32[N,4]) { %m = ReduceMax(%x) {keepdims = 0} %f = Mul(%m, f32[] 4) %i = Cast(%f) {to = i64}"
    "%v = Gather(%x, %i) {axis = 1} %u = Unsqueeze(%v, i64[1] 1) %y = Add(%x, %u) return y = %y }";
/// Adds the sum of all rows so far, which is its state.
constexpr const char* kTalks =
    "graph talk(%x: f32[N,4], %said: f32[]) { %s = ReduceSum(%x) {keepdims = 0} %all = Add(%said, %s)"
    "%y = Add(%x, %all) return y = %y, all = %all }";

std::uint64_t replays_wanted() {
  const char* const text = std::getenv("FRAZIL_REPLAYS");
  return text == nullptr ? 120 : std::strtoull(text, nullptr, 10);
}

class Replays : public testing::Test {
 protected:
  void add_models() {
    register_unpredictable_functions();
    folder_.add("dense", dense_text(33));
    folder_.add("narrow", dense_text(5));
    folder_.add("draws", kDraws);
    folder_.add("cosine", kCosine);
    folder_.add("fails", kMayFail);
    folder_.add("talk", kTalks);
  }
  void serve(server::GovernanceConfig governance = {.payloads = true}) {
    audit_ = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = log_.path(), .origin = "example.org/replays", .key = key_});
    server::ServiceOptions options = options_of(folder_);
    options.workers = 3;
    options.audit = audit_;
    options.environment = here_;
    options.config.governance = std::move(governance);
    for (const char* const model : {"dense", "cosine", "narrow"}) {
      options.config.models[model].batching = {.most = 8, .delay = std::chrono::microseconds(300)};
    }
    options.config.models["talk"].sequences.states = {{.input = "said", .output = "all"}};
    service_.emplace(std::move(options));
  }
  void end() {
    service_.reset();
    audit_->close();
    audit_.reset();
  }
  /// Returns the indexes of the requests in the log.
  std::vector<std::uint64_t> requests() const {
    std::vector<std::uint64_t> list;
    govern::read_log(log_.path(), {.kinds = {"request"}}, [&](std::uint64_t i, const auto&) { list.push_back(i); });
    return list;
  }
  api::Array random_rows() {
    api::Array x(api::Dtype::f32, {1 + static_cast<std::int64_t>(random_() % 3), 4});
    for (float& value : x.mutable_values<float>()) value = static_cast<float>(random_() % 2000) / 2000.0F - 0.45F;
    return x;
  }
  Asking random_request(const std::vector<std::string>& models) {
    Asking asking{.model = models[random_() % models.size()], .inputs = {{"x", random_rows()}}};
    asking.sequence = {.id = "s" + std::to_string(random_() % 5), .start_if_new = true};
    if (random_() % 2 == 0) asking.parameters["limit"] = static_cast<double>(random_() % 100) / 50 - 1;
    return asking;
  }
  void edit(unsigned number) {
    const float factor = 1 + static_cast<float>(number) / 64;
    service_->registry().get("narrow").edit({"ada", "factor"}, [&](api::Patch& patch) {
      patch.replace("y", patch.op("Mul", {patch.tap("y"), patch.scalar(factor)}));
    });
  }

  std::minstd_rand random_{7};
  Folder folder_, log_, keys_;
  server::Environment here_{{{"build", "test"}, {"isa", "any"}}};
  govern::SigningKey key_ = govern::SigningKey::generate(govern::KeyKind::ed25519);
  std::shared_ptr<govern::AuditLog> audit_;
  std::optional<server::Service> service_;
};

TEST_F(Replays, OfRandomPipelinesHaveEqualBits) {
  add_models();
  std::vector<std::string> models{"dense", "draws", "talk", "fails", "narrow"};
  const std::uint64_t wanted = replays_wanted();
  for (unsigned i = 0; i < 12; ++i) {
    models.push_back("p" + std::to_string(i));
    folder_.write(models.back() + ".yaml", PipelineWriter(i + 1).pipeline());
  }
  serve({.keys = keys_.path(), .payloads = true});
  std::vector<std::future<server::Outcome>> running;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    running.push_back(ask(*service_, random_request(models)));
    if (running.size() == 8) {
      for (auto& one : running) one.wait();
      running.clear();
    }
    if (i % (wanted / 10) == wanted / 20) edit(static_cast<unsigned>(i));
  }
  for (auto& one : running) one.wait();
  end();

  const std::uint64_t calls = host_calls();
  server::Replayer replayer(log_.path(), keys_.path(), here_);
  std::map<std::string, std::uint64_t> results, kinds;
  for (const std::uint64_t entry : requests()) {
    const ReplayReport report = replayer.replay(entry);
    ++results[std::string(server::name_of(report.result)) + (report.cause.empty() ? "" : ": " + report.cause)];
    EXPECT_EQ(report.result, ReplayResult::equal) << "entry " << entry << ": " << report.json().dump();
    const Payload payload = replayer.payload(entry);
    if (payload.status != Http::ok) ++kinds["failed request"];
    for (const Happening& happening : payload.happenings) {
      ++kinds[happening.kind];
      if (happening.failure) ++kinds["failed " + happening.kind];
      if (happening.shape.members.size() > 1) ++kinds["joined run"];
      if (happening.shape.seed != 0) ++kinds["drawing run"];
      if (happening.kind == "run" && !happening.values.empty()) ++kinds["turn"];
    }
  }
  for (const auto& [result, count] : results) std::cout << count << " " << result << "\n";
  for (const auto& [kind, count] : kinds) std::cout << "  " << kind << ": " << count << "\n";
  EXPECT_EQ(results["equal"], wanted);
  for (const char* kind : {"run", "split", "switch", "loop", "race", "fallback", "ensemble", "code", "failed request",
                           "failed run", "failed code", "joined run", "drawing run", "turn"}) {
    EXPECT_GT(kinds[kind], 0U) << kind;
  }
  EXPECT_EQ(host_calls(), calls) << "a replay has called a host";
}

// ---- single cases ----

class SingleReplays : public Replays {
 protected:
  /// Serves a pipeline "p" of steps that give `y`, asks it once, and opens the log.
  void record(const std::string& steps, const std::string& y,
              server::GovernanceConfig governance = {.payloads = true}) {
    add_models();
    folder_.write("p.yaml", "inputs: {x: 'f32[N,4]'}\nsteps:\n" + steps + "outputs: {y: " + y + "}\n");
    serve(std::move(governance));
    api::Array x(api::Dtype::f32, {2, 4});
    for (float& value : x.mutable_values<float>()) value = 0.25F;
    (void)ask(*service_, {.model = "p", .inputs = {{"x", x}}, .sequence = {.id = "one", .start_if_new = true}}).get();
    end();
    replayer_.emplace(log_.path(), keys_.path(), here_);
  }
  ReplayReport replay(const std::vector<std::string>& changes = {}) {
    server::ReplayChanges all;
    for (const std::string& change : changes) server::add_change(all, change);
    return replayer_->replay(requests().at(0), all);
  }
  /// Replays the request after a change of what was recorded.
  ReplayResult replay_changed(const std::function<void(Payload&)>& change) {
    Payload payload = replayer_->payload(requests().at(0));
    change(payload);
    return replayer_->replay(payload, {}, "").result;
  }

  std::optional<server::Replayer> replayer_;
};

constexpr const char* kAllKinds = R"(
  - name: route
    split:
      arms:
        - name: a
          share: 0.5
          steps: [{name: ma, model: dense, inputs: {x: x}}]
          results: {y: ma.y}
        - name: b
          share: 0.5
          steps: [{name: mb, model: cosine, inputs: {x: x}}]
          results: {y: mb.y}
  - {name: asked, code: {function: noise, inputs: {x: route.y}}}
  - {name: drawn, model: draws, inputs: {x: asked.y}}
  - {name: told, model: talk, inputs: {x: drawn.y}}
)";

Happening& happening_of(Payload& payload, const std::string& node) {
  const auto at = std::ranges::find(payload.happenings, node, &Happening::node);
  if (at == payload.happenings.end()) throw std::out_of_range("no happening of " + node);
  return *at;
}

TEST_F(SingleReplays, NeedEverythingThatIsRecorded) {
  record(kAllKinds, "told.y");
  ASSERT_EQ(replay().result, ReplayResult::equal) << replay().json().dump();
  struct Damage {
    const char* what;
    std::function<void(Payload&)> change;
  };
  const Damage damages[] = {
      {"the arm",
       [](Payload& p) {
         auto& taken = happening_of(p, "route").taken;
         taken = taken == "a" ? "b" : "a";
       }},
      {"no arm", [](Payload& p) { std::erase_if(p.happenings, [](auto& h) { return h.node == "route"; }); }},
      {"the answer", [](Payload& p) { happening_of(p, "asked").values.at(0).second.mutable_values<float>()[0] += 1; }},
      {"no answer", [](Payload& p) { std::erase_if(p.happenings, [](auto& h) { return h.node == "asked"; }); }},
      {"the seed", [](Payload& p) { happening_of(p, "drawn").shape.seed += 2; }},
      {"no seed", [](Payload& p) { happening_of(p, "drawn").shape.seed = 0; }},
      {"the state", [](Payload& p) { happening_of(p, "told").values.at(0).second = api::Array::scalar(5.0F); }},
      {"no run", [](Payload& p) { std::erase_if(p.happenings, [](auto& h) { return h.node == "told"; }); }},
      {"an input", [](Payload& p) { p.inputs.at(0).second.mutable_values<float>()[3] += 1; }},
      {"an output", [](Payload& p) { p.outputs.at(0).value.mutable_values<float>()[7] += 1; }},
  };
  for (const Damage& damage : damages) EXPECT_NE(replay_changed(damage.change), ReplayResult::equal) << damage.what;
}

TEST_F(SingleReplays, RepeatTheExtentsOfABatch) {
  record("  - {name: m, model: dense, inputs: {x: x}}\n", "m.y");
  const auto batch_of = [](Payload& payload, std::vector<server::RunShape::Extent> members, std::uint64_t row) {
    auto& shape = happening_of(payload, "m").shape;
    shape.members = std::move(members);
    shape.row = row;
  };
  // Rows of a product of this size do not depend on the number of rows, so that the results are equal.
  EXPECT_EQ(replay_changed([&](Payload& p) { batch_of(p, {{1, 0}, {2, 0}, {3, 0}}, 1); }), ReplayResult::equal);
}

TEST_F(SingleReplays, OfWhatIfShowTheFirstStepAndBothOutputs) {
  record(R"(
  - name: route
    switch:
      - name: small
        when: sum(x) > param('limit', 0.5)
        steps: [{name: ms, model: dense, inputs: {x: x}}]
        results: {y: ms.y}
      - name: large
        steps: [{name: ml, model: cosine, inputs: {x: x}}]
        results: {y: ml.y}
)",
         "route.y");
  EXPECT_EQ(replay().result, ReplayResult::equal) << replay().json().dump();
  for (const char* change : {"route=large", "limit=100.5"}) {
    const ReplayReport report = replay({change});
    EXPECT_EQ(report.result, ReplayResult::different);
    EXPECT_EQ(report.mode, "what if");
    EXPECT_EQ(report.step, "route");
    EXPECT_THAT(report.step_difference, HasSubstr("took 'large', the record has 'small'"));
    EXPECT_EQ(report.place, "output 'y'[0]");
    EXPECT_THAT(report.outputs.at(0).second, HasSubstr("f32[2,4]"));
  }
  EXPECT_EQ(replay({"limit=1"}).result, ReplayResult::equal);
  EXPECT_THROW(replay({"model=dense/9"}), api::Error);
  EXPECT_EQ(replay({"model=dense/1"}).result, ReplayResult::equal);
}

TEST_F(SingleReplays, OfWhatIfSayWhichAnswersAreToOtherInputs) {
  record(std::string(kAllKinds), "asked.y");
  Payload payload = replayer_->payload(requests().at(0));
  const std::string other = happening_of(payload, "route").taken == "a" ? "route=b" : "route=a";
  const ReplayReport report = replay({other});
  EXPECT_EQ(report.result, ReplayResult::different);
  EXPECT_THAT(report.cause, HasSubstr("node 'asked' has the answer to its recorded inputs, not to these"));
}

TEST_F(SingleReplays, NameWhyTheyAreRefused) {
  record("  - {name: m, model: dense, inputs: {x: x}}\n", "m.y", {.keys = keys_.path(), .payloads = true});
  EXPECT_EQ(replay().result, ReplayResult::equal) << replay().json().dump();
  server::Replayer keyless(log_.path(), "", here_);
  EXPECT_THAT(keyless.replay(requests().at(0)).cause, HasSubstr("the payload is sealed: give the folder of keys"));
  EXPECT_THROW(keyless.replay(0), api::Error);
  EXPECT_THROW(keyless.replay(1'000'000), api::Error);
  govern::SubjectKeys keys(keys_.path());
  ASSERT_TRUE(keys.destroy_key(""));
  server::Replayer erased(log_.path(), keys_.path(), here_);
  EXPECT_THAT(erased.replay(requests().at(0)).cause, HasSubstr("the payload was erased"));
}

TEST_F(SingleReplays, WithoutAPayloadAreRefused) {
  record("  - {name: m, model: dense, inputs: {x: x}}\n", "m.y", {.payloads = true, .share = 0});
  EXPECT_THAT(replay().cause, HasSubstr("the request was not in governance.share"));
}

TEST_F(SingleReplays, InAnotherEnvironmentNameItsParts) {
  record("  - {name: m, model: dense, inputs: {x: x}}\n", "m.y");
  audit_ = std::make_shared<govern::AuditLog>(
      govern::AuditOptions{.folder = log_.path(), .origin = "example.org/replays", .key = key_});
  audit_->put_blob(here_.text());
  audit_->close();
  server::Replayer elsewhere(log_.path(), "", {{{"build", "test"}, {"isa", "other"}}});
  const ReplayReport report = elsewhere.replay(requests().at(0));
  EXPECT_EQ(report.mode, "portable");
  EXPECT_EQ(report.result, ReplayResult::equal);
  EXPECT_EQ(report.cause, "another environment: isa: any there, other here");
}

TEST(ReplayPayload, DamagedBytesAreRefused) {
  Payload payload{.manifest = "sha256:1",
                  .parameters = {{"a", true}, {"b", std::int64_t{-3}}, {"c", 0.5}, {"d", "text"}},
                  .wanted = {{.name = "y"}},
                  .inputs = {{"x", row({1, 2})}}};
  payload.happenings.push_back({.node = "m",
                                .kind = "run",
                                .taken = "m/1",
                                .failure = std::pair(Http::timeout, std::string("late")),
                                .values = {{"s", row({3})}},
                                .shape = {.way = server::RunShape::Way::joined, .members = {{1, 2}}, .seed = 4}});
  payload.outputs = {server::recorded_output({"y", row({5})})};
  const std::string bytes = server::bytes_of_payload(payload);
  EXPECT_EQ(server::bytes_of_payload(server::payload_of(bytes)), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(server::payload_of(std::string_view(bytes).substr(0, size)), server::StateFault) << size;
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    try {
      (void)server::payload_of(damaged);
    } catch (const server::StateFault&) {  // otherwise a text or a number is another one
    }
  }
}

}  // namespace
}  // namespace frazil::test
