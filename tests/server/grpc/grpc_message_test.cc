// What the messages of gRPC mean, byte by byte.
#include "server/grpc/grpc_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/grpc_encode.h"

namespace frazil::test {
namespace {

using api::Array;
using server::Refusal;
using server::proto::InferMessage;
using testing::ElementsAre;
using testing::HasSubstr;

InferMessage read(const std::string& bytes) { return server::proto::read_infer(bytes, nullptr); }

/// Why a request is refused; empty: it is not.
std::string reason_of_refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return {};
}

/// The only input of a request.
Array tensor_of(const std::string& bytes) { return read(bytes).request.inputs.at(0).second; }

std::string contents(std::string_view fields) { return field(5, fields); }

TEST(GrpcMessage, ReadsRequests) {
  const std::string bytes = field(1, "model") + field(2, "7") + field(3, "an id") + input("x", "FP32", {1, 2}) +
                            field(6, field(1, "y") + parameter(2, "classification", integer(2, 3))) +
                            field(7, raw<float>({1, 2})) + field(99, "a field of a later version");
  const auto [model, request] = read(bytes);
  EXPECT_EQ(model.name, "model");
  EXPECT_EQ(model.version, "7");
  EXPECT_EQ(request.id, "an id");
  ASSERT_EQ(request.inputs.size(), 1U);
  EXPECT_EQ(request.inputs[0].first, "x");
  EXPECT_EQ(request.inputs[0].second.str(), "f32[1,2] [[1, 2]]");
  ASSERT_EQ(request.outputs.size(), 1U);
  EXPECT_EQ(request.outputs[0].name, "y");
  EXPECT_EQ(request.outputs[0].classes, 3U);
}

TEST(GrpcMessage, RawTensorsAreViewsThatKeepTheMessage) {
  auto message = std::make_shared<const std::string>(input("x", "FP32", {2}) + field(7, raw<float>({1, 2})));
  const std::weak_ptr<const std::string> watch = message;
  const char* const begin = message->data();
  InferMessage got = server::proto::read_infer(*message, message);
  message = nullptr;
  ASSERT_FALSE(watch.expired());
  const auto* const data = static_cast<const char*>(got.request.inputs[0].second.data());
  EXPECT_TRUE(data >= begin && data < begin + watch.lock()->size());
  got = {};
  EXPECT_TRUE(watch.expired());
}

TEST(GrpcMessage, ReadsTypedContentsOfEveryDatatype) {
  const struct {
    const char* datatype;
    std::string contents;
    const char* tensor;
  } cases[] = {{"BOOL", integers(1, {1, 0}), "bool[2] [true, false]"},
               {"INT8", integers(2, {-128, 127}), "i8[2] [-128, 127]"},
               {"INT16", integers(2, {-1, 1}), "i16[2] [-1, 1]"},
               {"INT32", integers(2, {-2147483648, 2147483647}), "i32[2] [-2147483648, 2147483647]"},
               {"INT64", integers(3, {-1, 1}), "i64[2] [-1, 1]"},
               {"UINT8", integers(4, {0, 255}), "u8[2] [0, 255]"},
               {"UINT16", integers(4, {0, 65535}), "u16[2] [0, 65535]"},
               {"UINT32", integers(4, {0, 4294967295}), "u32[2] [0, 4294967295]"},
               {"UINT64", integers(5, {0, -1}), "u64[2] [0, 18446744073709551615]"},
               {"FP32", field(6, raw<float>({0.5, -1})), "f32[2] [0.5, -1]"},
               {"FP64", field(7, raw<double>({0.1, -1})), "f64[2] [0.1, -1]"},
               {"BYTES", field(8, "a") + field(8, ""), R"(string[2] ["a", ""])"}};
  for (const auto& c : cases) {
    EXPECT_EQ(tensor_of(input("x", c.datatype, {2}, contents(c.contents))).str(), c.tensor) << c.datatype;
  }
}

TEST(GrpcMessage, ListsMayBePackedOrNotAndComeInParts) {
  const std::string unpacked = integer(2, 1) + integer(2, 2), mixed = integer(2, 1) + integers(2, {2});
  EXPECT_EQ(tensor_of(input("x", "INT32", {2}, contents(unpacked))).str(), "i32[2] [1, 2]");
  EXPECT_EQ(tensor_of(input("x", "INT32", {2}, contents(mixed))).str(), "i32[2] [1, 2]");
  EXPECT_EQ(tensor_of(input("x", "INT32", {2}, contents(integer(2, 1)) + contents(integer(2, 2)))).str(),
            "i32[2] [1, 2]");
  const std::string fixed = "\x35" + raw<float>({1}) + "\x35" + raw<float>({2});
  EXPECT_EQ(tensor_of(input("x", "FP32", {2}, contents(fixed))).str(), "f32[2] [1, 2]");
  EXPECT_EQ(tensor_of(field(5, field(1, "x") + field(2, "INT32") + integer(3, 1) + integer(3, 0))).str(),
            "i32[1,0] []");
}

TEST(GrpcMessage, KnowsTheParametersThatAreReserved) {
  const auto request = [](const std::string& parameters) { return read(parameters).request; };
  const auto with = [](const char* key, const std::string& value) { return parameter(4, key, value); };
  const auto sequence = request(with("sequence_id", integer(2, 42)) + with("sequence_start", integer(1, 1)) +
                                with("sequence_end", integer(1, 0)))
                            .sequence;
  EXPECT_EQ(sequence.id, "42");
  EXPECT_TRUE(sequence.start);
  EXPECT_FALSE(sequence.end);
  EXPECT_EQ(request(with("sequence_id", integer(5, -1))).sequence.id, "18446744073709551615");
  EXPECT_EQ(request(with("sequence_id", field(3, "me"))).sequence.id, "me");
  EXPECT_EQ(request(with("sequence_id", integer(2, 0))).sequence.id, "") << "0 is none";
  EXPECT_EQ(request(with("sequence_parent", integer(2, 42))).sequence.parent, "42");
  EXPECT_EQ(request(with("sequence_parent", field(3, "me"))).sequence.parent, "me");
  EXPECT_EQ(request(with("priority", integer(5, 2))).priority, 2U);
  EXPECT_EQ(request(with("timeout", integer(2, 1500))).timeout_us, 1500U);
  const auto others = request(with("mine", integer(1, 1)) + with("text", field(3, "a"))).parameters;
  EXPECT_EQ(others.at("mine"), server::Parameter(true));
  EXPECT_EQ(others.at("text"), server::Parameter("a"));
}

TEST(GrpcMessage, RefusalsNameWhatIsWrong) {
  const std::string one = raw<float>({1});
  const struct {
    std::string bytes;
    const char* why;
  } cases[] = {
      {"\x0a\xff", "ModelInferRequest: field 'model_name' is damaged"},
      {"\x08\x01", "field 'model_name' has another wire type"},
      {field(1, "\xff"), "field 'model_name' is not valid UTF-8"},
      {field(5, "\x0a\xff"), "ModelInferRequest.inputs: field 'name' is damaged"},
      {field(99, "") + "\x07", "damaged at or after field 99"},
      {input("x", "FLOAT", {1}), "input 'x': there is no datatype 'FLOAT'"},
      {input("x", "FP32", {-1}) + field(7, one), R"(input 'x': "shape" has a negative extent)"},
      {input("x", "FP32", {1 << 20, 1 << 20, 1 << 30}) + field(7, one), "more elements than the request has bytes"},
      {input("x", "FP32", std::vector<std::int64_t>(65, 1)) + field(7, one), R"(axes of "shape": more than 64)"},
      {input("x", "FP32", {2}) + field(7, one), "input 'x': its shape has 8 bytes, its data have 4"},
      {input("x", "BOOL", {1}) + field(7, "\x02"), "input 'x': an element of BOOL is a byte 0 or 1"},
      {input("x", "BYTES", {1}) + field(7, raw<std::uint32_t>({9})), "input 'x': an element is cut off"},
      {input("x", "FP32", {1}) + field(7, one) + field(7, one), "expected one for each of the 1 inputs, got 2"},
      {input("x", "FP32", {1}, contents(field(6, one))) + field(7, one), "either \"contents\" or raw_input_contents"},
      {input("x", "FP32", {2}, contents(field(6, one))), "its shape has 2 elements, fp32_contents has 1"},
      {input("x", "FP32", {1}, contents(field(7, raw<double>({1})))), "elements of FP32 are expected in fp32_contents"},
      {input("x", "FP32", {1}, contents(field(6, "abc"))), "field 'fp32_contents' is damaged"},
      {input("x", "INT8", {1}, contents(integers(2, {128}))), "input 'x': 128 is outside of INT8"},
      {input("x", "INT64", {1}, contents(field(3, "\x80"))), "field 'int64_contents' is damaged"},
      {input("x", "FP16", {1}, contents(integers(2, {1}))),
       "FP16 has no typed contents; send it in raw_input_contents"},
      {parameter(4, "timeout", integer(2, -1)), "parameter timeout: expected an integer that is not negative"},
      {parameter(4, "sequence_start", integer(2, 1)), "parameter sequence_start: expected a bool"},
      {parameter(4, "mine", ""), "parameter mine: expected a value"},
      {input("x", "FP32", {1}, parameter(4, "shared_memory_region", field(3, "r"))), "shared memory needs parameters"},
      {input("x", "FP32", {1}, parameter(4, "shared_memory_region", integer(2, 1))), "expected the name of a region"},
      {input("x", "FP32", {1}, parameter(4, "shared_memory_byte_size", integer(2, -1))), "shared_memory_byte_size"},
  };
  for (const auto& c : cases) EXPECT_THAT(reason_of_refusal(c.bytes), HasSubstr(c.why));
}

TEST(GrpcMessage, WritesResponses) {
  const auto last = [](int truth) { return parameter(4, "triton_final_response", integer(1, truth)); };
  const server::InferResponse response{
      .model = "m",
      .version = "1",
      .id = "i",
      .outputs = {{"y", Array::of<float>({1, 2}, {1, 2})}, {"s", Array::of<std::string>({2}, {"ab", ""})}}};
  const std::string head = field(1, "m") + field(2, "1") + field(3, "i");
  const std::string wanted = field(5, field(1, "y") + field(2, "FP32") + integers(3, {1, 2})) +
                             field(5, field(1, "s") + field(2, "BYTES") + integers(3, {2})) +
                             field(6, raw<float>({1, 2})) + field(6, std::string("\2\0\0\0ab\0\0\0\0", 10));
  EXPECT_EQ(server::proto::write_infer(response), head + wanted);
  EXPECT_EQ(server::proto::write_stream_part(response), field(2, head + last(0) + wanted));
  EXPECT_EQ(server::proto::write_stream_result(response), field(2, head + last(1) + wanted));
  EXPECT_EQ(server::proto::write_stream_error("why", "i"), field(1, "why") + field(2, field(3, "i")));
  EXPECT_THROW(server::proto::write_infer({.outputs = {{"y", Array::sequence({})}}}), Refusal);
}

TEST(GrpcMessage, ReadsTheRequestsThatAreNoInferences) {
  const auto model = server::proto::read_model_name(field(1, "m") + field(2, "3"));
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.version, "3");
  const auto load = server::proto::read_repository_model(field(2, "m") + parameter(3, "config", field(3, "{}")));
  EXPECT_EQ(load.model, "m");
  EXPECT_THAT(load.parameters, ElementsAre("config"));
  EXPECT_EQ(server::proto::read_repository_index(field(1, "r")).repository, "r");
  EXPECT_EQ(server::proto::read_health_check(field(1, "s")), "s");
  EXPECT_EQ(server::proto::id_of_infer(field(1, "m") + field(3, "i")), "i");
  EXPECT_EQ(server::proto::id_of_infer("\xff"), "");
  EXPECT_THROW(server::proto::read_model_name("\x0a\xff"), Refusal);
}

}  // namespace
}  // namespace frazil::test
