// Tensors in the shared memory of clients: both protocols, bounds, tenants and what hostile clients do.
#include "server/request/shared_memory.h"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/rest_asked.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Refusal;
using server::SharedMemory;
using testing::HasSubstr;

/// An object of shared memory that goes with the test.
class Object {
 public:
  explicit Object(std::size_t bytes) : name_("/test_" + std::to_string(::getpid()) + "_" + std::to_string(++count_)) {
    file_ = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    resize(bytes);
  }
  ~Object() {
    ::close(file_);
    ::shm_unlink(name_.c_str());
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  const std::string& name() const { return name_; }
  void resize(std::size_t bytes) const { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  void write(std::string_view bytes, off_t at = 0) const {
    EXPECT_EQ(::pwrite(file_, bytes.data(), bytes.size(), at), static_cast<ssize_t>(bytes.size()));
  }
  std::string read(std::size_t bytes, off_t at = 0) const {
    std::string text(bytes, 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(file_, text.data(), bytes, at), 0)));
    return text;
  }

 private:
  static inline int count_ = 0;
  std::string name_;
  int file_ = -1;
};

const server::Tenants::Identity kAnyone;

std::string why_refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return "it is not refused";
}

TEST(SharedMemoryTest, RefusesWhatIsNoRegion) {
  SharedMemory memory(1000);
  const Object object(100);
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  memory.add(kAnyone, {.name = "taken", .key = object.name(), .byte_size = 1});
  const struct {
    SharedMemory::Region region;
    const char* why;
  } cases[] = {
      {{.name = "", .key = object.name(), .byte_size = 1}, "the name of a shared memory region"},
      {{.name = std::string(256, 'x'), .key = object.name(), .byte_size = 1}, "the name of a shared memory region"},
      {{.name = "taken", .key = object.name(), .byte_size = 1}, "is registered already"},
      {{.name = "r", .key = "", .byte_size = 1}, "expected the name of a shared memory object"},
      {{.name = "r", .key = "/", .byte_size = 1}, "expected the name of a shared memory object"},
      {{.name = "r", .key = "/..", .byte_size = 1}, "expected the name of a shared memory object"},
      {{.name = "r", .key = "/../etc/passwd", .byte_size = 1}, "expected no '/' but the first"},
      {{.name = "r", .key = "//x", .byte_size = 1}, "expected no '/' but the first"},
      {{.name = "r", .key = std::string("/x\0y", 4), .byte_size = 1}, "a zero byte"},
      {{.name = "r", .key = "/frazil-own", .byte_size = 1}, "are reserved"},
      {{.name = "r", .key = "/" + std::string(256, 'x'), .byte_size = 1}, "more than 255 bytes"},
      {{.name = "r", .key = "/there_is_no_such_object", .byte_size = 1}, "No such file"},
      {{.name = "r", .key = object.name(), .byte_size = 0}, "within the 100 bytes"},
      {{.name = "r", .key = object.name(), .byte_size = 101}, "within the 100 bytes"},
      {{.name = "r", .key = object.name(), .offset = 100, .byte_size = 1}, "within the 100 bytes"},
      {{.name = "r", .key = object.name(), .offset = 50, .byte_size = kLargest}, "within the 100 bytes"},
      {{.name = "r", .key = object.name(), .offset = kLargest, .byte_size = 50}, "within the 100 bytes"},
  };
  for (const auto& c : cases) EXPECT_THAT(why_refused([&] { memory.add(kAnyone, c.region); }), HasSubstr(c.why));
  EXPECT_EQ(memory.list(kAnyone, "").size(), 1U);
}

TEST(SharedMemoryTest, RefusesLinksAndPipes) {
  SharedMemory memory(1000);
  const std::string own = std::to_string(::getpid());
  ASSERT_EQ(::symlink("/etc/passwd", ("/dev/shm/test_link_" + own).c_str()), 0);
  ASSERT_EQ(::mkfifo(("/dev/shm/test_pipe_" + own).c_str(), 0600), 0);
  EXPECT_NE(why_refused([&] { memory.add(kAnyone, {.name = "r", .key = "/test_link_" + own, .byte_size = 1}); }),
            "it is not refused");
  EXPECT_THAT(why_refused([&] { memory.add(kAnyone, {.name = "r", .key = "/test_pipe_" + own, .byte_size = 1}); }),
              HasSubstr("is not shared memory"));
  ::unlink(("/dev/shm/test_link_" + own).c_str());
  ::unlink(("/dev/shm/test_pipe_" + own).c_str());
}

TEST(SharedMemoryTest, ThereAreNotTooManyRegions) {
  SharedMemory memory(1000);
  const Object object(8);
  for (std::size_t i = 0; i < SharedMemory::kMaxRegions; ++i) {
    memory.add(kAnyone, {.name = std::to_string(i), .key = object.name(), .byte_size = 8});
  }
  EXPECT_THAT(why_refused([&] { memory.add(kAnyone, {.name = "more", .key = object.name(), .byte_size = 8}); }),
              HasSubstr("there are 1024 regions already"));
  memory.remove(kAnyone, "");
  memory.add(kAnyone, {.name = "more", .key = object.name(), .byte_size = 8});
}

server::InferRequest asks_for(server::SharedPlace place, api::Sizes sizes = {1, 2}) {
  server::InferRequest request;
  request.shared_inputs.push_back(
      {.name = "x", .dtype = api::Dtype::f32, .sizes = std::move(sizes), .place = std::move(place)});
  return request;
}

TEST(SharedMemoryTest, InputsAreWithinTheirRegionAsItIs) {
  SharedMemory memory(20);
  const Object object(100);
  object.write(raw<float>({1, 2}), 16);
  memory.add(kAnyone, {.name = "r", .key = object.name(), .offset = 8, .byte_size = 32});
  server::InferRequest good = asks_for({.region = "r", .offset = 8, .bytes = 8});
  memory.take_inputs(kAnyone, good);
  ASSERT_EQ(good.inputs.size(), 1U);
  EXPECT_EQ(good.inputs[0].second.values<float>()[1], 2.0F);
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const struct {
    server::SharedPlace place;
    api::Sizes sizes;
    const char* why;
  } cases[] = {{{.region = "none", .bytes = 8}, {1, 2}, "there is no shared memory region 'none'"},
               {{.region = "r", .bytes = 33}, {1, 2}, "has 32 bytes"},
               {{.region = "r", .offset = 32, .bytes = 8}, {1, 2}, "has 32 bytes"},
               {{.region = "r", .offset = kLargest, .bytes = 8}, {1, 2}, "has 32 bytes"},
               {{.region = "r", .offset = 8, .bytes = kLargest}, {1, 2}, "has 32 bytes"},
               {{.region = "r", .bytes = 12}, {1, 2}, "input 'x'"},  // not the size of the tensor
               {{.region = "r", .bytes = 8}, {1 << 30, 1 << 30}, "input 'x'"},
               {{.region = "r", .bytes = 16}, {2, 2}, "have more than 20 bytes"}};
  for (const auto& c : cases) {
    server::InferRequest request = asks_for(c.place, c.sizes);
    EXPECT_THAT(why_refused([&] { memory.take_inputs(kAnyone, request); }), HasSubstr(c.why));
  }
  good.inputs.clear();
  server::InferRequest after = asks_for({.region = "r", .bytes = 16}, {2, 2});
  memory.take_inputs(kAnyone, after);  // the bytes of answered requests are free again
  object.resize(30);
  server::InferRequest shrunk = asks_for({.region = "r", .bytes = 8});
  EXPECT_THAT(why_refused([&] { memory.take_inputs(kAnyone, shrunk); }), HasSubstr("has been truncated to 30 bytes"));
  object.resize(0);
  EXPECT_THAT(why_refused([&] { memory.take_inputs(kAnyone, shrunk); }), HasSubstr("has been truncated to 0 bytes"));
}

/// A client that truncates and extends its memory all the time cannot end the server, as nothing is mapped.
TEST(SharedMemoryTest, TruncationMeanwhileIsAnError) {
  SharedMemory memory(1 << 30);
  const Object object(1 << 20);
  memory.add(kAnyone, {.name = "r", .key = object.name(), .byte_size = 1 << 20});
  std::atomic<bool> over = false;
  std::jthread hostile([&] {
    while (!over) {
      object.resize(0);
      object.resize(1 << 20);
    }
  });
  int good = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    server::InferRequest request = asks_for({.region = "r", .bytes = 1 << 20}, {1 << 18});
    server::InferResponse response;
    response.outputs.emplace_back("y", api::Array(api::Dtype::f32, {1 << 18}));
    try {
      memory.take_inputs(kAnyone, request);
      memory.place_outputs(
          kAnyone, {{.name = "y", .binary = {}, .shared = server::SharedPlace{.region = "r", .bytes = 1 << 20}}},
          response);
      ++good;
    } catch (const Refusal&) {
      ++refused;
    }
  }
  over = true;
  EXPECT_EQ(good + refused, 300);
}

class SharedRequests : public testing::Test {
 protected:
  SharedRequests() { folder_.add("double", kDouble); }
  Folder folder_;
};

constexpr const char* kSharedBody =
    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"shared_memory_region":"in",)"
    R"("shared_memory_byte_size":8}}],"outputs":[{"name":"y","parameters":{"shared_memory_region":"out",)"
    R"("shared_memory_offset":4,"shared_memory_byte_size":8}}]})";

TEST_F(SharedRequests, RestAsTritonsClientsSendIt) {
  server::Service service(options_of(folder_));
  const Object in(8), out(16);
  in.write(raw<float>({3, 4}));
  const auto post = [&](std::string_view path, const std::string& body = "") {
    return reply_to(service, {.method = "POST", .path = path, .body = body});
  };
  const auto get = [&](std::string_view path) { return reply_to(service, {.method = "GET", .path = path}).body; };
  EXPECT_EQ(
      post("/v2/systemsharedmemory/region/in/register", R"({"key":")" + in.name() + R"(","offset":0,"byte_size":8})")
          .status,
      Http::ok);
  EXPECT_EQ(
      post("/v2/systemsharedmemory/region/out/register", R"({"key":")" + out.name() + R"(","byte_size":16})").status,
      Http::ok);
  EXPECT_EQ(get("/v2/systemsharedmemory/region/in/status"),
            R"([{"name":"in","key":")" + in.name() + R"(","offset":0,"byte_size":8}])");
  EXPECT_THAT(get("/v2/systemsharedmemory/status"), HasSubstr(R"({"name":"out")"));
  const server::Reply reply = post("/v2/models/double/infer", kSharedBody);
  EXPECT_THAT(reply.body, HasSubstr(R"("outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"parameters":)"
                                    R"({"shared_memory_region":"out","shared_memory_offset":4,)"
                                    R"("shared_memory_byte_size":8}}])"));
  EXPECT_EQ(out.read(8, 4), raw<float>({6, 8}));
  EXPECT_THAT(
      post("/v2/models/double/infer", R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2],)"
                                      R"("parameters":{"shared_memory_region":"in","shared_memory_byte_size":8}}]})")
          .body,
      HasSubstr("give either shared_memory_region or the data"));
  EXPECT_THAT(post("/v2/models/double/infer", R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],)"
                                              R"("parameters":{"shared_memory_region":"in"}}]})")
                  .body,
              HasSubstr("shared_memory_byte_size is missing"));
  EXPECT_EQ(post("/v2/systemsharedmemory/region/in/unregister").status, Http::ok);
  EXPECT_THAT(post("/v2/models/double/infer", kSharedBody).body, HasSubstr("there is no shared memory region 'in'"));
  EXPECT_EQ(post("/v2/systemsharedmemory/unregister").status, Http::ok);
  EXPECT_EQ(get("/v2/systemsharedmemory/status"), "[]");
  for (const char* body : {"", "[]", R"({"key":1})", R"({"key":"/x","byte_size":-1})", R"({"size":1})"}) {
    EXPECT_EQ(post("/v2/systemsharedmemory/region/r/register", body).status, Http::bad_request) << body;
  }
}

/// An entry of the parameters of a tensor.
std::string text_parameter(unsigned map, std::string_view key, std::string_view text) {
  return parameter(map, key, field(3, text));
}
std::string number_parameter(unsigned map, std::string_view key, std::int64_t number) {
  return parameter(map, key, integer(2, number));
}

TEST_F(SharedRequests, GrpcAsTritonsClientsSendIt) {
  const RunningServer server(folder_, {});
  const Object in(8), out(8);
  in.write(raw<float>({3, 4}));
  GrpcClient client(server.ports.grpc);
  const auto code = [&](std::string_view method, const std::string& message) {
    const auto& answer = client.wait(client.call(method, message));
    return answer.code() + answer.text();
  };
  EXPECT_EQ(code("SystemSharedMemoryRegister", field(1, "in") + field(2, in.name()) + integer(4, 8)), "0");
  EXPECT_EQ(code("SystemSharedMemoryRegister", field(1, "out") + field(2, out.name()) + integer(4, 8)), "0");
  const std::string from = text_parameter(4, "shared_memory_region", "in") +
                           number_parameter(4, "shared_memory_byte_size", 8),
                    to = text_parameter(2, "shared_memory_region", "out") +
                         number_parameter(2, "shared_memory_byte_size", 8);
  const std::string request = field(1, "double") + input("x", "FP32", {1, 2}, from) + field(6, field(1, "y") + to);
  const auto& answer = client.wait(client.call("ModelInfer", request));
  EXPECT_EQ(answer.code(), "0") << answer.text();
  EXPECT_EQ(answer.data, framed(field(1, "double") + field(2, "1") +
                                field(5, field(1, "y") + field(2, "FP32") + integers(3, {1, 2}) +
                                             text_parameter(4, "shared_memory_region", "out") +
                                             number_parameter(4, "shared_memory_byte_size", 8)) +
                                field(6, "")))
      << "each output has an entry of raw_output_contents";
  EXPECT_EQ(out.read(8), raw<float>({6, 8}));
  EXPECT_THAT(client.wait(client.call("SystemSharedMemoryStatus", field(1, "in"))).data,
              HasSubstr(field(1, "in") + field(2, in.name())));
  EXPECT_EQ(code("SystemSharedMemoryUnregister", ""), "0");
  EXPECT_THAT(code("ModelInfer", request), HasSubstr("there is no shared memory region 'in'"));
  EXPECT_THAT(code("ModelInfer",
                   field(1, "double") + input("x", "FP32", {1, 2}, number_parameter(4, "shared_memory_byte_size", 8))),
              HasSubstr("shared memory needs parameters"));
}

TEST_F(SharedRequests, AreOffUnlessAnOperatorTurnsThemOn) {
  server::ServiceOptions options = options_of(folder_);
  options.network.client_shm = false;
  server::Service service(options);
  for (const auto& [path, body] :
       {std::pair("/v2/systemsharedmemory/unregister", ""), {"/v2/models/double/infer", kSharedBody}}) {
    const server::Reply reply = reply_to(service, {.method = "POST", .path = path, .body = body});
    EXPECT_EQ(reply.status, Http::forbidden) << path;
    EXPECT_THAT(reply.body, HasSubstr("--allow-client-shm"));
  }
}

TEST_F(SharedRequests, RegionsBelongToTheirTenant) {
  server::ServiceOptions options = options_of(folder_);
  options.config.tenants = {{.name = "a", .keys = {"ka"}}, {.name = "b", .keys = {"kb"}}};
  server::Service service(options);
  const Object object(16);
  const auto ask = [&](std::string_view method, std::string_view path, const char* key, std::string_view body = "") {
    return reply_to(service, {.method = method, .path = path, .body = body, .authorization = key});
  };
  for (const char* region : {"in", "out"}) {
    const std::string path = "/v2/systemsharedmemory/region/" + std::string(region) + "/register";
    EXPECT_EQ(ask("POST", path, "Bearer ka", R"({"key":")" + object.name() + R"(","byte_size":16})").status, Http::ok);
  }
  EXPECT_EQ(ask("POST", "/v2/models/double/infer", "Bearer ka", kSharedBody).status, Http::ok);
  EXPECT_EQ(ask("GET", "/v2/systemsharedmemory/status", "Bearer kb").body, "[]");
  EXPECT_EQ(ask("GET", "/v2/systemsharedmemory/region/in/status", "Bearer kb").status, Http::not_found);
  EXPECT_EQ(ask("POST", "/v2/models/double/infer", "Bearer kb", kSharedBody).status, Http::bad_request);
  EXPECT_EQ(ask("POST", "/v2/systemsharedmemory/unregister", "Bearer kb").status, Http::ok);
  EXPECT_EQ(ask("POST", "/v2/models/double/infer", "Bearer ka", kSharedBody).status, Http::ok) << "only b's are gone";
}

}  // namespace
}  // namespace frazil::test
