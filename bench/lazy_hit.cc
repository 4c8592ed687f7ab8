// What recording adds to a run: lazy_hit [ROUNDS]
//
// Chains of pointwise operators on 8 elements, one thread. `run` is Session::run of a model of the chain; `record`
// makes the arrays and lets go of them; `read` also reads the last one, whose structure was seen before. The fastest
// of 7.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <frazil/frazil.h>

namespace {

template <class F>
double fastest(int rounds, F&& f) {
  double least = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) f();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count() / rounds);
  }
  return least;
}

std::string text_of(int length) {
  std::string text = "graph g(%x: f32[N], %y: f32[N]) {\n  %v0 = Add(%x, %y)\n";
  for (int i = 1; i < length; ++i) {
    const std::string from = "%v" + std::to_string(i - 1), to = "%v" + std::to_string(i);
    text += "  " + to + (i % 2 == 0 ? " = Add(" : " = Mul(") + from + ", %y)\n";
  }
  return text + "  return z = %v" + std::to_string(length - 1) + "\n}";
}

frazil::LazyArray chain(const frazil::LazyArray& x, const frazil::LazyArray& y, int length) {
  frazil::LazyArray value = x + y;
  for (int i = 1; i < length; ++i) value = i % 2 == 0 ? value + y : value * y;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  std::printf("%-10s%12s%12s%12s%16s  us\n", "operators", "run", "record", "read", "read - run - record");
  for (const int length : {1, 4, 16, 64}) {
    const frazil::Array x(frazil::Dtype::f32, {8}), y(frazil::Dtype::f32, {8});
    auto session = frazil::Model::from_text(text_of(length)).open({.threads = 1});
    const frazil::Array inputs[]{x, y};
    frazil::Results results;
    const double run = fastest(rounds, [&] { session.run(std::span<const frazil::Array>(inputs), results); });
    const frazil::LazyArray a = x, b = y;
    const double record = fastest(rounds, [&] { chain(a, b, length); });
    const double read = fastest(rounds, [&] { chain(a, b, length).value(); });
    std::printf("%-10d%12.3f%12.3f%12.3f%16.3f\n", length, run, record, read, read - run - record);
  }
  return 0;
}
