#pragma once

#include <optional>
#include <vector>

#include "ir/op/define.h"
#include "ops/generic/generic_attrs.h"

// Operators whose maps are attributes: a Contraction, a View, and extents as values.
// Other operators define their maps in C++. These define them by attributes, so a graph can hold iteration spaces that
// no other operator has.
namespace frazil::ops {

inline constexpr std::size_t kMaxGenericOperands = 64;
inline constexpr std::size_t kMaxGenericAxes = 64;
inline constexpr std::size_t kMaxGenericInstructions = 1024;

struct GenericAttrs {
  std::vector<AxisDecl> space;
  Strings reduce;
  std::vector<ReadExpr> reads;
  AxisNames write;
  ScalarBody body;
  NamedEnum<Fold, kFoldNames> fold;
  IndexExpr report;
  std::int64_t last = 0;
  std::optional<Elem> to;
  std::vector<ExtentCheck> checks;
  static constexpr std::array fields{
      required<&GenericAttrs::space>("space", "axes, slowest first: 'i' has the extent it reads, 'j = d0_1 - 2' this"),
      attr<&GenericAttrs::reduce>("reduce", "axes that are folded"),
      required<&GenericAttrs::reads>("reads", "per operand its indices, '2*i + j - 1, k'; '-': it is not read"),
      required<&GenericAttrs::write>("write", "axes of the result, 'i, k'; '_': a kept extent of 1"),
      required<&GenericAttrs::body>("body", "instructions, 'f32 load 0', 'f32 mul %0 %0'; the last one counts"),
      attr<&GenericAttrs::fold>("fold", "sum, prod, max, min, any, all, argmax or argmin, over the axes of `reduce`"),
      attr<&GenericAttrs::report>("report", "the index that argmax and argmin give"),
      attr<&GenericAttrs::last>("last", "1: argmax and argmin give the last of equal ones"),
      attr<&GenericAttrs::to>("to", "element type of the result; that of the body by default"),
      attr<&GenericAttrs::checks>("checks", "'d0_1 == d1_0: inner extents': what must hold")};
};
inline constexpr std::array<Port, 1> kGenericIn{{{"inputs", "", elems::kTensor, Port::Use::variadic}}};
inline constexpr std::array<Port, 1> kGenericOut{{{"output", "", elems::kTensor}}};
Status generic_space(InferCx& cx, Space& space);
Sx generic_body(std::span<const Sx> operands, const void* attrs);
Elem generic_elem(const void* attrs, std::span<const Elem> inputs);
/// A point whose read is outside of its operand contributes nothing. A result without contributions is the identity of
/// the fold, or 0 without a fold.
FRAZIL_OP(Generic, Op<GenericAttrs>{{"Generic", "frazil", 1,
                                     "A fold over an iteration space, or without one a map, given by attributes.",
                                     attr_table<GenericAttrs>(), kGenericIn, kGenericOut,
                                     Contraction{generic_space, generic_body, generic_elem}}});

struct GenericMapAttrs {
  ScalarBody body;
  std::optional<Elem> to;
  static constexpr std::array fields{
      required<&GenericMapAttrs::body>("body", "instructions, 'f32 load 0', 'f32 mul %0 %0'; the last one counts"),
      attr<&GenericMapAttrs::to>("to", "element type of the result; that of the body by default")};
};
Sx generic_map_body(std::span<const Sx> operands, const void* attrs);
Elem generic_map_elem(const void* attrs, std::span<const Elem> inputs);
Status generic_map_fits(const void* attrs, std::span<const Elem> inputs);
FRAZIL_OP(GenericMap,
          Op<GenericMapAttrs>{
              {"GenericMap", "frazil", 1, "A body over scalars, given by attributes, with broadcasting.",
               attr_table<GenericMapAttrs>(), kGenericIn, kGenericOut,
               Elementwise{.body = generic_map_body, .result = generic_map_elem, .fits = generic_map_fits}}});

inline constexpr std::array<std::string_view, 3> kViewKindNames{"affine", "reshape", "concat"};  // of ViewMap::Kind

struct GenericViewAttrs {
  NamedEnum<ViewMap::Kind, kViewKindNames> kind;
  std::vector<ExtentExpr> shape;
  std::int64_t source = 0;
  std::vector<ExtentExpr> offsets;
  Ints axes;
  std::vector<ExtentExpr> steps;
  std::vector<NamedEnum<Edge, kEdgeNames>> edges;
  std::int64_t fill = -1;
  std::int64_t axis = 0;
  std::vector<ExtentCheck> checks;
  static constexpr std::array fields{
      attr<&GenericViewAttrs::kind>("kind", "affine, reshape or concat"),
      attr<&GenericViewAttrs::shape>("shape", "extents of the result; not for concat"),
      attr<&GenericViewAttrs::source>("source", "the operand that is viewed; the first one of concat"),
      attr<&GenericViewAttrs::offsets>("offsets", "affine: the index at 0, per operand axis"),
      attr<&GenericViewAttrs::axes>("axes", "affine: the result's axis that moves it; -1: none does"),
      attr<&GenericViewAttrs::steps>("steps", "affine: by how much; 1 by default"),
      attr<&GenericViewAttrs::edges>("edges", "affine: none, fill, clamp, reflect or wrap; none by default"),
      attr<&GenericViewAttrs::fill>("fill", "the operand that gives the fill value; -1: it is 0"),
      attr<&GenericViewAttrs::axis>("axis", "concat: the axis that grows"),
      attr<&GenericViewAttrs::checks>("checks", "'d0_1 == d1_0: inner extents': what must hold")};
};
Status generic_view_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(GenericView, view<GenericViewAttrs>({"GenericView", 1, "A view whose map is given by attributes.", "frazil"},
                                              {kGenericIn, kGenericOut}, generic_view_maps));

struct ExtentsAttrs {
  std::vector<ExtentExpr> values;
  Ints sizes;
  Elem to = Elem::i64;
  static constexpr std::array fields{
      required<&ExtentsAttrs::values>("values", "expressions such as 'd0_1 - 2', row-major"),
      attr<&ExtentsAttrs::sizes>("sizes", "extents of the result; one value and no axes by default"),
      attr<&ExtentsAttrs::to>("to", "element type of the result: an integer or bool")};
};
Status extents_types(InferCx& cx);
Status extents_run(OpaqueCall& call);
FRAZIL_OP(ExtentsOf, opaque<ExtentsAttrs>({"Extents", 1, "Numbers made of extents of the operands.", "frazil"},
                                          {kGenericIn, kGenericOut}, extents_types, extents_run,
                                          "its result is metadata, not made of elements"));

}  // namespace frazil::ops
