#include <algorithm>

#include "base/thread/poll_throttle.h"
#include "code/entries.h"
#include "code/product/batches.h"
#include "code/product/product_entry.h"
#include "code/product/product_operands.h"
#include "code/tile/elements.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/contract/gemm_kernel.h"
#include "kernel/contract/gemm_row.h"
#include "kernel/simd/isa.h"

namespace frazil::code {
namespace {

/// Returns whether to pack a constant B, even for a product of one row. Rows of a file are not aligned; packed panels
/// are in huge pages, in the order in which they are read. `bytes` is the size of the unpacked B.
bool packs(const kernel::GemmKernel& kernel, const kernel::GemmCall& g, std::size_t bytes) {
  if (kernel.pack_b == nullptr || g.n * g.k < 1024) return false;
  return g.m > 1 || kernel.always_packs || kernel.packed_b_bytes(g.k, g.n) / 2 <= bytes;
}

Status pack_b(Prepare& cx, const kernel::GemmKernel& kernel, kernel::GemmCall& g, std::size_t operand) {
  const WeightRef& weight = cx.weights[operand];
  if (!weight || !packs(kernel, g, cx.in[operand].bytes())) return {};
  const std::size_t bytes = kernel.packed_b_bytes(g.k, g.n);
  const PackedMatrices format{kernel.b, g.k, g.n, g.b_row, g.b_col};
  FRAZIL_TRY(g.packed_b, cx.packed.get(weight, format, bytes, [&](std::byte* to) {
    kernel::GemmCall b = g;
    b.b = weight.bytes.data();
    kernel.pack_b(b, to);
  }));
  return {};
}

/// The matrices of a constant, of which each product takes one: by its batch, or because the operand is a slice.
struct Stack {
  const std::byte* first = nullptr;     ///< the first matrix in the weight; null: there is no stack
  std::int64_t matrix = 0, packed = 0;  ///< bytes from one matrix to the next
};

/// Packs each matrix of a dense constant; g.packed_b is the first one.
Status pack_stack(Prepare& cx, const kernel::GemmKernel& kernel, kernel::GemmCall& g, std::size_t operand,
                  Stack& stack) {
  const WeightRef& weight = cx.weights[operand];
  const auto matrix = static_cast<std::size_t>(g.k * g.n) * byte_size(kernel.b);
  const bool dense = (g.b_col == 1 && g.b_row == g.n) || (g.b_row == 1 && g.b_col == g.k);
  if (weight.buffer == nullptr || !dense || !packs(kernel, g, matrix)) return {};
  const std::size_t count = weight.bytes.size() / matrix, packed = kernel.packed_b_bytes(g.k, g.n);
  if (count * matrix != weight.bytes.size()) return {};
  const PackedMatrices format{kernel.b, g.k, g.n, g.b_row, g.b_col, static_cast<std::int64_t>(count)};
  const WeightRef whole{weight.buffer, weight.bytes};
  FRAZIL_TRY(g.packed_b, cx.packed.get(whole, format, count * packed, [&](std::byte* to) {
    kernel::GemmCall b = g;
    for (std::size_t i = 0; i < count; ++i) {
      b.b = weight.bytes.data() + i * matrix;
      kernel.pack_b(b, to + i * packed);
    }
  }));
  stack = {weight.bytes.data(), static_cast<std::int64_t>(matrix), static_cast<std::int64_t>(packed)};
  return {};
}

Result<const kernel::GemmKernel*> kernel_for(const Prepare& cx) {
  const Elem a = cx.in[0].elem, b = cx.in[1].elem, c = cx.out[0].elem;
  const auto* kernel = kernel::find_gemm(a, b, c);
  if (kernel == nullptr)
    return fail(Code::internal, "no product of {} and {} to {}", name_of(a), name_of(b), name_of(c));
  return kernel;
}

/// Returns the call as a product that generated code computes, or nullopt if the kernel sums in another order. `state`
/// is the object that contains `g`.
std::optional<NativeProduct> row_product(const kernel::GemmKernel& kernel, const kernel::GemmCall& g,
                                         const void* state) {
  const bool packed = g.packed_b != nullptr;
  if (kernel.a != Elem::f32 || kernel.b != Elem::f32 || kernel.c != Elem::f32 || g.m != 1) return std::nullopt;
  if (!packed && g.b_col != 1) return std::nullopt;
  if (!kernel::sums_in_chains(g.n, g.k, packed, lanes_of(kernel::features().isa))) return std::nullopt;
  NativeProduct product{.k = g.k, .n = g.n, .a_step = g.a_col, .b_row = g.b_row, .b_panel = kernel::kPanelCols};
  product.b = 1;
  product.negative_slope = g.negative_slope;
  if (!packed) return product;
  product.b_row = kernel::kPanelCols, product.b_panel = g.k * kernel::kPanelCols;
  product.packed_at =
      static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&g.packed_b) - static_cast<const std::byte*>(state));
  return product;
}

/// The direction of a product of one row, which reads its packed B once. If it runs repeatedly, every other run starts
/// at the end of B, where the last-read columns are still in the cache.
struct Turns {
  mutable bool backwards = false;
  bool taken = false;
  void prepare(const kernel::GemmCall& g) { taken = g.m == 1 && g.packed_b != nullptr; }
  /// Returns the direction of a call for all units, during which there is no other call.
  bool next() const { return taken && (backwards = !backwards); }
};

// ---- MatMul ----

struct MatMulState {
  const kernel::GemmKernel* kernel = nullptr;
  kernel::GemmCall gemm;
  Turns turns;
  Batches batches;
  Stack stack;
  ProductCut cut;
  ProductOperands operands;
  bool zeros = false;                                  ///< the product has zero points, given or not
  std::size_t sums = 0;                                ///< offset in scratch of a result that is passed
  std::int64_t a_width = 0, b_width = 0, c_width = 0;  ///< bytes of an element
};

/// Returns true if all axes but the last one can be walked as one.
bool rows_are_even(const OperandShape& a) {
  for (std::size_t i = 0; i + 2 < a.dims.size(); ++i) {
    if (a.strides[i] != a.strides[i + 1] * a.dims[i + 1]) return false;
  }
  return true;
}

/// Returns the step between zero points if there is one for each of `rows` rows or columns, or 0 if one is for all.
Result<std::int64_t> zero_step(const Prepare& cx, std::size_t operand, std::int64_t rows) {
  if (operand == 0 || cx.in[operand].count() == 1) return 0;
  const std::int64_t count = cx.in[operand].count();
  if (count != rows) return fail(Code::bad_input, "{} zero points for {} rows or columns", count, rows);
  return cx.in[operand].strides[0];
}

Status prepare_matmul(Prepare& cx, const params::MatMul& p, MatMulState& s) {
  const auto &a = cx.in[0], &b = cx.in[1];
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  FRAZIL_TRY(s.kernel, kernel_for(cx));
  kernel::GemmCall& g = s.gemm;
  read_matrices(g, a, b);
  g.c_row = g.n;
  g.negative_slope = p.negative_slope;
  g.strict = !cx.fast;
  s.zeros = p.zero_points;
  s.operands = {cx.in, p};
  s.a_width = static_cast<std::int64_t>(byte_size(s.kernel->a));
  s.b_width = static_cast<std::int64_t>(byte_size(s.kernel->b));
  s.c_width = static_cast<std::int64_t>(byte_size(s.kernel->c));
  if (s.zeros) {
    FRAZIL_TRY(g.a_zero_step, zero_step(cx, s.operands.a_zero, g.m));
    FRAZIL_TRY(g.b_zero_step, zero_step(cx, s.operands.b_zero, g.n));
  }
  if (rb == 2 && ra > 2 && rows_are_even(a) && g.a_zero_step == 0) {  // all rows of all batches share B
    for (std::size_t i = 0; i + 2 < ra; ++i) g.m *= a.dims[i];
  } else {
    FRAZIL_CHECK(s.batches.prepare(a, b));
  }
  if (rb == 2 && !cx.weights[1].moving) {
    FRAZIL_CHECK(pack_b(cx, *s.kernel, g, 1));
  } else {
    FRAZIL_CHECK(pack_stack(cx, *s.kernel, g, 1, s.stack));
  }
  s.turns.prepare(g);
  s.cut.prepare(cx, *s.kernel, g, s.batches.count);
  if (cx.passing) s.sums = aligned(std::exchange(cx.scratch_bytes, 0));
  if (cx.passing) cx.scratch_bytes = s.sums + s.kernel->passed_bytes(g.m, g.n, g.k);
  return {};
}

/// Returns the call of a run, except for the batch.
kernel::GemmCall call_of(const ProductRun<MatMulState>& r) {
  const auto& s = r.state;
  kernel::GemmCall g = s.gemm;
  g.on_tile = r.epilogue.on_tile();
  g.a = r.call.in[0];
  g.b = r.call.in[1];
  g.c = r.call.out[0];
  g.passed = r.worker.scratch + s.sums;
  g.bias = ProductOperands::of(r.call, s.operands.bias);
  g.addend = ProductOperands::of(r.call, s.operands.addend);
  g.a_zero = ProductOperands::of(r.call, s.operands.a_zero);
  g.b_zero = ProductOperands::of(r.call, s.operands.b_zero);
  return g;
}

/// Sets the packed form of the matrix at g.b, if that is one of the stack.
void take_from_stack(const MatMulState& s, kernel::GemmCall& g) {
  if (s.stack.first == nullptr) return;
  const std::int64_t offset = static_cast<const std::byte*>(g.b) - s.stack.first;
  const auto* const packed = static_cast<const std::byte*>(s.gemm.packed_b);
  g.packed_b = offset % s.stack.matrix == 0 ? packed + offset / s.stack.matrix * s.stack.packed : nullptr;
}

/// Computes rows [begin, end) of one batch. `g` is the call of the run, whose operands are set.
void matmul_rows(const ProductRun<MatMulState>& r, kernel::GemmCall& g, std::int64_t batch, std::int64_t begin,
                 std::int64_t end) {
  const auto& s = r.state;
  const auto [a, b] = s.batches.at(batch);
  g.a = r.call.in[0] + a * s.a_width;
  g.b = r.call.in[1] + b * s.b_width;
  if (r.call.out[0] != nullptr) g.c = r.call.out[0] + batch * g.m * g.n * s.c_width;
  if (s.operands.addend != 0) g.addend = r.call.in[s.operands.addend] + batch * g.m * g.n * s.c_width;
  take_from_stack(s, g);
  r.epilogue.at_row(batch * g.m);
  s.kernel->rows(g, begin, end, r.worker.scratch);
}

/// Computes units of rows [begin, end), of which `g` has the columns.
void matmul_units(const ProductRun<MatMulState>& r, kernel::GemmCall& g, std::int64_t begin, std::int64_t end) {
  const auto& s = r.state;
  const auto rows_at = [&](std::int64_t unit) { return std::min(g.m, unit * s.cut.unit_rows); };
  if (s.batches.count == 1) return s.kernel->rows(g, rows_at(begin), rows_at(end), r.worker.scratch);
  for (std::int64_t u = begin; u < end && !stop_requested();) {
    const std::int64_t batch = u / s.cut.per_batch, first = batch * s.cut.per_batch;
    const std::int64_t past = std::min(end, first + s.cut.per_batch);
    matmul_rows(r, g, batch, rows_at(u - first), rows_at(past - first));
    u = past;
  }
}

/// Returns the call for rows from `row` on, whose A is at `a`.
kernel::GemmCall from_row(const kernel::GemmKernel& kernel, kernel::GemmCall g, const void* a, std::int64_t row) {
  const auto width = static_cast<std::int64_t>(byte_size(kernel.c));
  g.a = a;
  if (g.c != nullptr) g.c = static_cast<std::byte*>(g.c) + row * g.c_row * width;
  if (g.addend != nullptr) g.addend = static_cast<const std::byte*>(g.addend) + row * g.n * width;
  if (g.a_zero != nullptr) g.a_zero = static_cast<const std::byte*>(g.a_zero) + row * g.a_zero_step;
  return g;
}

void run_matmul(const ProductRun<MatMulState>& r) {
  kernel::GemmCall g = call_of(r);
  if (r.whole) g.backwards = r.state.turns.next();
  take_from_stack(r.state, g);
  r.state.cut.for_each(g, r.begin, r.end, [&](std::int64_t begin, std::int64_t end) {
    if (!r.prologue.exists()) return matmul_units(r, g, begin, end);
    r.prologue.for_each_block(begin, end, [&](const std::byte* a, std::int64_t row0, std::int64_t row1) {
      r.epilogue.at_row(row0);
      r.state.kernel->rows(from_row(*r.state.kernel, g, a, row0), 0, row1 - row0, r.worker.scratch);
    });
  });
}

std::optional<NativeProduct> row_of_matmul(const MatMulState& s) {
  if (s.zeros || s.batches.count != 1 || s.stack.first != nullptr) return std::nullopt;
  auto product = row_product(*s.kernel, s.gemm, &s);
  if (product && s.operands.bias != 0) product->bias = static_cast<std::uint32_t>(s.operands.bias);
  if (product && s.operands.addend != 0) product->addend = static_cast<std::uint32_t>(s.operands.addend);
  return product;
}

// ---- Gemm ----

struct GemmState {
  const kernel::GemmKernel* kernel = nullptr;
  std::size_t sums = 0;  ///< offset in scratch of some rows of f32 sums for a narrower result, and an addend
  kernel::GemmCall gemm;
  ProductCut cut;
  float alpha = 1, beta = 1, negative_slope = 1;
  std::int64_t c_row = 0, c_col = 0;  ///< steps of the addend; 0 where it repeats
  bool bias = false, add = false;
  bool plain() const { return alpha == 1 && !add; }
};

Status read_addend(const Prepare& cx, GemmState& s) {
  const auto& c = cx.in[2];
  const kernel::GemmCall& g = s.gemm;
  const std::size_t rank = c.dims.size();
  const std::int64_t cols = rank > 0 ? c.dims[rank - 1] : 1, rows = rank > 1 ? c.dims[rank - 2] : 1;
  if ((cols != 1 && cols != g.n) || (rows != 1 && rows != g.m)) {
    return fail(Code::bad_input, "input C of {}x{} does not broadcast to {}x{}", rows, cols, g.m, g.n);
  }
  s.c_col = cols == 1 ? 0 : 1;
  s.c_row = rows == 1 ? 0 : cols;
  s.bias = s.alpha == 1 && s.beta == 1 && rows == 1 && cols == g.n;
  s.add = !s.bias;
  return {};
}

/// Chooses a kernel with f32 sums, if the result is narrower and sums are not yet the result.
Status prepare_sums(Prepare& cx, GemmState& s) {
  const Elem elem = cx.out[0].elem;
  if (s.plain() || !is_small_float(elem)) return {};
  s.kernel = kernel::find_gemm(elem, elem, Elem::f32);
  if (s.kernel == nullptr) return fail(Code::internal, "no product of {} to f32", name_of(elem));
  s.sums = aligned(cx.scratch_bytes);
  cx.scratch_bytes = s.sums + static_cast<std::size_t>((ProductCut::kUnitRows + 1) * s.gemm.n) * sizeof(float);
  return {};
}

Status prepare_gemm(Prepare& cx, const params::Gemm& p, GemmState& s) {
  const auto &a = cx.in[0], &b = cx.in[1];
  FRAZIL_TRY(s.kernel, kernel_for(cx));
  kernel::GemmCall& g = s.gemm;
  g.m = a.dims[p.trans_a ? 1 : 0];
  g.k = a.dims[p.trans_a ? 0 : 1];
  g.n = b.dims[p.trans_b ? 0 : 1];
  g.a_row = p.trans_a ? 1 : a.dims[1];
  g.a_col = p.trans_a ? a.dims[1] : 1;
  g.b_row = p.trans_b ? 1 : b.dims[1];
  g.b_col = p.trans_b ? b.dims[1] : 1;
  g.c_row = g.n;
  g.strict = !cx.fast;
  g.bias_in_sum = true;
  s.alpha = p.alpha, s.beta = p.beta, s.negative_slope = p.negative_slope;
  if (cx.in.size() > 2 && cx.in[2].given && s.beta != 0) FRAZIL_CHECK(read_addend(cx, s));
  FRAZIL_CHECK(pack_b(cx, *s.kernel, g, 1));
  s.cut.prepare(cx, *s.kernel, g, 1);
  return prepare_sums(cx, s);
}

/// Computes alpha * C + beta * addend, which the kernel does not do by itself.
void scale_and_add(const ProductRun<GemmState>& r, const kernel::GemmCall& g, std::int64_t begin, std::int64_t end,
                   std::int64_t past_col) {
  const auto& s = r.state;
  PollThrottle throttle;
  for (std::int64_t i = begin; i < end && !throttle.stop(past_col - g.first_col); ++i) {
    float* row = as(r.call.out[0]) + i * g.c_row;
    const float* addend = s.add ? as(r.call.in[2]) + i * s.c_row : nullptr;
    for (std::int64_t j = g.first_col; j < past_col; ++j) {
      const float sum = s.alpha * row[j] + (addend ? s.beta * addend[j * s.c_col] : 0.0f);
      row[j] = kernel::leaky_relu(sum, s.negative_slope);
    }
  }
}

/// Does the same for rows of 16-bit floats, some at a time. Their A is at g.a.
void scale_and_add_sums(const ProductRun<GemmState>& r, kernel::GemmCall g, std::int64_t begin, std::int64_t end) {
  const auto& s = r.state;
  const auto width = static_cast<std::int64_t>(byte_size(s.kernel->a));
  float* const sums = as(r.worker.scratch + s.sums);
  float* const addend = sums + ProductCut::kUnitRows * g.n;
  const auto* const a = static_cast<const std::byte*>(g.a);
  for (std::int64_t first = begin; first < end && !stop_requested(); first += ProductCut::kUnitRows) {
    const std::int64_t past = std::min(end, first + ProductCut::kUnitRows);
    g.a = a + (first - begin) * g.a_row * width;
    g.c = sums;
    s.kernel->rows(g, 0, past - first, r.worker.scratch);
    for (std::int64_t i = first; i < past; ++i) {
      float* const row = sums + (i - first) * g.c_row;
      if (s.add) {
        load_run(s.kernel->a, r.call.in[2] + i * s.c_row * width, s.c_col * width, reinterpret_cast<std::byte*>(addend),
                 g.n);
      }
      for (std::int64_t j = 0; j < g.n; ++j) row[j] = s.alpha * row[j] + (s.add ? s.beta * addend[j] : 0.0f);
      std::byte* const to = r.call.out[0] + i * g.c_row * width;
      store_run(s.kernel->a, row, to, width, g.n, false);
      if (s.negative_slope == 1) continue;
      load_run(s.kernel->a, to, width, reinterpret_cast<std::byte*>(row), g.n);
      for (std::int64_t j = 0; j < g.n; ++j) row[j] = kernel::leaky_relu(row[j], s.negative_slope);
      store_run(s.kernel->a, row, to, width, g.n, false);
    }
  }
}

void run_gemm(const ProductRun<GemmState>& r) {
  const auto& s = r.state;
  kernel::GemmCall g = s.gemm;
  g.b = r.call.in[1];
  g.c = r.call.out[0];
  g.bias = s.bias ? r.call.in[2] : nullptr;
  if (s.plain()) g.negative_slope = s.negative_slope, g.on_tile = r.epilogue.on_tile();
  const auto rows = [&](const std::byte* a, std::int64_t begin, std::int64_t end) {
    const std::int64_t past_col = g.past_col == 0 ? g.n : g.past_col;
    if (s.sums != 0) {
      g.a = a;
      scale_and_add_sums(r, g, begin, end);
    } else {
      r.epilogue.at_row(begin);
      s.kernel->rows(from_row(*s.kernel, g, a, begin), 0, end - begin, r.worker.scratch);
      if (s.plain()) return;
      scale_and_add(r, g, begin, end, past_col);
    }
    r.epilogue.run_part(begin, end, g.first_col, past_col);
  };
  s.cut.for_each(g, r.begin, r.end, [&](std::int64_t begin, std::int64_t end) {
    if (r.prologue.exists()) return r.prologue.for_each_block(begin, end, rows);
    const std::int64_t first = begin * s.cut.unit_rows;
    const auto width = static_cast<std::int64_t>(byte_size(s.kernel->a));
    rows(r.call.in[0] + first * g.a_row * width, first, std::min(g.m, end * s.cut.unit_rows));
  });
}

std::optional<NativeProduct> row_of_gemm(const GemmState& s) {
  if (!s.plain() || s.sums != 0) return std::nullopt;
  auto product = row_product(*s.kernel, s.gemm, &s);
  if (product && s.bias) product->bias = 2;
  if (product) product->negative_slope = s.negative_slope;
  return product;
}

template <class S>
std::int64_t columns(const S& s) {
  return s.gemm.n;
}

}  // namespace

KernelEntry entry_of(ProductParams<params::MatMul> params) {
  return ProductEntry<params::MatMul, MatMulState, prepare_matmul, columns, run_matmul, row_of_matmul>::make(
      std::move(params));
}

KernelEntry entry_of(ProductParams<params::Gemm> params) {
  return ProductEntry<params::Gemm, GemmState, prepare_gemm, columns, run_gemm, row_of_gemm>::make(std::move(params));
}

}  // namespace frazil::code
