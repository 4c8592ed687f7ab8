// gRPC's own services: server reflection, and health that is watched.
#include <gmock/gmock.h>
#include <protozero/pbf_reader.hpp>

#include "server/grpc/descriptors.h"
#include "server/grpc/grpc.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kReflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                           kWatch = "/grpc.health.v1.Health/Watch";

class OwnServices : public testing::Test {
 protected:
  OwnServices() { folder_.add("double", kDouble); }
  Folder folder_;
};

TEST_F(OwnServices, DescriptorsHaveTheMethodsThatAreServed) {
  std::set<std::string> described, served;
  for (const auto& file : server::proto::proto_files()) {
    for (const auto& service : file.services) {
      for (const auto& method : service.methods) {
        described.insert("/" + std::string(file.package) + "." + std::string(service.name) + "/" +
                         std::string(method.name));
      }
    }
  }
  for (const auto& method : server::Grpc::methods()) served.emplace(method.name);
  EXPECT_EQ(described, served);
}

/// Each type that a field or a method names is declared by the same file.
TEST_F(OwnServices, DescriptorsNameOnlyWhatTheyDeclare) {
  const auto expect_declared = [](const server::proto::ProtoFile& file, std::string_view name) {
    const std::string full = std::string(file.package) + "." + std::string(name);
    EXPECT_EQ(server::proto::file_of_symbol(full), &file) << full;
  };
  for (const auto& file : server::proto::proto_files()) {
    for (const auto& service : file.services) {
      for (const auto& method : service.methods) {
        expect_declared(file, method.request);
        expect_declared(file, method.response);
      }
    }
    for (const auto& message : file.messages) {
      std::set<std::string> numbers;
      for (std::string_view rest = message.fields; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        const std::string_view type = one.substr(one.rfind(':') + 1);
        EXPECT_TRUE(numbers.emplace(one.substr(one.find(':') + 1, one.rfind(':') - one.find(':') - 1)).second) << one;
        if (std::isupper(static_cast<unsigned char>(type.front())) != 0) expect_declared(file, type);
        if (type.front() == '#') expect_declared(file, type.substr(1));
      }
    }
  }
}

/// Returns the message of an answer that begins at a position, and sets the position to its end.
std::string next_message(GrpcClient& client, std::int32_t stream, std::size_t& at) {
  const std::string prefix = client.wait(stream, at + 5).substr(at, 5);
  std::size_t size = 0;
  for (std::size_t i = 1; i < prefix.size(); ++i) size = size << 8U | static_cast<unsigned char>(prefix[i]);
  at += 5;
  const std::string message = client.wait(stream, at + size).substr(at, size);
  at += size;
  return message;
}

TEST_F(OwnServices, ReflectionAnswersEachMessage) {
  const RunningServer server(folder_, {});
  const struct {
    std::string request;
    std::string part;  ///< of the response
  } cases[] = {{field(7, ""), field(1, field(1, "inference.GRPCInferenceService"))},
               {field(4, "inference.GRPCInferenceService"), "inference.proto"},
               {field(4, "inference.GRPCInferenceService.ModelInfer"), "inference.proto"},
               {field(4, "inference.ModelInferRequest.InferInputTensor"), "inference.proto"},
               {field(4, "inference.None"), field(7, integer(1, 5) + field(2, "there is no symbol 'inference.None'"))},
               {field(4, "inference"), field(7, integer(1, 5) + field(2, "there is no symbol 'inference'"))},
               {field(3, "grpc/health/v1/health.proto"), "HealthCheckRequest"},
               {field(3, "other.proto"), field(7, integer(1, 5) + field(2, "there is no file 'other.proto'"))},
               {field(5, field(1, "inference.ModelConfig") + integer(2, 1)), "there are no extensions"},
               {field(6, "inference.ModelConfig"), "there are no extensions"},
               {"", "the request asks for nothing"}};
  for (const std::string_view method :
       {kReflection, std::string_view("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")}) {
    GrpcClient client(server.ports.grpc);
    const auto stream = client.open(method);
    std::size_t got = 0;
    for (const auto& c : cases) {
      client.send(stream, framed(c.request));
      EXPECT_THAT(next_message(client, stream, got), HasSubstr(c.part));
    }
    client.send(stream, "", true);
    EXPECT_EQ(client.wait(stream).code(), "0");
  }
  GrpcClient client(server.ports.grpc);
  const auto damaged = client.open(kReflection);
  client.send(damaged, framed("\x22\xff"));
  EXPECT_EQ(client.wait(damaged).code(), "3");
}

std::string health(int status) { return framed(integer(1, status)); }

TEST_F(OwnServices, WatchTellsChanges) {
  RunningServer server(folder_, {.patience_s = 0.2});
  GrpcClient client(server.ports.grpc);
  const auto whole = client.open(kWatch), named = client.open(kWatch), unknown = client.open(kWatch);
  client.send(whole, framed(""), true);
  client.send(named, framed(field(1, "inference.GRPCInferenceService")), true);
  client.send(unknown, framed(field(1, "other")), true);
  EXPECT_EQ(client.wait(whole, 7), health(1));
  EXPECT_EQ(client.wait(named, 7), health(1));
  EXPECT_EQ(client.wait(unknown, 7), health(3));
  server.service.drain();
  EXPECT_EQ(client.wait(whole, 14), health(1) + health(2));
  EXPECT_EQ(client.wait(named, 14), health(1) + health(2));
  server.begin_end();
  EXPECT_EQ(client.wait(whole).code(), "14") << "a stream that is watched does not hold the end up";
  EXPECT_EQ(client.wait(unknown).code(), "14");
  EXPECT_EQ(client.wait(unknown).data, health(3));
}

TEST_F(OwnServices, WatchingEndsWithItsCallerOrItsDeadline) {
  const RunningServer server(folder_, {.patience_s = 0.2});
  GrpcClient client(server.ports.grpc);
  const auto late = client.open(kWatch, {{"grpc-timeout", "100m"}}), gone = client.open(kWatch);
  client.send(late, framed(""), true);
  client.send(gone, framed(""), true);
  EXPECT_EQ(client.wait(gone, 7), health(1));
  client.reset(gone);
  EXPECT_EQ(client.wait(late).code(), "4");
  const auto more = client.open(kWatch);
  client.send(more, framed("") + framed(""), true);
  EXPECT_EQ(client.wait(more).code(), "3") << "one message is expected";
  EXPECT_EQ(client.wait(client.call("ServerLive", "")).code(), "0") << "the connection goes on";
}

}  // namespace
}  // namespace frazil::test
