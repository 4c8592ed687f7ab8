#include "debug/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/compare.h"

namespace frazil::debug {
namespace {

std::uint64_t bytes_of(const Datum& value) {
  if (value.is_tensor()) return value.tensor().bytes();
  std::uint64_t bytes = 0;
  if (value.is_sequence()) {
    for (const Datum& item : value.sequence().items) bytes += bytes_of(item);
  }
  return bytes;
}

class Recorder : public exec::Observer {
 public:
  Recorder(const Sites& sites, Recording& to, exec::Session& session, std::uint64_t max_bytes)
      : sites_(sites), to_(to), session_(session), left_(max_bytes) {}
  std::span<const exec::WatchedValue> watched() const override { return sites_.watched(); }
  bool without(std::size_t, std::string_view) override { return true; }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override {
    const std::uint64_t bytes = bytes_of(value);
    full_ |= bytes > left_;
    if (full_) return session_.cancel();
    left_ -= bytes;
    const Site& site = sites_[index];
    to_.values.push_back({site.name,
                          site.node ? sites_.graph().describe(site.node) : "",
                          {iterations.begin(), iterations.end()},
                          value});
  }
  bool full() const { return full_; }

 private:
  const Sites& sites_;
  Recording& to_;
  exec::Session& session_;
  std::uint64_t left_;
  bool full_ = false;
};

/// Adds results under their own names, unless the values contain these.
void add_results(const Graph& graph, std::vector<Datum> results, Recording& to) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::string& name = graph.output_names()[k];
    const auto same = [&](const Recording::Made& made) { return made.name == name; };
    if (std::ranges::none_of(to.values, same)) to.values.push_back({name, "", {}, std::move(results[k])});
  }
}

double largest(const Datum& value) {
  double most = 0;
  if (!value.is_tensor() || value.tensor().elem() == Elem::string) return most;
  for (std::int64_t i = 0; i < value.tensor().count(); ++i) {
    if (const double x = std::abs(value.tensor().number_at(i)); std::isfinite(x)) most = std::max(most, x);
  }
  return most;
}

using ByName = std::map<std::string_view, std::vector<const Recording::Made*>>;

ByName by_name(const Recording& of) {
  ByName named;
  for (const auto& made : of.values) named[made.name].push_back(&made);
  return named;
}

}  // namespace

Result<Recording> record(const std::shared_ptr<const Graph>& graph, const Backend& ways, std::span<const Datum> inputs,
                         std::uint64_t max_bytes) {
  const Sites sites(graph);
  FRAZIL_TRY(const auto executable, ways.make(graph));
  const auto session = ways.open(*executable);
  Recording recording;
  Recorder recorder(sites, recording, *session, max_bytes);
  session->set_observer(&recorder);
  auto results = session->run(inputs);
  if (recorder.full()) {
    recording.status = fail(Code::limit, "the values of a run take more than {} bytes", max_bytes);
  } else if (!results) {
    recording.status = std::unexpected(std::move(results).error());
  } else {
    add_results(*graph, *std::move(results), recording);
  }
  return recording;
}

Comparison compare(const Recording& a, const Recording& b, const Closeness& closeness) {
  Comparison comparison;
  const ByName of_a = by_name(a), of_b = by_name(b);
  std::map<std::string_view, std::size_t> seen;
  for (const auto& [name, made] : of_b) comparison.only_b += !of_a.contains(name);
  for (const auto& [name, made] : of_a) ++(of_b.contains(name) ? comparison.both : comparison.only_a);
  for (const auto& made : a.values) {
    const std::size_t k = seen[made.name]++, count = of_a.at(made.name).size();
    const auto others = of_b.find(made.name);
    if (others == of_b.end()) continue;
    const bool pairs = others->second.size() == count;
    if (!pairs && k + 1 < count) continue;
    const Datum& other = (pairs ? others->second[k] : others->second.back())->value;
    const double scale = closeness.of_largest > 0 ? closeness.of_largest * largest(other) : 0;
    ++comparison.compared;
    const auto what = difference(made.value, other, {closeness.rtol, closeness.atol + scale});
    if (!what) continue;
    ++comparison.apart;
    if (!comparison.first) comparison.first = Difference{made.name, made.node, made.iterations, *what};
  }
  return comparison;
}

}  // namespace frazil::debug
