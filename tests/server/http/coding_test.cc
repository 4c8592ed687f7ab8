// Compressed requests and answers, of HTTP and of gRPC.
#include "server/net/coding.h"

#include <random>

#include <gmock/gmock.h>

#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/running.h"
#include "server/zipped.h"

namespace frazil::test {
namespace {

using server::Coding;
using server::Http;
using server::Inflater;
using server::Refusal;
using testing::HasSubstr;

constexpr std::size_t kMiB = 1 << 20;

/// A text of so many bytes that gets shorter.
std::string shrinking_text(std::size_t size) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < size; ++i) text += std::to_string(i * i) + ' ';
  return text.substr(0, size);
}
/// Bytes that do not.
std::string noise_of(std::size_t size) {
  std::string bytes;
  std::mt19937 random(1);
  while (bytes.size() < size) bytes += static_cast<char>(random());
  return bytes;
}

// ---- bytes ----

struct Taken {
  std::optional<Http> refused;
  std::string bytes, why;
};
Taken take(std::string_view bytes, Coding coding, std::size_t most, std::size_t piece) {
  Taken taken;
  try {
    Inflater inflater(coding);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      inflater.add(bytes.substr(0, piece), taken.bytes, most);
    }
    inflater.end();
  } catch (const Refusal& refusal) {
    taken.refused = refusal.status();
    taken.why = refusal.what();
  }
  return taken;
}

TEST(Coding, BytesAreTakenAsTheyCome) {
  for (const std::string& text :
       {std::string(), shrinking_text(10), shrinking_text(kMiB), noise_of(200'000), std::string(kMiB, 'x')}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, 10 * kMiB}) {
      if (piece == 1 && text.size() > 300'000) continue;
      EXPECT_EQ(take(zipped(text, kGzip), Coding::gzip, text.size(), piece).bytes, text);
      EXPECT_EQ(take(zipped(text, kZlib), Coding::deflate, text.size(), piece).bytes, text);
    }
  }
  EXPECT_EQ(take(zipped("ab") + zipped("") + zipped("c"), Coding::gzip, 10, 7).bytes, "abc") << "parts of gzip";
}

TEST(Coding, WhatIsWrongIsTold) {
  const std::string good = zipped(shrinking_text(1000));
  std::string damaged = good;
  damaged[good.size() - 6] ^= 1;  // of the checksum
  const struct {
    std::string bytes;
    Coding coding;
    Http status;
    const char* why;
  } cases[] = {{"", Coding::gzip, Http::bad_request, "the compressed bytes are cut off"},
               {good.substr(0, good.size() - 1), Coding::gzip, Http::bad_request, "the compressed bytes are cut off"},
               {"plain text", Coding::gzip, Http::bad_request, "invalid gzip data"},
               {damaged, Coding::gzip, Http::bad_request, "invalid gzip data"},
               {good, Coding::deflate, Http::bad_request, "invalid deflate data"},
               {good + "more", Coding::gzip, Http::bad_request, "invalid gzip data"},
               {zipped("a", kZlib) + "more", Coding::deflate, Http::bad_request, "invalid deflate data"},
               {zipped(shrinking_text(1001)), Coding::gzip, Http::too_large, "has more than 1000 bytes"}};
  for (const auto& c : cases) {
    for (const std::size_t piece : {1, 5000}) {
      const Taken taken = take(c.bytes, c.coding, 1000, piece);
      EXPECT_EQ(taken.refused, c.status) << c.why;
      EXPECT_THAT(taken.why, HasSubstr(c.why));
    }
  }
}

TEST(Coding, AnEndThatFillsTheLastStepIsAnEnd) {
  for (std::size_t size = 64 * 1024 - 2; size < 64 * 1024 + 3; ++size) {
    const Taken taken = take(zipped(shrinking_text(size)), Coding::gzip, 10 * kMiB, 10 * kMiB);
    EXPECT_EQ(taken.bytes.size(), size) << taken.why;
    EXPECT_FALSE(taken.refused) << taken.why;
  }
}

TEST(Coding, ABombGoesOffAsSoonAsItIsTooLarge) {
  const Taken taken = take(zipped(std::string(100 * kMiB, '\0')), Coding::gzip, kMiB, 10 * kMiB);
  EXPECT_EQ(taken.refused, Http::too_large);
  EXPECT_LE(taken.bytes.capacity(), 3 * kMiB);
}

TEST(Coding, IsDoneWhereItHelps) {
  for (const Coding coding : {Coding::gzip, Coding::deflate}) {
    const auto shorter = server::deflated(shrinking_text(3 * kMiB), coding);
    ASSERT_TRUE(shorter);
    EXPECT_LT(shorter->size(), kMiB * 2);
    EXPECT_EQ(unzipped(*shorter, 3 * kMiB, coding == Coding::gzip ? kGzip : kZlib), shrinking_text(3 * kMiB));
    EXPECT_FALSE(server::deflated(noise_of(kMiB), coding));
    EXPECT_FALSE(server::deflated(noise_of(10), coding));
    EXPECT_FALSE(server::deflated("", coding));
  }
}

TEST(Coding, ListsAreReadAsClientsWriteThem) {
  const struct {
    const char* list;
    bool gzip;
  } cases[] = {{"gzip", true},           {"", false},
               {"deflate, GZip", true},  {"br,gzip ;q=0.5", true},
               {"gzip;q=0", false},      {"gzip; q=0.000", false},
               {"gzip; q=0.001", true},  {"gzipped", false},
               {"identity,,gzip", true}, {";;,", false}};
  for (const auto& c : cases) EXPECT_EQ(server::accepts(c.list, Coding::gzip), c.gzip) << c.list;
  EXPECT_EQ(server::coding_from("X-GZIP"), Coding::gzip);
  EXPECT_EQ(server::coding_from("identity"), Coding::none);
  EXPECT_EQ(server::coding_from("gzip, deflate"), std::nullopt) << "one after the other";
}

// ---- HTTP ----

class Compressed : public testing::Test {
 protected:
  Compressed() { folder_.add("double", kDouble); }
  Folder folder_;
};

TEST_F(Compressed, RequestsAreAnswered) {
  const RunningServer server(folder_, {});
  const std::string gzip = zipped(kOne), deflate = zipped(kOne, kZlib);
  HttpClient client(server.ports.http);
  client.post("/v2/models/double/infer", gzip, "Content-Encoding: gzip\r\n");
  EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
  client.post("/v2/models/double/infer", deflate, "Content-Encoding: Deflate\r\n");
  EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
  client.post("/v2/models/double/infer", kOne, "Content-Encoding: identity\r\n");
  EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
  client.send(
      "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
      "Transfer-Encoding: chunked\r\n\r\n5\r\n" +
      gzip.substr(0, 5) + "\r\n");
  std::ostringstream rest;
  rest << std::hex << gzip.size() - 5 << "\r\n" << gzip.substr(5) << "\r\n0\r\n\r\n";
  client.send(rest.str());
  EXPECT_THAT(client.receive().body, HasSubstr(kOneAnswer));
}

TEST_F(Compressed, RequestsThatAreWrongAreRefused) {
  const RunningServer server(folder_, {.max_bytes = kMiB});
  const std::string bomb = zipped(std::string(100 * kMiB, ' '));
  ASSERT_LT(bomb.size(), kMiB) << "only what it becomes is too large";
  const struct {
    std::string coding, body;
    unsigned status;
    const char* why;
  } cases[] = {{"br", "x", 415, "header Content-Encoding: expected one of gzip, deflate, identity"},
               {"gzip, gzip", zipped(zipped(kOne)), 415, "header Content-Encoding"},
               {"gzip", std::string(kOne), 400, "invalid gzip data"},
               {"gzip", zipped(kOne).substr(0, 30), 400, "the compressed bytes are cut off"},
               {"deflate", zipped(kOne), 400, "invalid deflate data"},
               {"gzip", bomb, 413, "has more than 1048576 bytes"}};
  for (const auto& c : cases) {
    HttpClient client(server.ports.http);
    client.post("/v2/models/double/infer", c.body, "Content-Encoding: " + c.coding + "\r\n");
    const auto answer = client.receive();
    EXPECT_EQ(answer.status, c.status) << c.why;
    EXPECT_THAT(answer.body, HasSubstr(c.why));
    EXPECT_EQ(answer.fields["Accept-Encoding"], c.status == 415 ? "gzip, deflate, identity" : "");
  }
  HttpClient begun(server.ports.http);
  begun.send("POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: " +
             std::to_string(bomb.size()) + "\r\n\r\n" + bomb.substr(0, 8 * 1024));
  EXPECT_EQ(begun.receive().status, 413U) << "as soon as it is known";
}

std::string rows(std::size_t count) {
  std::string json =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" + std::to_string(count) + R"(,2],"data":[0,0)";
  for (std::size_t i = 2; i < 2 * count; ++i) json += "," + std::to_string(i);
  return json + "]}]}";
}

TEST_F(Compressed, AnswersOfClientsThatTakeThatAre) {
  const RunningServer server(folder_, {.compress_from = 1000});
  HttpClient client(server.ports.http);
  const auto ask = [&](std::size_t count, const std::string& header) {
    client.post("/v2/models/double/infer", rows(count), header);
    return client.receive();
  };
  const auto plain = ask(5000, ""), zip = ask(5000, "Accept-Encoding: deflate, gzip\r\n");
  EXPECT_EQ(plain.fields.count("Content-Encoding"), 0U);
  EXPECT_EQ(zip.fields["Content-Encoding"], "gzip");
  EXPECT_EQ(zip.fields["Vary"], "Accept-Encoding");
  EXPECT_LT(zip.body.size(), plain.body.size() / 2);
  EXPECT_EQ(unzipped(zip.body, plain.body.size()), plain.body);
  EXPECT_EQ(ask(5000, "Accept-Encoding: gzip;q=0\r\n").body, plain.body);
  EXPECT_EQ(ask(1, "Accept-Encoding: gzip\r\n").fields.count("Content-Encoding"), 0U) << "a short one";
}

// ---- gRPC ----

std::string doubled_zeros(std::size_t count) {
  const std::string bytes(count * 8, '\0');
  return field(1, "double") + input("x", "FP32", {static_cast<std::int64_t>(count), 2}) + field(7, bytes);
}

TEST_F(Compressed, CallsAreAnswered) {
  const RunningServer server(folder_, {.compress_from = 1000});
  GrpcClient client(server.ports.grpc);
  const auto plain = client.open(kModelInfer);
  client.send(plain, framed(doubled_zeros(1000)), true);
  const std::string wanted = client.wait(plain).data;
  for (const auto& [name, window] : {std::pair{"gzip", kGzip}, {"deflate", kZlib}}) {
    const auto id = client.open(kModelInfer, {{"grpc-encoding", name}});
    client.send(id, framed(zipped(doubled_zeros(1000), window), 1), true);
    const auto& answer = client.wait(id);
    EXPECT_EQ(answer.code(), "0") << answer.text();
    EXPECT_EQ(answer.headers.at("grpc-encoding"), name);
    EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "gzip, deflate, identity");
    ASSERT_GT(answer.data.size(), 5U);
    EXPECT_EQ(answer.data[0], 1);
    EXPECT_EQ(framed(unzipped(answer.data.substr(5), wanted.size(), window)), wanted);
  }
  const auto mixed = client.open(kModelInfer, {{"grpc-encoding", "gzip"}});
  client.send(mixed, framed(doubled_zeros(1)), true);
  EXPECT_EQ(client.wait(mixed).code(), "0") << "a message need not be compressed";
  EXPECT_EQ(client.wait(mixed).data[0], 0) << "neither is a short answer";
}

TEST_F(Compressed, MessagesOfAStreamAreAnswered) {
  const RunningServer server(folder_, {.compress_from = 1000});
  GrpcClient client(server.ports.grpc);
  const auto id = client.open(kModelStreamInfer, {{"grpc-encoding", "gzip"}});
  const std::string bytes =
      framed(zipped(doubled_zeros(1000)), 1) + framed(doubled_zeros(1)) + framed(zipped(doubled_zeros(2000)), 1);
  for (std::size_t i = 0; i < bytes.size(); i += 10) client.send(id, bytes.substr(i, 10));
  client.send(id, "", true);
  const auto& answer = client.wait(id);
  EXPECT_EQ(answer.code(), "0") << answer.text();
  std::vector<char> flags;
  for (std::string_view data = answer.data; data.size() >= 5;) {
    std::size_t size = 0;
    for (int i = 1; i < 5; ++i) size = size << 8U | static_cast<unsigned char>(data[static_cast<std::size_t>(i)]);
    flags.push_back(data[0]);
    data.remove_prefix(5 + size);
  }
  EXPECT_THAT(flags, testing::ElementsAre(1, 0, 1));
}

TEST_F(Compressed, CallsThatAreWrongAreRefused) {
  const RunningServer server(folder_, {.max_bytes = kMiB});
  const std::string bomb = zipped(std::string(100 * kMiB, '\0'));
  const struct {
    std::string coding, message, code, why;
  } cases[] = {{"br", framed("x", 1), "12", "header grpc-encoding: expected one of gzip, deflate, identity"},
               {"identity", framed(zipped(doubled_zeros(1)), 1), "13", "header grpc-encoding names no way"},
               {"gzip", framed(doubled_zeros(1), 1), "3", "invalid gzip data"},
               {"gzip", framed(zipped(doubled_zeros(1000)).substr(0, 20), 1), "3", "the compressed bytes are cut off"},
               {"gzip", framed("", 1), "3", "the compressed bytes are cut off"},
               {"gzip", framed(bomb, 1), "8", "has more than 1048576 bytes"}};
  GrpcClient client(server.ports.grpc);
  for (const auto& c : cases) {
    const auto id = client.open(kModelInfer, {{"grpc-encoding", c.coding}});
    client.send(id, c.message, true);
    const auto& answer = client.wait(id);
    EXPECT_EQ(answer.code(), c.code) << c.why;
    EXPECT_THAT(answer.text(), HasSubstr(c.why));
    EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "gzip, deflate, identity");
  }
}

TEST_F(Compressed, WhatMessagesBecomeCountsForTheConnection) {
  folder_.add("count", kCount);
  const RunningServer server(folder_, {.max_bytes = kMiB});
  GrpcClient client(server.ports.grpc);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 6; ++i) {  // each nearly a MiB once it is not compressed any more, and then a byte is missing
    ids.push_back(client.open(kModelInfer, {{"grpc-encoding", "gzip"}}));
    const std::string message = framed(zipped(std::string(1'000'000, '\0')), 1);
    client.send(ids.back(), message.substr(0, message.size() - 1));
  }
  client.settle();
  EXPECT_EQ(client.wait(ids.back()).code(), "8");
  EXPECT_THAT(client.wait(ids.back()).text(), HasSubstr("the connection's messages have more than 4194304 bytes"));
}

}  // namespace
}  // namespace frazil::test
