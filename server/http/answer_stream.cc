#include "server/http/answer_stream.h"

#include <charconv>
#include <iterator>
#include <utility>

#include "server/http/http_head.h"

namespace frazil::server {

AnswerStream::AnswerStream(Form form, std::shared_ptr<Caller> caller, Write write, Ended over)
    : form_(form), caller_(std::move(caller)), write_(std::move(write)), over_(std::move(over)) {}

void AnswerStream::add(const Reply& reply) {
  if (!std::exchange(begun_, true)) {
    waiting_ += head_of(reply, {.keep_alive = form_.keep_alive, .http_1_0 = !form_.chunked, .length = std::nullopt});
  }
  append(reply.body);
  if (reply.more) parts_waiting_ += reply.body.size();
  last_ = !reply.more;
  if (last_ && form_.chunked) waiting_ += "0\r\n\r\n";
  if (!busy_) flush();
}

void AnswerStream::append(std::string_view part) {
  if (part.empty()) return;  // an empty chunk would end the answer
  if (!form_.chunked) return void(waiting_ += part);
  char size[16];
  const auto end = std::to_chars(std::begin(size), std::end(size), part.size(), 16).ptr;
  waiting_.append(size, static_cast<std::size_t>(end - size));
  ((waiting_ += "\r\n") += part) += "\r\n";
}

void AnswerStream::flush() {
  std::swap(writing_, waiting_);
  waiting_.clear();
  parts_writing_ = std::exchange(parts_waiting_, 0);
  busy_ = true;
  write_(writing_, [this](bool good) { written(good); });
}

void AnswerStream::written(bool good) {
  busy_ = false;
  caller_->sent(parts_writing_);
  if (good && !waiting_.empty()) return flush();
  if (!good) caller_->leave();
  const Ended over = over_;  // a copy, as the object may be destroyed
  if (!good || last_) over(good);
}

}  // namespace frazil::server
