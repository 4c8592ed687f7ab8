#pragma once

#include "ir/op/define.h"

// Operators on strings.
namespace frazil::ops {

/// Casts between numbers and strings.
Status cast_plain(std::span<const ElementRef> in, const void* attrs, Elem elem, std::byte* out);

Status string_concat_plain(std::span<const ElementRef> in, const void* attrs, Elem elem, std::byte* out);
FRAZIL_OP(StringConcat, plain_elementwise({"StringConcat", 20, "X followed by Y, with broadcasting."},
                                          binary<elems::kString>, string_concat_plain));

struct StringSplitAttrs {
  std::optional<std::string> delimiter;
  std::optional<std::int64_t> maxsplit;
  static constexpr std::array fields{
      attr<&StringSplitAttrs::delimiter>("delimiter", "absent or empty: any run of white space"),
      attr<&StringSplitAttrs::maxsplit>("maxsplit",
                                        "maximum number of splits, from the left; absent or negative: no limit"),
  };
};
inline constexpr std::array<Port, 2> kStringSplitOut{{{"Y", "T", elems::kString}, {"Z", "", elems::kI64}}};
Status string_split_types(InferCx& cx);
Status string_split_run(OpaqueCall& call);
FRAZIL_OP(StringSplit,
          opaque<StringSplitAttrs>({"StringSplit", 20, "The parts of each string along a new last axis."},
                                   {kPortX<elems::kString>, kStringSplitOut}, string_split_types, string_split_run,
                                   "the output's extent depends on data", Opaque::Work::unknown));

struct StringNormalizerAttrs {
  std::string case_change_action = "NONE";
  std::int64_t is_case_sensitive = 0;
  std::string locale = {};
  Strings stopwords = {};
  static constexpr std::array fields{
      attr<&StringNormalizerAttrs::case_change_action>("case_change_action", "LOWER, UPPER or NONE"),
      attr<&StringNormalizerAttrs::is_case_sensitive>("is_case_sensitive", "1: stop words must have the same case"),
      attr<&StringNormalizerAttrs::locale>("locale", "name of a system locale, for letters outside ASCII"),
      attr<&StringNormalizerAttrs::stopwords>("stopwords", "the stop words"),
  };
};
Status string_normalizer_types(InferCx& cx);
Status string_normalizer_run(OpaqueCall& call);
FRAZIL_OP(StringNormalizer,
          opaque<StringNormalizerAttrs>({"StringNormalizer", 10,
                                         "The strings without stop words, with their case changed."},
                                        unary<elems::kString>, string_normalizer_types, string_normalizer_run,
                                        "the output's extent depends on data", Opaque::Work::unknown));

struct RegexFullMatchAttrs {
  std::string pattern;
  static constexpr std::array fields{required<&RegexFullMatchAttrs::pattern>("pattern", "in the syntax of RE2")};
};
Status regex_full_match_types(InferCx& cx);
Status regex_full_match_run(OpaqueCall& call);
FRAZIL_OP(RegexFullMatch,
          opaque<RegexFullMatchAttrs>({"RegexFullMatch", 20, "Whether the pattern matches the whole string."},
                                      {kPortX<elems::kString>, kPortBool}, regex_full_match_types, regex_full_match_run,
                                      "the pattern is compiled once for all strings", Opaque::Work::unknown));

}  // namespace frazil::ops
