#pragma once

#include <limits>

#include "ir/op/define.h"

// The common core of all attention operators. The executor has a kernel for it.
namespace frazil::ops {

struct AttendAttrs {
  std::int64_t biased_hidden = 0;
  std::int64_t causal = 0;
  float hidden = -std::numeric_limits<float>::infinity();
  std::optional<float> scale;
  float softcap = 0;
  std::int64_t undefined = 0;
  static constexpr std::array fields{
      attr<&AttendAttrs::biased_hidden>("biased_hidden", "1: bias is added to hidden scores, too"),
      attr<&AttendAttrs::causal>("causal", "1: a query sees no key after its own position"),
      attr<&AttendAttrs::hidden>("hidden", "the score of keys for which keep is false"),
      attr<&AttendAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&AttendAttrs::softcap>("softcap", "soft cap of the scores: bound of the tanh; 0: none"),
      attr<&AttendAttrs::undefined>("undefined",
                                    "a row without probabilities: 0 is NaN, 1 is 0 where all scores are -inf, "
                                    "2 is 0 always"),
  };
};
inline constexpr std::array<Port, 7> kAttendIn{{
    {"Q", "T", elems::kFloat},
    {"K", "T", elems::kFloat},
    {"V", "T", elems::kFloat},
    {"bias", "T", elems::kFloat, Port::Use::optional},
    {"keep", "", elems::kBool, Port::Use::optional},
    {"first", "", elems::kI64, Port::Use::optional},
    {"lengths", "", elems::kI64, Port::Use::optional},
}};
void attend_body(CompositeCx& cx);
FRAZIL_OP(Attend, composite<AttendAttrs>({"Attend", 1,
                                          "softmax(Q Kt) V of Q [B, H, L, E], K [B, G, S, E] and V [B, G, S, F] as "
                                          "[B, L, H, F], with H a multiple of G; first is the position of the first "
                                          "query, read where causal, lengths are the keys that count, both [B] or "
                                          "[1].",
                                          "frazil"},
                                         {kAttendIn, kPortY<elems::kFloat>}, attend_body));

struct RotateAttrs {
  std::int64_t half_tables = 0;
  static constexpr std::array fields{
      attr<&RotateAttrs::half_tables>("half_tables", "1: cosine and sine serve both halves")};
};
inline constexpr std::array<Port, 3> kRotateIn{
    {{"X", "T", elems::kFloat}, {"cosine", "T", elems::kFloat}, {"sine", "T", elems::kFloat}}};
void rotate_body(CompositeCx& cx);
FRAZIL_OP(Rotate, composite<RotateAttrs>({"Rotate", 1,
                                          "X * cosine + R * sine, where R is the second half of X's last axis, "
                                          "negated, before the first.",
                                          "frazil"},
                                         {kRotateIn, kPortY<elems::kFloat>}, rotate_body));

// ---- parts of Attend ----

/// Q with its keys and values, all [batch, heads, steps, size].
struct Heads {
  Expr q, k, v;
  bool grouped = false;  ///< q may have more heads than k and v
};

Expr scaled_query(CompositeCx& cx, Expr q, std::optional<float> scale);
/// Returns q times the transpose of k, per head.
Expr raw_scores(CompositeCx& cx, const Heads& h, Expr q);
Expr capped_scores(CompositeCx& cx, Expr scores, float softcap);
/// Combines `keep` with the keys hidden by causality and lengths. Returns an absent value if every query sees every
/// key.
Expr visible_keys(CompositeCx& cx, const Heads& h, Expr keep, bool causal, Expr first, Expr lengths);
/// Replaces rows of probabilities that are undefined because all their keys are hidden.
Expr defined_rows(CompositeCx& cx, Expr p, Expr scores, std::int64_t undefined);
Expr weighted_values(CompositeCx& cx, const Heads& h, Expr p);

}  // namespace frazil::ops
