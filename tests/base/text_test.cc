#include "base/value/text.h"

#include <gtest/gtest.h>

namespace frazil {
namespace {

TEST(TextTest, PrintableAndUtf8) {
  struct Case {
    std::string text, shown;
    bool utf8;
  };
  const Case cases[] = {
      {"", "", true},
      {"a name_1.x/y", "a name_1.x/y", true},
      {"ä€𝄞", "ä€𝄞", true},
      {"a\nb\tc\r", "a\\nb\\tc\\r", true},
      {std::string("\0\x1f\x7f", 3), "\\x00\\x1f\\x7f", true},
      {"back\\slash", "back\\slash", true},
      {"\xff", "\\xff", false},
      {"\xc3", "\\xc3", false},                             // truncated
      {"\xe2\x82", "\\xe2\\x82", false},                    // truncated
      {"\x80", "\\x80", false},                             // continuation byte without a start
      {"\xc0\xaf", "\\xc0\\xaf", false},                    // overlong encoding of one byte
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf", false},           // overlong encoding of one byte
      {"\xed\xa0\x80", "\\xed\\xa0\\x80", false},           // half of a surrogate pair
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false},  // above the last code point
      {"a\xffä", "a\\xffä", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(printable(c.text), c.shown);
    EXPECT_EQ(is_utf8(c.text), c.utf8) << c.shown;
  }
}

TEST(TextTest, CodePointsThereAndBack) {
  for (const char32_t code : {0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string text = "a";
    append_utf8(text, code);
    EXPECT_TRUE(is_utf8(text));
    std::size_t at = 1;
    EXPECT_EQ(next_code_point(text, at), code);
    EXPECT_EQ(at, text.size());
    EXPECT_EQ(next_code_point(text, at), std::nullopt) << "behind the end";
  }
  std::string text;
  for (const char32_t none : {0xd800u, 0xdfffu, 0x110000u, 0xffffffffu}) append_utf8(text, none);
  EXPECT_EQ(text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  std::size_t at = 1;
  EXPECT_EQ(next_code_point(text, at), std::nullopt);
  EXPECT_EQ(at, 1u);
}

TEST(TextTest, LongTextIsCutBetweenCodePoints) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("a€€", 3), "a...");
  EXPECT_EQ(printable("a€€", 4), "a€...");
  EXPECT_EQ(printable("\x80\x80\x80", 2), "\\x80\\x80...");
  EXPECT_EQ(printable("ab", 0), "...");
}

}  // namespace
}  // namespace frazil
