#include "base/text.h"

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
      {"\xc3", "\\xc3", false},                             // cut
      {"\xe2\x82", "\\xe2\\x82", false},                    // cut
      {"\x80", "\\x80", false},                             // goes on from nothing
      {"\xc0\xaf", "\\xc0\\xaf", false},                    // two bytes for one
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf", false},           // three bytes for one
      {"\xed\xa0\x80", "\\xed\\xa0\\x80", false},           // half of a surrogate pair
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false},  // past the last code point
      {"a\xffä", "a\\xffä", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(printable(c.text), c.shown);
    EXPECT_EQ(is_utf8(c.text), c.utf8) << c.shown;
  }
}

}  // namespace
}  // namespace frazil
