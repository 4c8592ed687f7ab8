// The access log, the settings of logs and traces, and metrics in Prometheus' form.
#include <regex>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "server/core/access_log.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/rest_asked.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using server::AccessFormat;
using server::AccessLog;
using server::AccessRecord;
using server::Http;
using server::LogSettings;
using testing::HasSubstr;
using testing::MatchesRegex;

// ---- the access log ----

AccessRecord record() {
  return {.time = std::chrono::sys_days(std::chrono::year(2024) / 2 / 29),
          .peer = "10.0.0.1",
          .tenant = "my shop",
          .protocol = "http",
          .method = "POST",
          .path = "/v2/models/\"m\\\n/infer",
          .model = "m",
          .status = 200,
          .bytes_in = 10,
          .bytes_out = 20,
          .duration = std::chrono::milliseconds(1500)};
}

TEST(AccessLogTest, ALineHasOneWordForEachValue) {
  EXPECT_EQ(server::line_of(record(), AccessFormat::text),
            "2024-02-29T00:00:00.000Z 10.0.0.1 my\\x20shop http POST /v2/models/\"m\\x5c\\x0a/infer m 200 10 20 1.5");
  EXPECT_EQ(server::line_of(record(), AccessFormat::json),
            R"({"time":"2024-02-29T00:00:00.000Z","peer":"10.0.0.1","tenant":"my shop","protocol":"http",)"
            R"("method":"POST","path":"/v2/models/\"m\\\u000a/infer","model":"m","status":200,"bytes_in":10,)"
            R"("bytes_out":20,"seconds":1.5})");
  AccessRecord bare = record();
  bare.tenant = bare.model = bare.peer = "";
  EXPECT_THAT(server::line_of(bare, AccessFormat::text), HasSubstr("Z - - http POST"));
}

class Access : public testing::Test {
 protected:
  Access() { folder_.add("double", kDouble); }
  std::unique_ptr<AccessLog> log(std::string file) {
    return std::make_unique<AccessLog>(
        AccessLog::Options{.file = std::move(file),
                           .to_log = [this](const std::string& line) { lines_.push_back(line); },
                           .settings = settings_});
  }
  Folder folder_;
  TempFolder logs_;
  std::shared_ptr<LogSettings> settings_ = std::make_shared<LogSettings>();
  std::vector<std::string> lines_;
};

TEST_F(Access, EachRequestHasALine) {
  const std::string file = logs_ / "access";
  {
    const auto access = log(file);
    server::ServiceOptions options = options_of(folder_);
    options.config.tenants = {{.name = "shop", .keys = {"k"}}};
    const RunningServer server(options, {.access = access.get()});
    HttpClient http(server.port);
    http.post("/v2/models/double/infer", kOne, "Authorization: Bearer k\r\n");
    EXPECT_EQ(http.receive().status, 200U);
    http.post("/v2/models/double/infer", kOne, "Authorization: Bearer wrong\r\n");
    EXPECT_EQ(http.receive().status, 401U);
    http.get("/v2/none", "Authorization: Bearer k\r\n");
    EXPECT_EQ(http.receive().status, 404U);
    HttpClient broken(server.port);
    broken.send("nonsense\r\n\r\n");
    EXPECT_EQ(broken.receive().status, 400U);
    http.post("/v2/models/double/generate_stream", R"({"x":[1,2]})", "Authorization: Bearer k\r\n");
    EXPECT_EQ(http.receive().status, 200U);
    GrpcClient grpc(server.ports.grpc);
    const HeaderList key{{"authorization", "Bearer k"}};
    const std::string request = field(1, "double") + input("x", "FP32", {1, 2}) + field(7, raw<float>({1, 2}));
    EXPECT_EQ(grpc.wait(grpc.call("ModelInfer", request, key)).code(), "0");
    EXPECT_EQ(grpc.wait(grpc.call("ModelInfer", field(1, "none"), key)).code(), "5");
    EXPECT_EQ(grpc.wait(grpc.call("ModelInfer", request)).code(), "16");
    const auto gone = grpc.open("/grpc.health.v1.Health/Watch");
    grpc.send(gone, framed(""), true);
    (void)grpc.wait(gone, 7);
    grpc.reset(gone);
    grpc.settle();
  }
  const std::string text = content_of(file);
  const std::string time = "[0-9T:.-]+Z", end = " [0-9.e-]+";
  std::vector<std::string> wanted{
      time + " 127.0.0.1 shop http POST /v2/models/double/infer double 200 70 [0-9]+" + end,
      time + " 127.0.0.1 - http POST /v2/models/double/infer - 401 0 [0-9]+" + end,
      time + " 127.0.0.1 - http GET /v2/none - 404 0 [0-9]+" + end,
      time + " 127.0.0.1 - http - - - 400 0 [0-9]+" + end,
      time + " 127.0.0.1 shop http POST /v2/models/double/generate_stream double 200 11 [0-9]+" + end,
      time + " 127.0.0.1 shop grpc POST /inference.GRPCInferenceService/ModelInfer double 0 [0-9]+ [0-9]+" + end,
      time + " 127.0.0.1 shop grpc POST /inference.GRPCInferenceService/ModelInfer none 5 6 0" + end,
      time + " 127.0.0.1 - grpc POST /inference.GRPCInferenceService/ModelInfer - 16 0 0" + end,
      time + " 127.0.0.1 - grpc POST /grpc.health.v1.Health/Watch - 1 0 2" + end};
  std::string pattern;
  for (const std::string& line : wanted) pattern += line + "\n";
  EXPECT_TRUE(std::regex_match(text, std::regex(pattern))) << text << "expected\n" << pattern;
}

TEST_F(Access, AFileIsOpenedAgain) {
  const std::string file = logs_ / "access";
  {
    const auto access = log(file);
    access->write(record());
    RunningServer::wait_until([&] { return !content_of(file).empty(); });
    std::filesystem::rename(file, file + ".1");
    access->write(record());
    EXPECT_TRUE(access->reopen());
    AccessRecord last = record();
    last.path = "/last";
    access->write(last);
  }
  EXPECT_THAT(content_of(file), HasSubstr("/last"));
  EXPECT_EQ(std::ranges::count(content_of(file) + content_of(file + ".1"), '\n'), 3);
  EXPECT_THROW(log(logs_ / "none/access"), api::Error);
}

TEST_F(Access, LinesThatNobodyTakesAreDroppedAndCounted) {
  const auto access = log("/dev/full");
  for (int i = 0; i < 5; ++i) access->write(record());
  RunningServer::wait_until([&] { return access->dropped() == 5; });
}

TEST_F(Access, VerboseLogsHaveALineForEachRequest) {
  const auto access = log("");
  EXPECT_FALSE(access->is_on());
  settings_->change({{"log_verbose_level", std::uint64_t{1}}});
  EXPECT_TRUE(access->is_on());
  access->write(record());
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], HasSubstr(" http POST "));
}

// ---- settings ----

TEST(LogSettingsTest, LevelsIncludeThoseBefore) {
  const struct {
    const char* level;
    std::string taken;  ///< error, warning, info, requests
  } cases[] = {{"error", "1000"}, {"warning", "1100"}, {"info", "1110"}, {"verbose", "1111"}};
  for (const auto& c : cases) {
    LogSettings settings;
    ASSERT_TRUE(settings.set_level(c.level));
    std::string taken;
    for (const auto level :
         {server::Notice::Level::error, server::Notice::Level::warning, server::Notice::Level::info}) {
      taken += settings.takes(level) ? '1' : '0';
    }
    EXPECT_EQ(taken + (settings.has_requests() ? '1' : '0'), c.taken) << c.level;
  }
  EXPECT_FALSE(LogSettings().set_level("loud"));
}

class Settings : public testing::Test {
 protected:
  Settings() {
    folder_.add("double", kDouble);
    service_.emplace(options_of(folder_));
  }
  std::string get(std::string_view path) { return reply_to(*service_, {.method = "GET", .path = path}).body; }
  server::Reply post(std::string_view path, std::string_view body) {
    return reply_to(*service_, {.method = "POST", .path = path, .body = body});
  }
  std::size_t paths_after(int requests) {
    const auto count = [&] { return service_->paths().find(server::PathLog::Query{.most = 10'000}).size(); };
    const std::size_t before = count();
    for (int i = 0; i < requests; ++i) (void)post("/v2/models/double/infer", kOne);
    return count() - before;
  }
  Folder folder_;
  std::optional<server::Service> service_;
};

constexpr const char* kUsualLog =
    R"({"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"ISO8601"})";

TEST_F(Settings, LoggingIsReadAndChangedAsInTriton) {
  EXPECT_EQ(get("/v2/logging"), kUsualLog);
  EXPECT_THAT(post("/v2/logging", R"({"log_info":false,"log_verbose_level":2,"log_format":"ISO8601"})").body,
              HasSubstr(R"("log_info":false,"log_warning":true,"log_error":true,"log_verbose_level":2)"));
  EXPECT_FALSE(service_->options().log->takes(server::Notice::Level::info));
  (void)post("/v2/logging", R"({"log_info":true,"log_verbose_level":0})");
  const struct {
    const char *body, *why;
  } cases[] = {{R"({"log_info":0})", "setting 'log_info': expected true or false"},
               {R"({"log_verbose_level":-1})", "setting 'log_verbose_level'"},
               {R"({"log_verbose_level":true})", "expected a number that is not negative"},
               {R"({"log_format":"default"})", "expected ISO8601"},
               {R"({"log_file":"/etc/passwd"})", "it can only be redirected where the server is started"},
               {R"({"log_info":false,"log_warnings":false})", "setting 'log_warnings': expected one of log_info"},
               {R"([])", "object"},
               {"", "JSON"}};
  for (const auto& c : cases) {
    const server::Reply reply = post("/v2/logging", c.body);
    EXPECT_EQ(reply.status, Http::bad_request) << c.body;
    EXPECT_THAT(reply.body, HasSubstr(c.why)) << c.body;
  }
  EXPECT_EQ(get("/v2/logging"), kUsualLog) << "a refused change changes nothing";
}

TEST_F(Settings, TracesAreTheRecordedPaths) {
  constexpr const char* kUsual =
      R"({"trace_level":["TIMESTAMPS"],"trace_rate":"1","trace_count":"-1","log_frequency":"0","trace_file":""})";
  EXPECT_EQ(get("/v2/trace/setting"), kUsual);
  EXPECT_EQ(get("/v2/models/double/trace/setting"), kUsual);
  EXPECT_EQ(paths_after(5), 5U);
  EXPECT_THAT(post("/v2/trace/setting", R"({"trace_level":["OFF"]})").body, HasSubstr(R"("trace_level":["OFF"])"));
  EXPECT_EQ(paths_after(5), 0U);
  EXPECT_THAT(post("/v2/trace/setting", R"({"trace_level":["TIMESTAMPS"],"trace_rate":"10"})").body,
              HasSubstr(R"("trace_rate":"10")"));
  const std::size_t some = paths_after(300);
  EXPECT_GT(some, 5U);
  EXPECT_LT(some, 100U);
  EXPECT_EQ(post("/v2/trace/setting", R"({"trace_rate":null,"trace_level":null,"trace_count":"-1"})").body, kUsual);
  const struct {
    const char *body, *why;
  } cases[] = {{R"({"trace_level":["TENSORS"]})", "expected OFF or TIMESTAMPS, got 'TENSORS'"},
               {R"({"trace_level":["OFF","TIMESTAMPS"]})", "expected one value"},
               {R"({"trace_rate":"0"})", "expected a whole number above 0"},
               {R"({"trace_rate":10})", "setting 'trace_rate'"},
               {R"({"trace_level":["OFF"],"trace_count":"5"})", "setting 'trace_count': expected '-1'"},
               {R"({"trace_file":"/tmp/t"})", "paths are not written to files"},
               {R"({"trace_mode":"triton"})", "expected one of trace_level, trace_rate"}};
  for (const auto& c : cases) {
    const server::Reply reply = post("/v2/trace/setting", c.body);
    EXPECT_EQ(reply.status, Http::bad_request) << c.body;
    EXPECT_THAT(reply.body, HasSubstr(c.why)) << c.body;
  }
  EXPECT_THAT(post("/v2/models/double/trace/setting", R"({"trace_rate":"1"})").body,
              HasSubstr("use /v2/trace/setting"));
  EXPECT_EQ(get("/v2/trace/setting"), kUsual);
}

TEST_F(Settings, GrpcHasTheSame) {
  const RunningServer server(folder_, {});
  GrpcClient client(server.ports.grpc);
  const auto entry = [](std::string_view key, const std::string& value) {
    return field(1, field(1, key) + field(2, value));
  };
  EXPECT_EQ(client.wait(client.call("LogSettings", "")).data,
            framed(entry("log_file", field(3, "")) + entry("log_info", integer(1, 1)) +
                   entry("log_warning", integer(1, 1)) + entry("log_error", integer(1, 1)) +
                   entry("log_verbose_level", integer(2, 0)) + entry("log_format", field(3, "ISO8601"))));
  EXPECT_THAT(client.wait(client.call("LogSettings", entry("log_info", integer(1, 0)))).data,
              HasSubstr(entry("log_info", integer(1, 0))));
  EXPECT_EQ(client.wait(client.call("LogSettings", entry("log_file", field(3, "x")))).code(), "3");
  EXPECT_THAT(client.wait(client.call("TraceSetting", "")).data,
              HasSubstr(entry("trace_level", field(1, "TIMESTAMPS")) + entry("trace_rate", field(1, "1"))));
  EXPECT_THAT(client.wait(client.call("TraceSetting", entry("trace_rate", field(1, "7")))).data,
              HasSubstr(entry("trace_rate", field(1, "7"))));
  EXPECT_THAT(client.wait(client.call("TraceSetting", entry("trace_rate", ""))).data,
              HasSubstr(entry("trace_rate", field(1, "1"))))
      << "back to the configuration";
  EXPECT_EQ(client.wait(client.call("TraceSetting", entry("trace_rate", field(1, "7")) + field(2, "double"))).code(),
            "3");
}

TEST_F(Settings, ChangesAreForThoseWhoControlModels) {
  server::ServiceOptions options = options_of(folder_);
  options.network.model_control = false;
  RunningServer server(options);
  for (const char* path : {"/v2/logging", "/v2/trace/setting"}) {
    EXPECT_EQ(reply_to(server.service, {.method = "GET", .path = path}).status, Http::ok);
    EXPECT_EQ(reply_to(server.service, {.method = "POST", .path = path, .body = "{}"}).status, Http::forbidden);
  }
  GrpcClient client(server.ports.grpc);
  const std::string change = field(1, field(1, "log_info") + field(2, integer(1, 0)));
  EXPECT_EQ(client.wait(client.call("LogSettings", change)).code(), "7");
  EXPECT_EQ(client.wait(client.call("LogSettings", "")).code(), "0");
}

// ---- metrics ----

/// Checks a text as promtool does: HELP and TYPE once and before the samples of a metric, which are together; names,
/// labels and values are well-formed; counters end with _total; histograms are cumulative and end with +Inf.
std::vector<std::string> faults_of_metrics(const std::string& text) {
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+))re");
  static const std::regex kComment(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
  std::vector<std::string> faults;
  std::map<std::string, std::string> types;
  std::set<std::string> helps, ended, samples;
  std::string current;
  std::map<std::string, double> buckets;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto fault = [&](const std::string& why) { faults.push_back(why + ": " + line); };
    std::smatch parts;
    if (std::regex_match(line, parts, kComment)) {
      const std::string name = parts[2];
      if (parts[1] == "HELP" && !helps.insert(name).second) fault("a second HELP");
      if (parts[1] == "TYPE" && !types.emplace(name, parts[3]).second) fault("a second TYPE");
      if (parts[1] == "TYPE" && !helps.contains(name)) fault("no HELP");
      if (parts[1] == "HELP") {
        if (!current.empty()) ended.insert(current);
        current = name;
      }
      continue;
    }
    if (!std::regex_match(line, parts, kSample)) {
      fault("no sample");
      continue;
    }
    std::string name = parts[1];
    const std::string type = types.contains(current) ? types.at(current) : "";
    if (type == "histogram") name = std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
    if (name != current) fault("not with its metric");
    if (ended.contains(name)) fault("not together");
    if (!samples.insert(line.substr(0, line.rfind(' '))).second) fault("twice");
    if (type == "counter" && !name.ends_with("_total") && !name.starts_with("nv_")) fault("a counter without _total");
    if (type != "counter" && name.ends_with("_total")) fault("no counter");
    const double value = std::stod(parts[4]);
    if (type == "counter" && value < 0) fault("negative");
    if (std::string(parts[1]).ends_with("_bucket")) {
      const std::string labels = std::regex_replace(std::string(parts[3]), std::regex(",?le=\"[^\"]*\""), "");
      if (value < buckets[name + labels]) fault("not cumulative");
      buckets[name + labels] = value;
    }
  }
  for (const auto& [name, type] : types) {
    if (type != "counter" && type != "gauge" && type != "histogram") faults.push_back(name + ": type " + type);
  }
  return faults;
}

TEST(MetricsTest, TheCheckFindsFaults) {
  const char* const good = "# HELP a_total x\n# TYPE a_total counter\na_total{k=\"v\\\"\"} 1\n";
  EXPECT_TRUE(faults_of_metrics(good).empty());
  for (const char* bad :
       {"a_total 1\n", "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP b x\n# TYPE b gauge\nb{k=v} 1\n", "# HELP b x\n# TYPE b gauge\nb 1\nb 2\n", "# TYPE b gauge\nb 1\n",
        "# HELP b x\n# TYPE b gauge\n# HELP b x\nb 1\n"}) {
    EXPECT_FALSE(faults_of_metrics(bad).empty()) << bad;
  }
}

TEST_F(Settings, MetricsAreAsPrometheusWantsThem) {
  server::ServiceOptions options = options_of(folder_);
  options.code_generator = "LLVM \"19\"";
  folder_.add("talk", kTalk);
  folder_.write("talk/config.pbtxt", "");
  RunningServer server(options);
  HttpClient http(server.port);
  http.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(http.receive().status, 200U);
  http.get("/v2/none");
  EXPECT_EQ(http.receive().status, 404U);
  GrpcClient grpc(server.ports.grpc);
  EXPECT_EQ(grpc.wait(grpc.call("ServerLive", "")).code(), "0");
  HttpClient metrics(server.ports.metrics);
  metrics.get("/metrics");
  const std::string text = metrics.receive().body;
  EXPECT_THAT(faults_of_metrics(text), testing::IsEmpty());
  for (const char* line :
       {"frazil_build_info{version=\"1.2.3\",code_generator=\"LLVM \\\"19\\\"\"} 1\n",
        "frazil_open_connections{protocol=\"http\"} 2\n", "frazil_open_connections{protocol=\"grpc\"} 1\n",
        "frazil_responses_total{protocol=\"http\",status=\"200\"} 1\n",
        "frazil_responses_total{protocol=\"http\",status=\"404\"} 1\n",
        "frazil_responses_total{protocol=\"grpc\",status=\"0\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const auto value = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GT(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GT(value("process_threads"), 1);
  EXPECT_NEAR(value("process_start_time_seconds"), static_cast<double>(std::time(nullptr)), 3600);
}

}  // namespace
}  // namespace frazil::test
