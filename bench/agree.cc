#include "bench/agree.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/value/float.h"

namespace bench {
namespace {

constexpr double kTolerance = 1e-3;

template <class T>
double rms(const HostTensor& tensor) {
  double sum = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    double value = tensor.as<T>()[i];
    if (std::isfinite(value)) sum += value * value;
  }
  return tensor.size() ? std::sqrt(sum / static_cast<double>(tensor.size())) : 0;
}

bool close(double ours, double theirs, double allowance) {
  if (std::isnan(ours) || std::isnan(theirs)) return std::isnan(ours) && std::isnan(theirs);
  if (ours == theirs) return true;
  return std::abs(ours - theirs) <= kTolerance * std::abs(theirs) + allowance;
}

template <class T>
std::string compare_floats(const HostTensor& ours, const HostTensor& theirs) {
  double allowance = kTolerance * rms<T>(theirs);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    double a = ours.as<T>()[i], b = theirs.as<T>()[i];
    if (close(a, b, allowance)) continue;
    char text[96];
    std::snprintf(text, sizeof text, "element %zu is %g, the peer's is %g", i, a, b);
    return text;
  }
  return {};
}

/// Of f16 or bf16, whose last place may differ. By their values in f32.
std::string compare_halves(frazil::Elem elem, const HostTensor& ours, const HostTensor& theirs) {
  constexpr double kLastPlaces = 2.0 / 256;
  std::vector<float> a(ours.size()), b(theirs.size());
  frazil::to_f32(elem, ours.data.data(), a.data(), a.size());
  frazil::to_f32(elem, theirs.data.data(), b.data(), b.size());
  double squares = 0;
  for (const float x : b) squares += static_cast<double>(x) * x;
  const double allowance = kTolerance * std::sqrt(squares / static_cast<double>(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) <= kLastPlaces * std::abs(b[i]) + allowance) continue;
    char text[96];
    std::snprintf(text, sizeof text, "element %zu is %g, the peer's is %g", i, a[i], b[i]);
    return text;
  }
  return {};
}

std::string compare_bytes(const HostTensor& ours, const HostTensor& theirs) {
  if (ours.data == theirs.data) return {};
  return std::string("some elements of type ") + elem_name(ours.elem) + " differ";
}

std::string compare(const HostTensor& ours, const HostTensor& theirs) {
  if (ours.elem != theirs.elem) return std::string("is ") + elem_name(ours.elem) + ", not " + elem_name(theirs.elem);
  if (ours.dims != theirs.dims) return "has other extents";
  if (ours.elem == Elem::f32) return compare_floats<float>(ours, theirs);
  if (ours.elem == Elem::f64) return compare_floats<double>(ours, theirs);
  if (ours.elem == Elem::bf16) return compare_halves(frazil::Elem::bf16, ours, theirs);
  if (ours.elem == Elem::f16) return compare_halves(frazil::Elem::f16, ours, theirs);
  return compare_bytes(ours, theirs);
}

}  // namespace

std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs) {
  if (ours.size() != theirs.size()) return "another number of outputs";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    std::string what = compare(ours[i], theirs[i]);
    if (!what.empty()) return "output " + std::to_string(i) + ": " + what;
  }
  return {};
}

std::string disagreement(const std::vector<HostTensor>& ours, const std::vector<HostTensor>& theirs, double apart) {
  if (ours.size() != theirs.size()) return "another number of outputs";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].elem != Elem::f32 || theirs[i].elem != Elem::f32 || ours[i].dims != theirs[i].dims)
      return "output " + std::to_string(i) + " has another type";
    HostTensor difference = ours[i];
    for (std::size_t k = 0; k < difference.size(); ++k) difference.as<float>()[k] -= theirs[i].as<float>()[k];
    const double share = rms<float>(difference) / rms<float>(theirs[i]);
    if (!(share <= apart)) return "output " + std::to_string(i) + " differs by " + std::to_string(share);
  }
  return {};
}

}  // namespace bench
