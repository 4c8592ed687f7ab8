#include "kernel/rnn/rnn.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/contract/float_gemm.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

/// Rows of w^T in gemm's packed form.
std::vector<std::byte> packed_rows(const float* w, int64_t rows, int64_t cols) {
  std::vector<std::byte> packed(packed_b_bytes(Elem::f32, cols, rows) + 1);
  pack_b(Elem::f32, cols, rows, w, 1, cols, packed.data());
  return packed;
}

double clipped(double x, float clip) { return clip > 0 ? std::clamp(x, -double(clip), double(clip)) : x; }
double sigmoid(double x, float clip) { return 1 / (1 + std::exp(-clipped(x, clip))); }

struct RnnWant {
  std::vector<double> y, h, c;
};

/// Row `row` of a[rows, n] times v, plus a bias.
double dot(const float* a, const float* bias, int64_t row, const double* v, int64_t n) {
  double sum = bias != nullptr ? bias[row] : 0.0;
  for (int64_t i = 0; i < n; ++i) sum += a[row * n + i] * v[i];
  return sum;
}

void lstm_cell(const Rnn& p, const double* x, double* h, double* c) {
  const int64_t n = p.hidden;
  std::vector<double> new_h(static_cast<std::size_t>(n));
  for (int64_t j = 0; j < n; ++j) {
    double g[4];
    for (int64_t k = 0; k < 4; ++k)
      g[k] = dot(p.w, p.bias_w, k * n + j, x, p.inputs) + dot(p.r, p.bias_r, k * n + j, h, n);
    if (p.peephole != nullptr) g[0] += p.peephole[j] * c[j], g[2] += p.peephole[2 * n + j] * c[j];
    c[j] = sigmoid(g[2], p.clip) * c[j] + sigmoid(g[0], p.clip) * std::tanh(clipped(g[3], p.clip));
    if (p.peephole != nullptr) g[1] += p.peephole[n + j] * c[j];
    new_h[static_cast<std::size_t>(j)] = sigmoid(g[1], p.clip) * std::tanh(clipped(c[j], p.clip));
  }
  std::copy(new_h.begin(), new_h.end(), h);
}

void gru_cell(const Rnn& p, const double* x, double* h) {
  const int64_t n = p.hidden;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> z(size), r(size), rh(size), fresh(size);
  const auto both = [&](int64_t row) { return dot(p.w, p.bias_w, row, x, p.inputs) + dot(p.r, p.bias_r, row, h, n); };
  for (std::size_t j = 0; j < size; ++j) {
    z[j] = sigmoid(both(int64_t(j)), p.clip);
    r[j] = sigmoid(both(n + int64_t(j)), p.clip);
    rh[j] = r[j] * h[j];
  }
  for (std::size_t j = 0; j < size; ++j) {
    const int64_t row = 2 * n + int64_t(j);
    const double recurrent =
        p.linear_before_reset ? r[j] * dot(p.r, p.bias_r, row, h, n) : dot(p.r, p.bias_r, row, rh.data(), n);
    fresh[j] = std::tanh(clipped(dot(p.w, p.bias_w, row, x, p.inputs) + recurrent, p.clip));
  }
  for (std::size_t j = 0; j < size; ++j) h[j] = (1 - z[j]) * fresh[j] + z[j] * h[j];
}

RnnWant naive_rnn(const Rnn& p, bool is_lstm) {
  const auto n = static_cast<std::size_t>(p.hidden), batch = static_cast<std::size_t>(p.batch);
  RnnWant w;
  w.y.assign(static_cast<std::size_t>(p.steps) * batch * n, 0.0);
  w.h.assign(batch * n, 0.0);
  w.c.assign(batch * n, 0.0);
  for (std::size_t i = 0; i < batch * n; ++i) {
    if (p.h0 != nullptr) w.h[i] = p.h0[i];
    if (p.c0 != nullptr) w.c[i] = p.c0[i];
  }
  for (std::size_t b = 0; b < batch; ++b) {
    const int64_t length = p.lengths != nullptr ? std::clamp<int64_t>(p.lengths[b], 0, p.steps) : p.steps;
    for (int64_t s = 0; s < length; ++s) {
      const int64_t t = p.reverse ? length - 1 - s : s;
      const float* from = p.x + t * p.x_step + int64_t(b) * p.x_batch;
      const std::vector<double> x(from, from + p.inputs);
      if (is_lstm) {
        lstm_cell(p, x.data(), &w.h[b * n], &w.c[b * n]);
      } else {
        gru_cell(p, x.data(), &w.h[b * n]);
      }
      std::copy_n(&w.h[b * n], n, &w.y[(static_cast<std::size_t>(t) * batch + b) * n]);
    }
  }
  return w;
}

struct RnnCase {
  int64_t steps, batch, inputs, hidden;
};

void check_rnn(const RnnCase& t, bool is_lstm, int variant) {
  SCOPED_TRACE((is_lstm ? "lstm " : "gru ") + std::to_string(t.steps) + " " + std::to_string(t.batch) + " " +
               std::to_string(t.inputs) + " " + std::to_string(t.hidden) + " variant " + std::to_string(variant));
  const int64_t gates = is_lstm ? 4 : 3;
  const auto x = values<float>(t.steps * t.batch * t.inputs, 1, 0.8f),
             w = values<float>(gates * t.hidden * t.inputs, 2, 0.8f);
  const auto r = values<float>(gates * t.hidden * t.hidden, 3, 0.8f), bw = values<float>(gates * t.hidden, 4, 0.8f),
             br = values<float>(gates * t.hidden, 5, 0.8f);
  const auto h0 = values<float>(t.batch * t.hidden, 6, 0.8f), c0 = values<float>(t.batch * t.hidden, 7, 0.8f),
             peephole = values<float>(3 * t.hidden, 8, 0.8f);
  std::vector<std::int32_t> lengths;
  for (int64_t b = 0; b < t.batch; ++b) lengths.push_back(static_cast<std::int32_t>((b * 5 + 1) % (t.steps + 2)));
  Rnn p{.steps = t.steps,
        .batch = t.batch,
        .inputs = t.inputs,
        .hidden = t.hidden,
        .x = x.data(),
        .w = w.data(),
        .r = r.data()};
  const bool batch_major = (variant & 1) != 0;
  p.x_step = batch_major ? t.inputs : t.batch * t.inputs, p.x_batch = batch_major ? t.steps * t.inputs : t.inputs;
  p.y_step = batch_major ? t.hidden : t.batch * t.hidden, p.y_batch = batch_major ? t.steps * t.hidden : t.hidden;
  p.reverse = (variant & 2) != 0;
  if ((variant & 4) != 0) p.lengths = lengths.data();
  p.linear_before_reset = (variant & 8) != 0;
  if ((variant & 16) != 0) {
    p.bias_w = bw.data(), p.bias_r = br.data(), p.h0 = h0.data();
    if (is_lstm) p.c0 = c0.data(), p.peephole = peephole.data();
    p.clip = 0.5f;
  }
  std::vector<float> y(static_cast<std::size_t>(t.steps * t.batch * t.hidden), 9.f), y_h(h0), y_c(c0);
  p.y = y.data(), p.y_h = y_h.data();
  if (is_lstm) p.y_c = y_c.data();
  const bool packed = (variant & 32) != 0;
  const int64_t joint = is_lstm || p.linear_before_reset ? gates * t.hidden : 2 * t.hidden;
  const auto packed_w = packed_rows(w.data(), gates * t.hidden, t.inputs);
  const auto packed_r = packed_rows(r.data(), joint, t.hidden);
  const auto packed_rh = packed_rows(r.data() + joint * t.hidden, gates * t.hidden - joint, t.hidden);
  const int64_t bytes =
      (is_lstm ? lstm_scratch_bytes : gru_scratch_bytes)(t.steps, t.batch, t.inputs, t.hidden, packed);
  std::vector<std::byte> scratch(static_cast<std::size_t>(bytes));
  Rnn run = p;
  if (packed) {
    run.w = run.r = nullptr;
    run.packed_w = packed_w.data(), run.packed_r = packed_r.data(), run.packed_rh = packed_rh.data();
  }
  is_lstm ? lstm(run, scratch.data()) : gru(run, scratch.data());
  const auto whole = std::tuple(y, y_h, y_c);
  y.assign(y.size(), 9.f), y_h = h0, y_c = c0;
  for (int64_t b = 0, count = 1; b < t.batch; b += count, count = 3 - count) {
    run.first = b, run.count = std::min(count, t.batch - b);
    is_lstm ? lstm(run, scratch.data()) : gru(run, scratch.data());
  }
  EXPECT_TRUE(t.batch == 0 || std::tuple(y, y_h, y_c) == whole) << "sequences have other bits on their own";
  const RnnWant want = naive_rnn(p, is_lstm);
  for (int64_t s = 0; s < t.steps; ++s)
    for (int64_t b = 0; b < t.batch; ++b)
      for (int64_t j = 0; j < t.hidden; ++j)
        ASSERT_NEAR(y[static_cast<std::size_t>(s * p.y_step + b * p.y_batch + j)],
                    want.y[static_cast<std::size_t>((s * t.batch + b) * t.hidden + j)], 3e-5);
  for (std::size_t i = 0; i < y_h.size(); ++i) ASSERT_NEAR(y_h[i], want.h[i], 3e-5);
  for (std::size_t i = 0; is_lstm && i < y_c.size(); ++i) ASSERT_NEAR(y_c[i], want.c[i], 3e-5);
}

using RnnTest = OnIsa;

TEST_P(RnnTest, Variants) {
  for (const RnnCase& t : {RnnCase{1, 1, 3, 5}, RnnCase{4, 2, 7, 9}, RnnCase{6, 7, 5, 17}, RnnCase{5, 3, 1, 1},
                           RnnCase{0, 2, 3, 4}, RnnCase{3, 0, 3, 4}, RnnCase{3, 2, 0, 4}, RnnCase{2, 20, 33, 40}})
    for (int variant = 0; variant < 64; ++variant)
      for (bool is_lstm : {true, false}) check_rnn(t, is_lstm, variant);
}

TEST_P(RnnTest, SeveralChunks) {
  for (int variant : {0, 2, 6, 7, 8, 32, 40}) {
    check_rnn({12, 90, 6, 10}, true, variant);
    check_rnn({12, 90, 6, 10}, false, variant);
    check_rnn({1100, 1, 4, 6}, true, variant);
    check_rnn({40, 1, 4, 33}, false, variant);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, RnnTest, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
