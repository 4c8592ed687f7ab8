// Large lists of numbers in JSON are read from the text, with the results and the errors of a model of the whole
// document.
#include "server/request/large_lists.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <regex>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/core/datatype.h"
#include "server/request/infer_message.h"

namespace frazil::test {
namespace {

using api::Array;
using api::Dtype;
using server::LargeLists;
using testing::HasSubstr;

/// Either the bytes of a tensor or the reason of a refusal.
using Read = std::pair<std::string, std::string>;

/// Begins a document. A document that begins with kWhole is read by way of its model; both have the same meaning.
constexpr std::string_view kLists = R"({"z":"\u0002",)", kWhole = R"({"z":"\u0001",)";

/// Reads the fields of a document as those of an input of a request.
Read read_input(std::string_view begin, const std::string& fields, Dtype dtype, const std::string& count) {
  std::string body = std::string(begin) + R"("inputs":[{"name":"x","datatype":")";
  body += std::string(server::datatype_of(dtype)) + R"(","shape":[)" + count + "]," + fields + "]}";
  try {
    const Array array = server::read_infer({.body = body}).inputs.at(0).second;
    if (dtype == Dtype::string) return {array.str(), ""};
    return {std::string(static_cast<const char*>(array.data()), array.bytes()), ""};
  } catch (const server::Refusal& refusal) {
    return {"", refusal.what()};
  }
}

/// Reads a document {"data": ...} with the shape that its data have.
Read read_document(std::string_view begin, const std::string& text, Dtype dtype) {
  static const std::regex kCount(R"(input 'x': its shape has \d+ elements, "data" has (\d+))");
  const std::string fields = text.substr(1);
  const LargeLists lists(text);
  Read read = read_input(begin, fields, dtype, std::to_string(lists.empty() ? 1 : lists.at(0).count));
  std::smatch parts;
  const std::string why = read.second;
  return std::regex_match(why, parts, kCount) ? read_input(begin, fields, dtype, parts[1]) : read;
}
Read read_large(const std::string& text, Dtype dtype) { return read_document(kLists, text, dtype); }
Read read_whole(const std::string& text, Dtype dtype) { return read_document(kWhole, text, dtype); }

/// Returns true if the list of the text is read without a model of the document.
bool is_read_as_text(const std::string& text, Dtype dtype) {
  const LargeLists lists(text);
  if (lists.size() != 1) return false;
  Array array(dtype, {static_cast<std::int64_t>(lists.at(0).count)});
  return server::fill(array, lists.at(0));
}

/// Returns a document whose list has so many copies of an item that it is large.
std::string document_of(const std::string& item, std::size_t count = 3000) {
  std::string text = R"({"data":[)";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + item;
  return text + "]}";
}

constexpr Dtype kDtypes[] = {Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64, Dtype::u8,
                             Dtype::u16,     Dtype::u32, Dtype::u64, Dtype::f32, Dtype::f64, Dtype::f16};

TEST(LargeListsTest, ItemsMeanTheSameAsInAModelOfTheDocument) {
  for (const char* const item : {"0",
                                 "-0",
                                 "1",
                                 "-1",
                                 "127",
                                 "128",
                                 "-128",
                                 "-129",
                                 "255",
                                 "256",
                                 "32767",
                                 "-32768",
                                 "65536",
                                 "2147483647",
                                 "-2147483648",
                                 "4294967295",
                                 "4294967296",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "-9223372036854775809",
                                 "9223372036854775808",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "00",
                                 "01",
                                 "-",
                                 "+1",
                                 ".5",
                                 "1.",
                                 "1.5",
                                 "-1.5",
                                 "-0.0",
                                 "1e3",
                                 "1E+3",
                                 "1e-3",
                                 "1e",
                                 "1e+",
                                 "0.1",
                                 "3.4028235677973366e38",
                                 "1e39",
                                 "1e308",
                                 "1e309",
                                 "5e-324",
                                 "1e-400",
                                 "0.30000000000000004",
                                 "9007199254740993",
                                 "123456789012345678901234567890.5",
                                 "true",
                                 "false",
                                 "tru",
                                 "truee",
                                 "null",
                                 "NaN",
                                 "Infinity",
                                 "-Infinity",
                                 "-NaN",
                                 "Inf",
                                 "\"NaN\"",
                                 "\"1\"",
                                 "[1]",
                                 "[]",
                                 "[[2],[3,4]]",
                                 "[1",
                                 "1]",
                                 "{}",
                                 " 1\t",
                                 "\n1\r\n",
                                 "\v1",
                                 "1 2",
                                 "",
                                 ",",
                                 "1e5.5",
                                 "0x10",
                                 "--1"}) {
    const std::string text = document_of(item);
    for (const Dtype dtype : kDtypes) {
      EXPECT_EQ(read_large(text, dtype), read_whole(text, dtype)) << item << ' ' << api::name_of(dtype);
    }
  }
}

TEST(LargeListsTest, UsualItemsAreReadFromTheText) {
  for (const char* const item : {"0", "1", "1.5", "-2.25e-3", "NaN", "-Infinity", "[[2],[3,4]]", " 7\n"}) {
    EXPECT_TRUE(is_read_as_text(document_of(item), Dtype::f32)) << item;
    EXPECT_TRUE(is_read_as_text(document_of(item), Dtype::f64)) << item;
  }
  for (const Dtype dtype : kDtypes) {
    EXPECT_EQ(is_read_as_text(document_of("1"), dtype), dtype != Dtype::f16) << api::name_of(dtype);
  }
  EXPECT_TRUE(is_read_as_text(document_of("true"), Dtype::boolean));
  EXPECT_TRUE(LargeLists(document_of("1", 100)).empty()) << "a model of a small document is small";
  EXPECT_TRUE(LargeLists(document_of("\"a\"")).empty());
}

/// Lists are found at any place of a document, beside any other values.
TEST(LargeListsTest, DocumentsMeanTheSame) {
  const std::string list = document_of("1.5").substr(8, document_of("1.5").size() - 9);  // from bracket to bracket
  for (const std::string& text : {
           R"({"a":1,"data":)" + list + R"(,"b":[1]})",
           R"({"data":)" + list + R"(,"data":[1,2]})",  // the first counts
           R"({"data":[1,2],"data":)" + list + "}",
           R"({"other":)" + list + R"(,"data":[1]})",
           R"({"other":[1,,2],"data":)" + list + "}",
           R"({"data":)" + list + R"(,"other":[1,,2]})",
           R"({"data":)" + list + R"(,"other":)" + document_of("1 2") + "}",
           R"({"data":)" + list + R"(,"other":NaN})",
           R"({"data":)" + list + R"(,"other":nul})",
           R"({"data":)" + list + R"(,"other":"\u0001"})",
           R"({"data":["\u0001",0],"other":)" + list + "}",  // looks like a placeholder
           R"({"data":["\u0001",7],"other":)" + list + "}",
           R"({"d\u0061ta":)" + list + "}",
           R"({"data":)" + list,
           R"({"data":)" + list + "]",
           R"({"data":)" + list + "}}",
           R"({"data":)" + list + "} x",
           R"({"data":)" + list + R"(,"b":"open)",
           R"({"data":)" + list + ",\"b\":\"\xff\"}",
           R"({"b":"[","data":)" + list + "}",
           R"({"b":"\"[","data":)" + list + "}",
           R"({"b":"\\","data":)" + list + "}",
           R"({"data":{"a":)" + list + "}}",
           R"({"data":[)" + list + "," + list + "]}",
           R"({"data":[)" + list + ",\"a\"]}",
           R"({"data":[null,)" + list + "]}",
           R"({"data":[{},)" + list + "]}",
           list,
           R"({"data":)" + std::string(99, '[') + list + std::string(99, ']') + "}",
           R"({"data":)" + std::string(98, '[') + list + std::string(98, ']') + "}",
           R"({"data":)" + std::string(97, '[') + list + std::string(97, ']') + "}",
           R"({"data":)" + std::string(5000, '[') + "}",
           R"({"data":)" + std::string(5000, ' ') + list + "}",
           R"({"data":[)" + std::string(5000, ' ') + "]}",
       }) {
    for (const Dtype dtype : {Dtype::f32, Dtype::i64, Dtype::string}) {
      EXPECT_EQ(read_large(text, dtype), read_whole(text, dtype))
          << text.substr(0, 60) << "..." << text.substr(text.size() - 40);
    }
  }
}

TEST(LargeListsTest, APlaceholderCannotBeForged) {
  const std::string forged = R"({"data":["\u0001",0],"other":)" + document_of("1").substr(8);
  EXPECT_TRUE(LargeLists(forged).empty());
  EXPECT_THAT(read_large(forged, Dtype::f32).second, HasSubstr("element [0]: expected numbers, got a string"));
}

/// Random documents, their oracle nlohmann's model, and a byte of them changed.
class RandomLists : public testing::TestWithParam<unsigned> {
 protected:
  std::size_t below(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most - 1)(random_); }
  std::string space() { return below(8) == 0 ? std::string(below(3), " \t\r\n"[below(4)]) : ""; }

  std::string number() {
    switch (below(5)) {
      case 0: return std::to_string(below(200));
      case 1: return std::to_string(static_cast<std::int64_t>(random_()));
      case 2: return "-" + std::to_string(below(100)) + "." + std::to_string(below(1000));
      case 3: return nlohmann::json(std::bit_cast<float>(static_cast<std::uint32_t>(random_() & 0xff7fffffU))).dump();
      default: return nlohmann::json(std::normal_distribution<double>()(random_)).dump();
    }
  }
  std::string list(std::size_t items, std::size_t depth) {
    std::string text = "[";
    for (std::size_t i = 0; i < items; ++i) {
      if (i > 0) text += space() + "," + space();
      text += depth > 0 && below(10) == 0 ? list(below(20), depth - 1) : number();
    }
    return text + space() + "]";
  }
  std::string document() {
    std::vector<std::string> fields{R"("data":)" + list(400 + below(800), 4)};
    if (below(2) == 0) fields.push_back(R"("shape":[1,2])");
    if (below(2) == 0) fields.push_back(R"("na\"me" : "a]b[\\")");
    std::ranges::shuffle(fields, random_);
    std::string text = "{";
    for (const std::string& field : fields) text += (text.size() > 1 ? "," : "") + space() + field;
    return text + "}";
  }
  void break_byte(std::string& text) {
    constexpr std::string_view kBytes = "0123456789+-.eE,[]{}\":\\ tnNIx\x01\n";
    const std::size_t at = 1 + below(text.size() - 1);
    switch (below(3)) {
      case 0: text[at] = kBytes[below(kBytes.size())]; break;
      case 1: text.erase(at, 1 + below(3)); break;
      default: text.insert(at, 1, kBytes[below(kBytes.size())]); break;
    }
  }
  std::mt19937_64 random_{GetParam()};
};

void append_items(const nlohmann::json& data, std::vector<double>& to) {
  if (!data.is_array()) return to.push_back(data.get<double>());
  for (const auto& item : data) append_items(item, to);
}

TEST_P(RandomLists, HaveTheValuesOfTheModel) {
  for (int round = 0; round < 15; ++round) {
    const std::string text = document();
    ASSERT_TRUE(is_read_as_text(text, Dtype::f64));
    std::vector<double> expected;
    append_items(nlohmann::json::parse(text).at("data"), expected);
    const auto [bytes, why] = read_large(text, Dtype::f64);
    ASSERT_EQ(why, "");
    ASSERT_EQ(bytes.size(), expected.size() * sizeof(double));
    std::vector<double> values(expected.size());
    std::memcpy(values.data(), bytes.data(), bytes.size());
    ASSERT_EQ(values, expected);
    ASSERT_EQ(read_large(text, Dtype::f32), read_whole(text, Dtype::f32));
  }
}

TEST_P(RandomLists, HaveTheErrorsOfTheModel) {
  for (int round = 0; round < 40; ++round) {
    std::string text = document();
    break_byte(text);
    for (const Dtype dtype : {Dtype::f32, Dtype::i16}) {
      ASSERT_EQ(read_large(text, dtype), read_whole(text, dtype)) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLists, testing::Range(0U, 5U));

std::string infer_body(const std::string& input) { return R"({"inputs":[{)" + input + "}]}"; }

/// The keys of a request have any order, and errors keep their texts.
TEST(LargeListsTest, RequestsMayHaveTheirKeysInAnyOrder) {
  const std::string list = document_of("1.5").substr(8, document_of("1.5").size() - 9);
  const std::string name = R"("name":"x")", type = R"("datatype":"FP32")", shape = R"("shape":[3,1000])",
                    data = R"("data":)" + list;
  const auto read = [](const std::string& body) { return server::read_infer({.body = body}); };
  for (const std::string& input :
       {name + "," + type + "," + shape + "," + data, data + "," + shape + "," + type + "," + name,
        type + "," + data + "," + name + "," + shape}) {
    const auto request = read(infer_body(input));
    ASSERT_EQ(request.inputs.size(), 1U);
    EXPECT_EQ(request.inputs[0].second.sizes(), (api::Sizes{3, 1000}));
    EXPECT_EQ(request.inputs[0].second.values<float>()[2999], 1.5F);
  }
  const struct {
    std::string body;
    const char* why;
  } cases[] = {
      {infer_body(name + "," + type + R"(,"shape":[3,1001],)" + data),
       "its shape has 3003 elements, \"data\" has 3000"},
      {infer_body(name + "," + shape + "," + data), "input 'x': \"datatype\" is missing"},
      {infer_body(name + "," + type + "," + data), "input 'x': \"shape\" is missing"},
      {infer_body(name + R"(,"datatype":"INT32",)" + shape + "," + data),
       "element [0]: expected integers, got a number"},
      {infer_body(name + R"(,"datatype":"BYTES",)" + shape + "," + data),
       "element [0]: expected strings, got a number"},
      {infer_body(R"("name":)" + list), "\"inputs\"[0]: \"name\": expected a string, got a list"},
      {infer_body(name + "," + type + R"(,"shape":)" + list + "," + data),
       "\"shape\"[0]: expected an integer, got a number"},
      {infer_body(name + "," + type + "," + shape + "," + data + ",,"), "line 1, column 12"},
      {R"({"inputs":)" + list + "}", "\"inputs\"[0]: expected an object, got a number"},
  };
  for (const auto& c : cases) {
    try {
      (void)read(c.body);
      ADD_FAILURE() << c.why;
    } catch (const server::Refusal& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr(c.why));
    }
  }
}

TEST(LargeListsTest, FaultsOfLargeBodiesHaveTheirPlace) {
  std::string text = document_of("1.25", 2'000'000);  // 10 MB
  text[text.size() - 4] = 'x';
  EXPECT_THAT(read_large(text, Dtype::f32).second, HasSubstr("in inputs[0].data[1999999]: syntax error"));
}

}  // namespace
}  // namespace frazil::test
