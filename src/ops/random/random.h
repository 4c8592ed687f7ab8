#pragma once

#include "ir/op/define.h"

// Operators for random numbers, all derived from Uniform:
//   With a seed, a node returns the same numbers each time it runs, on any tier and any number of threads.
//   Without a seed, it continues the session's stream: each run of the node returns other numbers, and a new session
//   starts at the beginning of the stream.
namespace frazil::ops {

struct UniformAttrs {
  std::optional<std::int64_t> seed;
  std::int64_t stream = 0;
  std::string generator = "philox";
  static constexpr std::array fields{
      attr<&UniformAttrs::seed>("seed", "the key of the generator; absent: the session's next stream"),
      attr<&UniformAttrs::stream>("stream", "index of the draw under its seed"),
      attr<&UniformAttrs::generator>("generator", "philox, or mt19937 seeded and read as by NumPy's RandomState")};
};
inline constexpr std::array<Port, 1> kUniformIn{{{"shape", "", elems::kI64}}}, kUniformOut{{{"Y", "", one(Elem::f64)}}};
Status uniform_types(InferCx& cx);
Status uniform_run(OpaqueCall& call);
FRAZIL_OP(Uniform, opaque<UniformAttrs>(stateful({"Uniform", 1, "Numbers in [0, 1), multiples of 2^-53.", "frazil"}),
                                        {kUniformIn, kUniformOut}, uniform_types, uniform_run,
                                        "its elements are generated, not computed from operands"));

inline constexpr std::array<Port, 3> kUniformOfIn{
    {{"count", "", elems::kI64}, {"seed", "", elems::kIndex}, {"stream", "", elems::kI64}}};
Status uniform_of_types(InferCx& cx);
Status uniform_of_run(OpaqueCall& call);
FRAZIL_OP(UniformOf, opaque({"UniformOf", 1, "Uniform with a seed and a stream that are inputs; 1-D.", "frazil"},
                            {kUniformOfIn, kUniformOut}, uniform_of_types, uniform_of_run,
                            "its elements are generated, not computed from operands"));

/// Returns class numbers drawn by rows of unnormalised logarithms, as i64. `numbers` is [rows, draws], in [0, 1).
Expr drawn_classes(CompositeCx& cx, Expr scores, Expr numbers);

struct RandomUniformAttrs {
  Elem dtype = Elem::f32;
  float high = 1;
  float low = 0;
  std::optional<float> seed;
  Ints shape;
  static constexpr std::array fields{attr<&RandomUniformAttrs::dtype>("dtype", "ONNX data type of the result"),
                                     attr<&RandomUniformAttrs::high>("high", "the upper end"),
                                     attr<&RandomUniformAttrs::low>("low", "the lower end"),
                                     attr<&RandomUniformAttrs::seed>("seed", "same seed, same numbers"),
                                     required<&RandomUniformAttrs::shape>("shape", "extents of the result")};
};
inline constexpr std::array<Port, 1> kRandomOut{{{"output", "", elems::kFloat}}};
void random_uniform_body(CompositeCx& cx);
FRAZIL_OP(RandomUniform,
          composite<RandomUniformAttrs>(stateful({"RandomUniform", {22, 1}, "Uniform numbers between low and high."}),
                                        {{}, kRandomOut}, random_uniform_body));

struct RandomNormalAttrs {
  Elem dtype = Elem::f32;
  float mean = 0;
  float scale = 1;
  std::optional<float> seed;
  Ints shape;
  static constexpr std::array fields{attr<&RandomNormalAttrs::dtype>("dtype", "ONNX data type of the result"),
                                     attr<&RandomNormalAttrs::mean>("mean", "of the numbers"),
                                     attr<&RandomNormalAttrs::scale>("scale", "standard deviation of the numbers"),
                                     attr<&RandomNormalAttrs::seed>("seed", "same seed, same numbers"),
                                     required<&RandomNormalAttrs::shape>("shape", "extents of the result")};
};
void random_normal_body(CompositeCx& cx);
FRAZIL_OP(RandomNormal,
          composite<RandomNormalAttrs>(stateful({"RandomNormal", {22, 1}, "Normally distributed numbers."}),
                                       {{}, kRandomOut}, random_normal_body));

struct RandomUniformLikeAttrs {
  std::optional<Elem> dtype;
  float high = 1;
  float low = 0;
  std::optional<float> seed;
  static constexpr std::array fields{
      attr<&RandomUniformLikeAttrs::dtype>("dtype", "ONNX data type of the result; 0: that of the input"),
      attr<&RandomUniformLikeAttrs::high>("high", "the upper end"),
      attr<&RandomUniformLikeAttrs::low>("low", "the lower end"),
      attr<&RandomUniformLikeAttrs::seed>("seed", "same seed, same numbers")};
};
inline constexpr std::array<Port, 1> kLikeIn{{{"input", "T1", elems::kTensor}}};
void random_uniform_like_body(CompositeCx& cx);
FRAZIL_OP(RandomUniformLike, composite<RandomUniformLikeAttrs>(
                                 stateful({"RandomUniformLike", {22, 1}, "RandomUniform with the input's extents."}),
                                 {kLikeIn, kRandomOut}, random_uniform_like_body));

struct RandomNormalLikeAttrs {
  std::optional<Elem> dtype;
  float mean = 0;
  float scale = 1;
  std::optional<float> seed;
  static constexpr std::array fields{
      attr<&RandomNormalLikeAttrs::dtype>("dtype", "ONNX data type of the result; 0: that of the input"),
      attr<&RandomNormalLikeAttrs::mean>("mean", "of the numbers"),
      attr<&RandomNormalLikeAttrs::scale>("scale", "standard deviation of the numbers"),
      attr<&RandomNormalLikeAttrs::seed>("seed", "same seed, same numbers")};
};
void random_normal_like_body(CompositeCx& cx);
FRAZIL_OP(RandomNormalLike, composite<RandomNormalLikeAttrs>(
                                stateful({"RandomNormalLike", {22, 1}, "RandomNormal with the input's extents."}),
                                {kLikeIn, kRandomOut}, random_normal_like_body));

struct BernoulliAttrs {
  std::optional<Elem> dtype;
  std::optional<float> seed;
  static constexpr std::array fields{
      attr<&BernoulliAttrs::dtype>("dtype", "ONNX data type of the result; 0: that of the input"),
      attr<&BernoulliAttrs::seed>("seed", "same seed, same numbers")};
};
inline constexpr std::array<Port, 1> kBernoulliIn{{{"input", "T1", elems::kFloat}}},
    kBernoulliOut{{{"output", "", elems::kNumeric | elems::kBool}}};
void bernoulli_body(CompositeCx& cx);
FRAZIL_OP(Bernoulli, composite<BernoulliAttrs>(
                         stateful({"Bernoulli", {22, 15}, "1 with the probability given by the input, else 0."}),
                         {kBernoulliIn, kBernoulliOut}, bernoulli_body));

struct MultinomialAttrs {
  Elem dtype = Elem::i32;
  std::int64_t sample_size = 1;
  std::optional<float> seed;
  static constexpr std::array fields{attr<&MultinomialAttrs::dtype>("dtype", "ONNX data type: i32 or i64"),
                                     attr<&MultinomialAttrs::sample_size>("sample_size", "draws for each row"),
                                     attr<&MultinomialAttrs::seed>("seed", "same seed, same numbers")};
};
inline constexpr std::array<Port, 1> kMultinomialOut{{{"output", "", elems::kIndex}}};
void multinomial_body(CompositeCx& cx);
FRAZIL_OP(Multinomial,
          composite<MultinomialAttrs>(
              stateful({"Multinomial", {22, 7}, "Class numbers drawn by rows of unnormalised logarithms."}),
              {kBernoulliIn, kMultinomialOut}, multinomial_body));

struct DropoutAttrs {
  std::optional<std::int64_t> seed;
  static constexpr std::array fields{
      attr<&DropoutAttrs::seed>("seed", "seed of NumPy's generator; absent: Frazil's own")};
};
inline constexpr std::array<Port, 3> kDropoutIn{{
    {"data", "T", elems::kTensor},
    {"ratio", "T1", elems::kFloat, Port::Use::optional},
    {"training_mode", "T2", elems::kBool, Port::Use::optional},
}};
inline constexpr std::array<Port, 2> kDropoutOut{{
    {"output", "T", elems::kTensor},
    {"mask", "", elems::kBool, Port::Use::optional},
}};
void dropout_body(CompositeCx& cx);
FRAZIL_OP(Dropout, composite<DropoutAttrs>(stateful({"Dropout",
                                                     {22, 12},
                                                     "In training mode, zeros at random places and the rest "
                                                     "scaled up; else the input."}),
                                           {kDropoutIn, kDropoutOut}, dropout_body));

}  // namespace frazil::ops
