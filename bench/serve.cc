#include "bench/serve.h"

#include "bench/child.h"

namespace bench {

Requested requests_of(const std::vector<frazil::Sizes>& shapes, std::span<const frazil::Tensor> values) {
  Requested requests;
  for (const frazil::Sizes& sizes : shapes) {
    auto& inputs = requests.emplace_back();
    for (const frazil::Tensor& v : values) inputs.emplace_back(take(frazil::Tensor::over(v.elem(), sizes, v.buffer())));
  }
  return requests;
}

Served serve(const std::shared_ptr<frazil::exec::Executable>& executable, const Requested& requests) {
  frazil::exec::Session session(executable);
  Served served;
  double before = 0, aside_ms = 0;
  const auto begin = detail::Clock::now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<frazil::Datum> outputs;
    run_frazil(session, requests[i], outputs);
    if (i != requests.size() / 10) continue;
    const auto aside = detail::Clock::now();
    before = status_bytes("VmRSS");
    aside_ms = detail::since_ms(aside);
  }
  served.ms = detail::since_ms(begin) - aside_ms;
  served.grown = status_bytes("VmRSS") - before;
  served.counters = session.counters();
  return served;
}

nlohmann::json quartiles(const std::vector<double>& values) {
  return {{"median", detail::quantile(values, 0.5)},
          {"q1", detail::quantile(values, 0.25)},
          {"q3", detail::quantile(values, 0.75)}};
}

}  // namespace bench
