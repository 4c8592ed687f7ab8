#include "server/core/access_log.h"

#include <utility>

#include "server/core/json_text.h"

namespace frazil::server {
namespace {

/// Returns a text as one word without spaces and control characters.
std::string word_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.empty()) return "-";
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f && c != '\\') {
      word += c;
    } else {
      ((word += "\\x") += kDigits[byte / 16]) += kDigits[byte % 16];
    }
  }
  return word;
}

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::string json_line(const AccessRecord& record) {
  JsonText json;
  json.begin_object();
  json.member("time", text_of_time(record.time));
  json.member("peer", record.peer);
  if (!record.tenant.empty()) json.member("tenant", record.tenant);
  json.member("protocol", record.protocol);
  json.member("method", record.method);
  json.member("path", record.path);
  if (!record.model.empty()) json.member("model", record.model);
  json.member("status", record.status);
  json.member("bytes_in", record.bytes_in);
  json.member("bytes_out", record.bytes_out);
  json.member("seconds", seconds_of(record.duration));
  json.end_object();
  return json.take();
}

/// Appends the values after the time.
std::string with_values(std::string line, const AccessRecord& record) {
  for (const std::string_view text :
       {std::string_view(record.peer), std::string_view(record.tenant), record.protocol,
        std::string_view(record.method), std::string_view(record.path), std::string_view(record.model)}) {
    (line += ' ') += word_of(text);
  }
  append_number(line += ' ', record.status);
  append_number(line += ' ', record.bytes_in);
  append_number(line += ' ', record.bytes_out);
  append_number(line += ' ', seconds_of(record.duration));
  return line;
}

}  // namespace

std::string line_of(const AccessRecord& record, AccessFormat format) {
  return format == AccessFormat::json ? json_line(record) : with_values(text_of_time(record.time), record);
}

std::string log_line_of(const AccessRecord& record) {
  return with_values(text_of_time(record.time) + " verbose request:", record);
}

AccessLog::AccessLog(Options options) : options_(std::move(options)) {
  if (!options_.file.empty()) file_.emplace(options_.file, "--access-log");
}

void AccessLog::write(const AccessRecord& record) {
  if (file_) file_->write_line(line_of(record, options_.format));
  if (options_.settings->has_requests() && options_.to_log) options_.to_log(log_line_of(record));
}

void AccessEntry::begin(std::string_view protocol, std::string_view method, std::string_view path,
                        const std::function<std::string()>& peer) {
  record_.reset();
  if (log_ == nullptr || !log_->is_on()) return;
  begun_ = Clock::now();
  record_.emplace(AccessRecord{.time = std::chrono::system_clock::now(),
                               .peer = peer(),
                               .protocol = protocol,
                               .method = std::string(method),
                               .path = std::string(path)});
}

void AccessEntry::set_caller(const std::string& tenant, const std::string& model) {
  if (!record_) return;
  record_->tenant = tenant;
  record_->model = model;
}

void AccessEntry::set_model(std::string model) {
  if (record_) record_->model = std::move(model);
}

void AccessEntry::received(std::uint64_t bytes) {
  if (record_) record_->bytes_in += bytes;
}

void AccessEntry::sent(std::uint64_t bytes) {
  if (record_) record_->bytes_out += bytes;
}

void AccessEntry::end(unsigned status) {
  if (!record_) return;
  record_->status = status;
  record_->duration = Clock::now() - begun_;
  log_->write(*record_);
  record_.reset();
}

}  // namespace frazil::server
