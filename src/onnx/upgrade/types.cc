#include <algorithm>
#include <unordered_map>

#include "ir/op/op.h"
#include "onnx/upgrade/rules.h"

// Element types that an operator supports only since a later opset than the form in which it is written.
namespace frazil::onnx::rules {
namespace {

constexpr ElemSet kBf16 = one(Elem::bf16), kF16 = one(Elem::f16);
constexpr ElemSet kF8 = one(Elem::f8e4m3fn) | one(Elem::f8e4m3fnuz) | one(Elem::f8e5m2) | one(Elem::f8e5m2fnuz);
constexpr ElemSet kI4 = one(Elem::i4) | one(Elem::u4), kI2 = one(Elem::i2) | one(Elem::u2);
constexpr ElemSet kF4 = one(Elem::f4e2m1), kScale = one(Elem::f8e8m0);
constexpr ElemSet kWide = one(Elem::i32) | one(Elem::i64) | one(Elem::u32) | one(Elem::u64);
constexpr ElemSet kNarrow = one(Elem::i8) | one(Elem::i16) | one(Elem::u8) | one(Elem::u16);
constexpr ElemSet kComplex = one(Elem::c64) | one(Elem::c128);

/// A requirement: nodes of `ops` with a value of one of these types need the opset. A blank separates the names in
/// `ops`.
struct TypeNeed {
  std::int64_t opset;
  ElemSet elems;
  std::string_view ops;
};
constexpr TypeNeed kTypeNeeds[] = {
    {9, kWide, "Gemm MatMul PRelu"},
    {9, elems::kInt, "Greater Less"},
    {9, elems::kBool | kComplex | elems::kString | elems::kInt, "Flatten"},
    {9, elems::kString, "Cast"},
    {11, kNarrow | one(Elem::u32) | one(Elem::u64) | elems::kFloat, "Equal"},
    {11, kNarrow | one(Elem::i32) | one(Elem::u32) | one(Elem::u64), "TopK"},
    {12, elems::kInt, "Clip Max Min Pow"},
    {12, one(Elem::i8) | one(Elem::u8), "MaxPool ReduceMax ReduceMin"},
    {13, elems::kBool | kComplex | elems::kString, "Pad"},
    {13, kBf16,
     "Abs Add ArgMax ArgMin Cast Ceil Clip Concat DepthToSpace Div Dropout Equal Erf Exp Expand Flatten Floor Gather "
     "GatherElements GatherND Gemm Greater If IsNaN LRN Less Log Loop MatMul Max Mean MeanVarianceNormalization Min "
     "Mod Mul Neg NonZero Pad Pow Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
     "ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape ScatterElements ScatterND Shape Sigmoid Sign Size "
     "Slice "
     "SoftmaxCrossEntropyLoss SpaceToDepth Sqrt Sub Sum Tanh Tile Transpose"},
    {14, kNarrow, "Add Div Mul Sub"},
    {14, elems::kSigned, "Relu"},
    {14, kBf16 | kF16, "CumSum"},
    {16, kBf16, "GreaterOrEqual LeakyRelu LessOrEqual PRelu Scan Where"},
    {19, kF16, "DequantizeLinear QuantizeLinear"},
    {19, elems::kString, "Equal"},
    {19, kF8, "Cast DequantizeLinear If Loop QuantizeLinear Reshape Scan Shape Size"},
    {20, elems::kBool, "ReduceMax ReduceMin"},
    {20, kBf16 | kF8, "ConstantOfShape IsInf"},
    {20, kF16, "IsInf"},
    {20, kF8, "IsNaN"},
    {21, kF8, "Flatten Pad QLinearMatMul Squeeze Transpose Unsqueeze"},
    {21, kI4,
     "Cast ConstantOfShape DequantizeLinear Flatten If Loop Pad QuantizeLinear Reshape Scan Shape Size Squeeze "
     "Transpose Unsqueeze"},
    {21, kBf16 | one(Elem::i16) | one(Elem::u16), "DequantizeLinear QuantizeLinear"},
    {21, kBf16 | kF16, "QLinearMatMul"},
    {22, kBf16,
     "Acos Acosh Asin Asinh Atan Atanh AveragePool Bernoulli Conv ConvTranspose Cos Cosh DeformConv Det Elu EyeLike "
     "GRU "
     "GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample HardSigmoid HardSwish InstanceNormalization LSTM "
     "LpNormalization LpPool MaxPool MaxRoiPool MaxUnpool Mish Multinomial NegativeLogLikelihoodLoss RNN RandomNormal "
     "RandomNormalLike RandomUniform RandomUniformLike RoiAlign Round Selu Sin Sinh Softplus Softsign Tan "
     "ThresholdedRelu"},
    {23, kF4,
     "Cast ConstantOfShape DequantizeLinear Flatten If Loop Pad QuantizeLinear Reshape Scan Shape Size Squeeze "
     "Transpose Unsqueeze"},
    {24, kScale,
     "Cast ConstantOfShape DequantizeLinear Flatten If Loop Pad QuantizeLinear Reshape Scan Shape Size SplitToSequence "
     "Squeeze Transpose Unsqueeze"},
    {24, kBf16, "SplitToSequence TopK"},
    {25, kI2,
     "Cast ConstantOfShape DequantizeLinear Flatten If Loop Pad QuantizeLinear Reshape Scan Shape Size Squeeze "
     "Transpose Unsqueeze"},
};

using NeedsByOp = std::unordered_map<std::string_view, std::vector<const TypeNeed*>>;

const NeedsByOp& needs_by_op() {
  static const NeedsByOp needs = [] {
    NeedsByOp by_op;
    for (const TypeNeed& need : kTypeNeeds) {
      for (std::string_view rest = need.ops; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        by_op[rest.substr(0, end)].push_back(&need);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return by_op;
  }();
  return needs;
}

/// Returns the opset that the kind of a type requires. Blocks take and return sequences since opset 13, optionals
/// since 16.
std::int64_t needed_by_kind(const Type& type, const Node& node) {
  if (!std::holds_alternative<Region>(node.op->form) || type.is_tensor()) return 0;
  return type.kind == Type::Kind::optional ? 16 : 13;
}

}  // namespace

std::int64_t needed_by_types(const Graph& graph, const Node& node) {
  if (!node.op->domain.empty()) return 0;
  const auto found = needs_by_op().find(node.op->name);
  std::int64_t needed = 0;
  for (const auto* list : {&node.in, &node.out}) {
    for (const Value v : *list) {
      if (!v) continue;
      const Type& type = graph.type(v);
      needed = std::max(needed, needed_by_kind(type, node));
      if (found == needs_by_op().end() || !type.is_tensor()) continue;
      for (const TypeNeed* need : found->second) {
        if (contains(need->elems, type.elem)) needed = std::max(needed, need->opset);
      }
    }
  }
  return needed;
}

}  // namespace frazil::onnx::rules
