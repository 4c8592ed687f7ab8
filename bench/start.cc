#include "bench/start.h"

#include <cstdio>
#include <fstream>

#include "bench/child.h"
#include "bench/inputs.h"
#include "bench/pair.h"

namespace bench {
namespace {

nlohmann::json start_ours(const std::string& path, const std::string& specs) {
  auto begin = detail::Clock::now();
  const auto executable = load_frazil(path);
  double ms = detail::since_ms(begin);
  const NamedTensors inputs = make_inputs(frazil_inputs(executable->graph()), specs);
  FrazilRunner runner(executable, inputs);
  begin = detail::Clock::now();
  runner.run();
  ms += detail::since_ms(begin);
  const double peak = status_bytes("VmHWM");
  double planned = weight_bytes(executable->plan()) + static_cast<double>(runner.session().held_bytes());
  for (const auto& [name, tensor] : inputs) planned += static_cast<double>(tensor.data.size());
  for (const HostTensor& tensor : runner.outputs()) planned += static_cast<double>(tensor.data.size());
  return {{"ms", ms}, {"bytes", peak}, {"planned", planned}};
}

nlohmann::json start_peer(const std::string& path, const std::string& specs, const std::string& library) {
  const Ort ort(library);
  auto begin = detail::Clock::now();
  const OrtSession session(ort, path);
  double ms = detail::since_ms(begin);
  OrtPrepared prepared(session, make_inputs(session.inputs(), specs));
  begin = detail::Clock::now();
  prepared.run();
  ms += detail::since_ms(begin);
  return {{"ms", ms}, {"bytes", status_bytes("VmHWM")}, {"planned", 0}};
}

Start in_child(const std::string& path, const std::string& specs, const std::string& library) {
  const auto json = nlohmann::json::parse(output_of({self_path(), "--start", path, specs, library}));
  return {json["ms"], json["bytes"], json["planned"]};
}

void touch(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) continue;
}

double median(const std::vector<Start>& starts, double Start::* what) {
  std::vector<double> values;
  for (const Start& start : starts) values.push_back(start.*what);
  return detail::quantile(values, 0.5);
}

}  // namespace

bool is_start_child(int argc, char** argv) { return argc == 5 && std::string(argv[1]) == "--start"; }

void start_child(const std::string& path, const std::string& specs, const std::string& library) {
  const auto json = library.empty() ? start_ours(path, specs) : start_peer(path, specs, library);
  std::printf("%s\n", json.dump().c_str());
}

Starts time_starts(const std::string& path, const std::string& specs, const std::string& library, int pairs) {
  touch(path);
  std::vector<Start> ours, peer;
  std::vector<double> ms, bytes;
  for (int i = 0; i < pairs; ++i) {
    if (i % 2 == 0) ours.push_back(in_child(path, specs, ""));
    peer.push_back(in_child(path, specs, library));
    if (i % 2 == 1) ours.push_back(in_child(path, specs, ""));
    ms.push_back(ours.back().ms / peer.back().ms);
    bytes.push_back(ours.back().bytes / peer.back().bytes);
  }
  Starts starts;
  for (double Start::* what : {&Start::ms, &Start::bytes, &Start::planned}) {
    starts.ours.*what = median(ours, what);
    starts.peer.*what = median(peer, what);
  }
  starts.ms_ratio = detail::quantile(ms, 0.5);
  starts.ms_low = detail::quantile(ms, 0.25), starts.ms_high = detail::quantile(ms, 0.75);
  starts.bytes_ratio = detail::quantile(bytes, 0.5);
  starts.bytes_low = detail::quantile(bytes, 0.25), starts.bytes_high = detail::quantile(bytes, 0.75);
  return starts;
}

}  // namespace bench
