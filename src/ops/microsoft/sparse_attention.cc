#include "ops/microsoft/sparse_attention.h"

#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/microsoft/group_query.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns which blocks of keys each block of queries sees, [layouts, blocks, blocks], from compressed sparse rows.
/// Columns after the last row's end are padding.
Expr visible_blocks(CompositeCx& cx) {
  const Expr ends = as_elem(cx.in(5), Elem::i64), columns = as_elem(cx.in(6), Elem::i64);
  const Expr layouts = extent(ends, 0), blocks = Sub(extent(ends, 1), int1(cx, 1)), none = cx.number(Elem::i64, 0);
  const Expr entries = extent(columns, 1), entry = Unsqueeze({iota(cx, extent_scalar(columns, 1)), cx.ints({1})});
  const Expr passed = LessOrEqual(Unsqueeze({ends, cx.ints({1})}), entry);  // [layouts, entries, blocks + 1]
  const Expr row = Sub(ReduceSum({as_elem(passed, Elem::i64), cx.ints({2})}, {.keepdims = 0}), int1(cx, 1));
  const Expr used = And(GreaterOrEqual(row, none), Less(row, blocks));
  const Expr column = in_range(Where(used, columns, none), "block_col_indices", int1(cx, 0), blocks);
  const Expr cells = Mul(blocks, blocks);
  // Padding is written to one more cell, which is cut off.
  const Expr cell = Where(used, Add(Mul(row, blocks), column), cells);
  const Expr empty = Expand({cx.number(Elem::f32, 0), join_shape({layouts, Add(cells, int1(cx, 1))})});
  const Expr ones = Expand({cx.number(Elem::f32, 1), join_shape({layouts, entries})});
  const Expr filled = cut(cx, ScatterElements({empty, cell, ones}, {.axis = 1}), 1, int1(cx, 0), cells);
  return Greater(Reshape({filled, join_shape({layouts, blocks, blocks})}), cx.number(Elem::f32, 0));
}

/// Returns the block of each query, [batch, steps].
Expr query_blocks(CompositeCx& cx, Expr total, Expr last, Expr blocks) {
  const Expr steps = extent(cx.in(0), 1), prompt = Equal(total, steps);
  const Expr first = Where(prompt, int1(cx, 0), Sub(Add(last, int1(cx, 1)), steps));
  const Expr place = Add(Unsqueeze({first, cx.ints({1})}), iota(cx, extent_scalar(cx.in(0), 1)));
  const Expr block = Div(place, int1(cx, cx.attrs<SparseAttentionAttrs>().sparse_block_size));
  return in_range(block, "block of a query: the row of block_row_indices", int1(cx, 0), blocks);
}

/// Returns the bias that hides keys outside of the listed blocks, [batch, heads, steps, total].
Expr hiding_bias(CompositeCx& cx, Expr total, Expr last) {
  const auto& a = cx.attrs<SparseAttentionAttrs>();
  const Expr seen = visible_blocks(cx), blocks = extent(seen, 1), layouts = extent(seen, 0);
  const Expr rows =
      Gather({seen, query_blocks(cx, total, last, blocks)}, {.axis = 1});  // [layouts, batch, steps, blocks]
  const Expr key = iota(cx, Squeeze({total, cx.ints({0})}));
  const Expr block = Div(key, int1(cx, a.sparse_block_size));
  const Expr key_block = in_range(block, "block of a key: the row of block_row_indices", int1(cx, 0), blocks);
  const Expr keep = Transpose({Gather({rows, key_block}, {.axis = 3})}, {.perm = {1, 0, 2, 3}});
  const Expr zero = cx.number(cx.elem(0), 0);
  const Expr bias = Where(keep, zero, cx.number(cx.elem(0), -std::numeric_limits<double>::infinity()));
  // Head h has layout h % layouts.
  const Expr parts = Unsqueeze({bias, cx.ints({1})});
  const Expr rounds = Div(int1(cx, a.num_heads), layouts);
  const Expr shape = join_shape({extent(bias, 0), rounds, layouts, extent(bias, 2), extent(bias, 3)});
  const Expr merged = MergeAxes({Expand({parts, shape})}, {.axis = 1, .count = 2});
  return fit(merged, "layouts of block_row_indices for num_heads",
             {extent(bias, 0), int1(cx, a.num_heads), extent(bias, 2), extent(bias, 3)});
}

bool is_sparse_attention(CompositeCx& cx) {
  const auto& a = cx.attrs<SparseAttentionAttrs>();
  if (a.sparse_block_size < 1) cx.error("sparse_block_size {} is not positive", a.sparse_block_size);
  if (a.num_heads < 1) cx.error("num_heads {} is not positive", a.num_heads);
  return cx.status() && has_rank(cx, 0, 3) && has_rank(cx, 3, 4) && has_rank(cx, 5, 2) && has_rank(cx, 6, 2) &&
         has_rank(cx, 8, 1);
}

}  // namespace

void sparse_attention_body(CompositeCx& cx) {
  if (!is_sparse_attention(cx)) return;
  const auto& a = cx.attrs<SparseAttentionAttrs>();
  const auto optional = [&](std::size_t i) { return cx.has(i) ? cx.in(i) : cx.builder().absent(); };
  const Expr total = Reshape({as_elem(cx.in(7), Elem::i64), cx.ints({1})});
  const Expr last = Sub(as_elem(cx.in(8), Elem::i64), int1(cx, 1));
  GroupQueryAttrs inner;
  inner.do_rotary = a.do_rotary;
  inner.kv_num_heads = a.kv_num_heads;
  inner.num_heads = a.num_heads;
  inner.rotary_interleaved = a.rotary_interleaved;
  inner.scale = a.scale;
  const Expr absent = cx.builder().absent();
  const auto y =
      GroupQueryAttention.call({cx.in(0), optional(1), optional(2), cx.in(3), cx.in(4), as_elem(last, Elem::i32),
                                cx.in(7), optional(9), optional(10), absent, hiding_bias(cx, total, last)},
                               inner, 3);
  for (std::size_t i = 0; i < std::min<std::size_t>(cx.output_count(), 3); ++i) cx.out(i, y[i]);
}

}  // namespace frazil::ops::microsoft
