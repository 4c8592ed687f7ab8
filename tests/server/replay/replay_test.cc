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

constexpr const char* kDraws =
    "graph draws(%x: f32[N,4]) { %r = RandomNormalLike(%x) %y = Add(%x, %r) return y = %y }";
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
  return text == nullptr ? 300 : std::strtoull(text, nullptr, 10);
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
    for (const char* const model : {"dense", "draws", "fails"}) {
      options.config.models[model].batching = {.most = 8, .delay = std::chrono::microseconds(300)};
    }
    options.config.models["talk"].sequences.states = {{.input = "said", .output = "all"}};
    service_.emplace(std::move(options));
  }
  void end() {
    service_.reset();
    audit_->close();
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
  serve({.payloads = true, .keys = keys_.path()});
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
  std::map<std::string, std::uint64_t> results;
  for (const std::uint64_t entry : requests()) {
    const ReplayReport report = replayer.replay(entry);
    ++results[std::string(server::name_of(report.result)) + (report.cause.empty() ? "" : ": " + report.cause)];
    EXPECT_EQ(report.result, ReplayResult::equal) << "entry " << entry << ": " << report.json().dump();
  }
  for (const auto& [result, count] : results) std::cout << count << " " << result << "\n";
  EXPECT_EQ(results["equal"], wanted);
  EXPECT_EQ(host_calls(), calls) << "a replay has called a host";
}

}  // namespace
}  // namespace frazil::test
