#include "bench/start.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <malloc.h>

#include "bench/child.h"
#include "bench/pair.h"

namespace bench {
namespace {

/// Resident bytes of the model's file, and of other files: the program and its libraries.
std::pair<double, double> resident_files(const std::string& model) {
  std::ifstream maps("/proc/self/smaps");
  const std::string path = std::filesystem::canonical(model);
  std::pair<double, double> bytes;
  double* to = nullptr;
  for (std::string line; std::getline(maps, line);) {
    if (const std::size_t file = line.find('/'); file != std::string::npos) {
      to = line.substr(file) == path ? &bytes.first : &bytes.second;
    } else if (line.starts_with("Rss:")) {
      if (to != nullptr) *to += std::strtod(line.c_str() + 4, nullptr) * 1024;
      to = nullptr;
    }
  }
  return bytes;
}

double heap_bytes() {
  const auto heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd);
}

nlohmann::json start_ours(const std::string& path, const std::string& specs) {
  auto begin = detail::Clock::now();
  const auto executable = load_frazil(path);
  double ms = detail::since_ms(begin);
  const double graph_and_plan = heap_bytes();
  const Requests requests = make_requests(frazil_inputs(executable->graph()), specs, "");
  FrazilRunner runner(executable, requests);
  begin = detail::Clock::now();
  runner.run();
  ms += detail::since_ms(begin);
  const double peak = status_bytes("VmHWM");
  const auto [in_place, program] = resident_files(path);
  auto values = static_cast<double>(runner.session().held_bytes());
  for (const auto& [name, tensor] : requests.each[0]) values += static_cast<double>(tensor.data.size());
  for (const HostTensor& tensor : runner.outputs()) values += static_cast<double>(tensor.data.size());
  return {{"ms", ms},
          {"bytes", peak},
          {"weights", static_cast<double>(executable->packed().bytes()) + in_place},
          {"values", values},
          {"process", program + graph_and_plan}};
}

nlohmann::json start_peer(const std::string& path, const std::string& specs, const std::string& library) {
  const Ort ort(library);
  auto begin = detail::Clock::now();
  const OrtSession session(ort, path);
  double ms = detail::since_ms(begin);
  OrtPrepared prepared(session, make_requests(session.inputs(), specs, ""));
  begin = detail::Clock::now();
  prepared.run();
  ms += detail::since_ms(begin);
  return {{"ms", ms}, {"bytes", status_bytes("VmHWM")}, {"weights", 0}, {"values", 0}, {"process", 0}};
}

Start in_child(const std::string& path, const std::string& specs, const std::string& library) {
  const auto json = nlohmann::json::parse(output_of({self_path(), "--start", path, specs, library}));
  return {json["ms"], json["bytes"], json["weights"], json["values"], json["process"]};
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
  for (double Start::* what : {&Start::ms, &Start::bytes, &Start::weights, &Start::values, &Start::process}) {
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
