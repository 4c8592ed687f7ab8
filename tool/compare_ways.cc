#include "tool/compare_ways.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

#include "exec/native/code_cache.h"
#include "exec/native/code_maker.h"
#include "tool/compile_model.h"
#include "tool/measure.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 1;                 ///< until the code has been made, and again afterwards
constexpr std::size_t kMaxRequests = 100'000;  ///< in each period; their times are sent through a pipe
constexpr std::size_t kPlotted = 400;

/// One way to run the model.
struct TierRun {
  const char* name = "";
  const char* colour = "";
  std::string file, tier;
};

double compile_seconds() {
  double seconds = 0;
  for (const exec::CodeEvent& e : exec::code_events()) {
    if (!e.cached) seconds += std::chrono::duration<double>(e.end - e.begin).count();
  }
  return seconds;
}

/// Measures the time from the file to the first answer, and then requests one after the other.
Json measured(const TierRun& way, const RequestOptions& options, Common common) {
  common.tier = way.tier;
  const double begin = now();
  const Model model = load_model(way.file, common);
  const ValueSource source(model, common.run.seed, common.memory_limit());
  const double made = now();
  Requests requests = Requests::make(source, options);
  requests.preload();
  const auto inputs = requests.next();
  if (!inputs) fail(Code::bad_input, "--stream: it has no request");
  const double ready = now();
  Session session = open_session(model, common);
  std::vector<double> each;
  each.push_back(timed(session, requests, *inputs));
  const double answered = now() - ready + made - begin;
  requests.restart();
  const auto pass = [&] { timed_pass(session, requests, &each); };
  const auto passes = [&] {
    const double end = now() + kSeconds;
    const std::size_t most = each.size() + kMaxRequests;
    do pass();
    while (now() < end && each.size() < most);
  };
  passes();
  settle(pass);  // with a single core, nothing is compiled while requests occupy it
  const auto settled = static_cast<std::ptrdiff_t>(each.size());
  passes();
  const std::vector<double> steady(each.begin() + settled, each.end());
  double total = 0;
  for (const double s : steady) total += s;
  return Json{{"way", way.name},
              {"first_answer_ms", answered * 1e3},
              {"p50_ms", median(steady) * 1e3},
              {"p99_9_ms", percentile(each, 0.999) * 1e3},
              {"requests_per_s", static_cast<double>(steady.size()) / total},
              {"peak_mb", peak_megabytes()},
              {"compile_ms", compile_seconds() * 1e3},
              {"times", each}};
}

/// Returns the result of `work`, or its error as {"fault", "code"}.
Json outcome_of(const std::function<Json()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return {{"fault", error.what()}, {"code", static_cast<int>(error.code())}};
  } catch (const std::bad_alloc&) {
    return {{"fault", "out of memory"}, {"code", static_cast<int>(Code::out_of_memory)}};
  }
}

/// Runs `work` in a child process and returns its result. Precondition: this process has one thread.
Json in_child(const std::function<Json()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) fail(Code::limit, "no pipe: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) fail(Code::limit, "no process: {}", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    const std::string text = json_text(outcome_of(work));
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = ::write(ends[1], text.data() + at, text.size() - at);
      if (wrote <= 0) break;
      at += static_cast<std::size_t>(wrote);
    }
    std::_Exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 65536> part;
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fail(Code::internal, "a process that measures ended without a result");
  if (json.contains("fault")) {
    fail(static_cast<Code>(json.at("code").get<int>()), "{}", json.at("fault").get<std::string>());
  }
  return json;
}

// ---- the plot ----

/// The time since the first request and the duration of one, in milliseconds, for logarithmic axes.
struct Point {
  double at, took;
};

/// Returns the longest duration of each interval of requests, so that slow ones stay visible.
std::vector<Point> points_of(const std::vector<double>& times) {
  std::vector<Point> points;
  double at = 0;
  const std::size_t stretch = std::max<std::size_t>(1, times.size() / kPlotted);
  for (std::size_t i = 0; i < times.size(); i += stretch) {
    double most = 0;
    for (std::size_t k = i; k < std::min(i + stretch, times.size()); ++k)
      most = std::max(most, times[k]), at += times[k];
    points.push_back({at * 1e3, most * 1e3});
  }
  return points;
}

std::string svg_of(const std::vector<std::pair<TierRun, Json>>& rows) {
  constexpr double kWidth = 800, kHeight = 420, kLeft = 70, kTop = 20, kBottom = 50;
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  std::vector<std::vector<Point>> lines;
  for (const auto& [way, row] : rows) {
    lines.push_back(points_of(row.at("times").get<std::vector<double>>()));
    for (const Point& p : lines.back()) {
      least_x = std::min(least_x, p.at), most_x = std::max(most_x, p.at);
      least_y = std::min(least_y, p.took), most_y = std::max(most_y, p.took);
    }
  }
  const auto part = [](double v, double least, double most) {
    return most > least ? (std::log(v) - std::log(least)) / (std::log(most) - std::log(least)) : 0.5;
  };
  const auto x = [&](double v) { return kLeft + part(v, least_x, most_x) * (kWidth - kLeft - 20); };
  const auto y = [&](double v) { return kHeight - kBottom - part(v, least_y, most_y) * (kHeight - kBottom - kTop); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  const auto text = [&](double at_x, double at_y, const char* anchor, std::string_view what) {
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor, what);
  };
  for (const double v : {least_x, std::sqrt(least_x * most_x), most_x})
    text(x(v), kHeight - 30, "middle", fmt::format("{:.3g}", v));
  for (const double v : {least_y, std::sqrt(least_y * most_y), most_y})
    text(kLeft - 8, y(v), "end", fmt::format("{:.3g}", v));
  text(kWidth / 2, kHeight - 10, "middle", "ms since the first request (logarithmic)");
  text(8, 12, "start", "ms of a request (logarithmic; the slowest of each stretch)");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" points=\"", rows[i].first.colour);
    for (const Point& p : lines[i]) svg += fmt::format("{:.1f},{:.1f} ", x(p.at), y(p.took));
    svg += "\"/>\n";
    const double row = kTop + 16 + 16 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", kWidth - 120, row - 10,
                       rows[i].first.colour);
    text(kWidth - 104, row, "start", rows[i].first.name);
  }
  return svg + "</svg>\n";
}

void write_plot(const std::string& path, const std::string& svg) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << svg;
  file.close();
  if (!file) fail(Code::bad_input, "--plot {}: cannot be written", path);
}

double number(const Json& row, const char* field) { return row.at(field).get<double>(); }

void print_ways(const std::vector<std::pair<TierRun, Json>>& rows) {
  print_line(fmt::format("{:<8} {:>12} {:>10} {:>10} {:>12} {:>9} {:>11}", "way", "first answer", "p50", "p99.9",
                         "requests/s", "peak MB", "compiling"));
  for (const auto& entry : rows) {
    const Json& row = entry.second;
    print_line(fmt::format("{:<8} {:>9.3f} ms {:>7.4f} ms {:>7.4f} ms {:>12.1f} {:>9.1f} {:>8.1f} ms", entry.first.name,
                           number(row, "first_answer_ms"), number(row, "p50_ms"), number(row, "p99_9_ms"),
                           number(row, "requests_per_s"), number(row, "peak_mb"), number(row, "compile_ms")));
  }
}

}  // namespace

int compare_ways(const std::string& model, const RequestOptions& requests, const std::string& plot,
                 const Common& common) {
  std::string folder = (fs::temp_directory_path() / "frazil-ways-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    fail(Code::limit, "{}: the temporary folder cannot be made: {}", folder, std::strerror(errno));
  struct Removed {
    const std::string& folder;
    ~Removed() {
      std::error_code none;
      fs::remove_all(folder, none);
    }
  } removed{folder};
  const std::string package = (fs::path(folder) / "model.frzc").string();
  exec::CodeCache::instance().turn_off();  // compilation is part of the measurement
  const std::array ways{TierRun{"dynamic", "#1f77b4", model, "0"}, TierRun{"hybrid", "#2ca02c", model, "auto"},
                        TierRun{"static", "#d62728", package, "auto"}};
  const Json compiled = in_child([&]() -> Json {
    compile_model(model, package, requests, {}, common);
    return Json{{"compile_ms", compile_seconds() * 1e3}};
  });
  std::vector<std::pair<TierRun, Json>> rows;
  for (const TierRun& way : ways) {
    Json row = in_child([&] { return measured(way, requests, common); });
    if (way.file == package) row["compile_ms"] = compiled.at("compile_ms");
    rows.emplace_back(way, std::move(row));
  }
  if (!plot.empty()) write_plot(plot, svg_of(rows));
  if (!common.json) {
    print_ways(rows);
    return kDone;
  }
  Json all = Json::array();
  for (auto& [way, row] : rows) {
    row.erase("times");
    all.push_back(std::move(row));
  }
  print_json({{"ways", std::move(all)}});
  return kDone;
}

}  // namespace frazil::tool
