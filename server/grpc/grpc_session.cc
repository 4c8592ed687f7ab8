#include "server/grpc/grpc_session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <utility>

#include "server/grpc/grpc_framing.h"

namespace frazil::server {
namespace {

constexpr std::size_t kWriteBytes = 256 * 1024;   // of one write, plus one frame
constexpr std::size_t kHeaderOverhead = 32;       // per header field
constexpr std::size_t kMaxErrorTextBytes = 1024;  // in bytes
constexpr std::size_t kMaxReplies = 8;            // of a stream, before its next message waits
constexpr std::size_t kMaxConcurrent = 64;        // messages of a stream that are answered in parts
constexpr std::uint32_t kMaxStreams = 1024;       // concurrent streams
constexpr std::uint32_t kLargestFrame = 256 * 1024;
constexpr std::int32_t kStreamWindow = 1 << 20, kConnectionWindow = 16 << 20;
constexpr std::uint64_t kMessagesBuffered = 4;  // in messages of the largest size, per connection
constexpr std::size_t kSlice = 16 * 1024,
                      kCompressedSlice = 1024;  // received bytes between checks of the inflated size
constexpr std::uint64_t kInflatedAtOnce = 1 << 20;
constexpr std::uint64_t kResets = 1000, kResetsPerSecond = 200;

std::string_view text_from(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// ---- gRPC's headers ----

/// Returns true for a content type of gRPC, with or without a message format, but not for gRPC-Web.
bool is_grpc(std::string_view type) {
  constexpr std::string_view kType = "application/grpc";
  if (!type.starts_with(kType)) return false;
  type.remove_prefix(kType.size());
  return type.empty() || type.front() == '+' || type.front() == ';';
}

/// Parses the header grpc-timeout: up to eight digits and a unit.
std::optional<Clock::duration> timeout_from(std::string_view text) {
  constexpr std::size_t kMaxDigits = 8;
  using std::chrono::duration_cast;
  std::int64_t number = 0;
  if (text.size() < 2 || text.size() > kMaxDigits + 1) return std::nullopt;
  const char* const unit = text.data() + text.size() - 1;
  const auto parsed =
      std::from_chars(text.data(), unit, number);  // NOLINT(bugprone-suspicious-stringview-data-usage): with its end
  if (parsed.ec != std::errc() || parsed.ptr != unit || number < 0) return std::nullopt;
  switch (*unit) {
    case 'H': return std::chrono::hours(std::min<std::int64_t>(number, 100'000));
    case 'M': return std::chrono::minutes(std::min<std::int64_t>(number, 6'000'000));
    case 'S': return std::chrono::seconds(number);
    case 'm': return std::chrono::milliseconds(number);
    case 'u': return std::chrono::microseconds(number);
    case 'n': return std::chrono::nanoseconds(number);
    default: return std::nullopt;
  }
}

/// Encodes a text for the header grpc-message.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string to;
  for (const char c : text.substr(0, kMaxErrorTextBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      to += c;
    } else {
      ((to += '%') += kDigits[byte / 16]) += kDigits[byte % 16];
    }
  }
  return to;
}

/// The headers of an answer. Names and values must live until they are submitted.
class Headers {
 public:
  void add(std::string_view name, std::string_view value) {
    list_.push_back({.name = bytes(name),
                     .value = bytes(value),
                     .namelen = name.size(),
                     .valuelen = value.size(),
                     .flags = NGHTTP2_NV_FLAG_NONE});
  }
  const nghttp2_nv* data() const { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  static std::uint8_t* bytes(std::string_view text) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): nghttp2 does not write to it
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  }
  std::vector<nghttp2_nv> list_;
};

// ---- streams ----

/// The headers of a request that are used.
struct CallHead {
  std::string method, path, type, timeout, session, authorization, trace, encoding, host;
  std::optional<std::string> origin;
  std::size_t bytes = 0;

  void add(std::string_view name, std::string_view value) {
    bytes += name.size() + value.size() + kHeaderOverhead;
    if (bytes > kMaxHeaderBytes) return;
    if (name == ":method") method = value;
    if (name == ":path") path = value;
    if (name == "content-type") type = value;
    if (name == "grpc-timeout") timeout = value;
    if (name == "x-session-id") session = value;
    if (name == "authorization") authorization = value;
    if (name == "traceparent") trace = value;
    if (name == "grpc-encoding") encoding = value;
    if (name == ":authority") host = value;
    if (name == "origin") origin = value;
  }
};

/// Calls a function for one of nghttp2's callbacks, which must not throw.
template <class F>
int guarded(F f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

}  // namespace

/// One call of a method.
struct GrpcSession::Stream {
  std::int32_t id = 0;
  CallHead head;
  Grpc::Kind kind = Grpc::Kind::unary;
  Coding coding = Coding::none;  ///< compression of messages in both directions
  std::optional<Clock::time_point> deadline;
  Clock::time_point touched = Clock::now();  ///< time of the last progress

  bool open = false;   ///< messages are accepted
  bool ended = false;  ///< the client sends no more
  MessageReader reader;
  std::string held;  ///< bytes after the current message; they reduce the client's window
  std::size_t held_at = 0;
  /// A message that is being answered.
  struct ActiveMessage {
    std::shared_ptr<Caller> caller;  ///< null: no message
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };
  ActiveMessage active;                 ///< the current message; later ones wait for it
  std::vector<ActiveMessage> in_parts;  ///< earlier messages, which no message waits for

  SharedBytes watched;     ///< message of a method that streams its value; null: none
  std::string last_value;  ///< the value sent last
  AccessEntry entry;

  explicit Stream(AccessLog* access) : entry(access) {}
  bool head_sent = false;
  struct Message {
    SharedBytes bytes;
    bool compressed;
  };
  std::deque<Message> replies;
  std::size_t unsent = 0;        ///< bytes of messages in `replies`
  std::size_t sent = 0;          ///< sent bytes of the first reply, including its prefix
  std::optional<GrpcReply> end;  ///< status that follows the replies
  std::uint64_t buffered = 0;    ///< bytes of messages and replies

  void submit_head(nghttp2_session* session);
  void submit_trailers(nghttp2_session* session, bool alone) const;
  ssize_t next_frame(nghttp2_session* session, std::size_t most, std::uint32_t& flags) const;
  bool answering() const { return active.caller != nullptr || !in_parts.empty(); }
  bool idle() const { return !answering() && held.empty() && reader.empty() && replies.empty(); }
  /// Returns the message with this number, or null if it is not being answered.
  ActiveMessage* find(std::uint64_t number) {
    if (active.caller != nullptr && active.number == number) return &active;
    const auto at = std::ranges::find(in_parts, number, &ActiveMessage::number);
    return at == in_parts.end() ? nullptr : &*at;
  }
  /// Allows later messages to run before this one is answered.
  void unblock_others(ActiveMessage& one) {
    if (&one == &active) in_parts.push_back(std::exchange(active, {.number = active.number}));
  }
  void forget(ActiveMessage& one) {
    if (&one == &active) return void(active.caller = nullptr);
    in_parts.erase(in_parts.begin() + (&one - in_parts.data()));
  }
  /// Drops all replies but the first, which may be partly sent. Returns the number of dropped bytes.
  std::size_t drop_waiting() {
    std::size_t bytes = 0;
    for (; replies.size() > 1; replies.pop_back()) {
      unsent -= replies.back().bytes->size();
      bytes += replies.back().bytes->size() + kPrefix;
    }
    return bytes;
  }
  /// Makes all waiting callers leave.
  void leave() {
    if (active.caller != nullptr) std::exchange(active.caller, nullptr)->leave();
    for (const ActiveMessage& one : std::exchange(in_parts, {})) one.caller->leave();
  }
};

/// The callbacks of nghttp2. `user` is the session.
struct GrpcSession::Callbacks {
  static GrpcSession& of(void* user) { return *static_cast<GrpcSession*>(user); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return guarded([&] {
      if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return;
      auto stream = std::make_unique<Stream>(of(user).transport_.options.access);
      stream->id = frame->hd.stream_id;
      of(user).streams_.insert_or_assign(frame->hd.stream_id, std::move(stream));
    });
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    return guarded([&] {
      Stream* const stream = of(user).find(frame->hd.stream_id);
      if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return;
      stream->head.add(text_from(name, name_size), text_from(value, value_size));
    });
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return guarded([&] { of(user).frame_received(*frame); });
  }
  static int data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t size,
                  void* user) {
    return guarded([&] { of(user).data(id, text_from(bytes, size)); });
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return guarded([&] { of(user).frame_sent(*frame); });
  }
  static int closed(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    return guarded([&] { of(user).closed(id); });
  }
  static ssize_t read_reply(nghttp2_session* session, std::int32_t id, std::uint8_t*, std::size_t most,
                            std::uint32_t* flags, nghttp2_data_source*, void* user) {
    ssize_t size = 0;
    const int failed = guarded([&] {
      Stream* const stream = of(user).find(id);
      size = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      if (stream != nullptr) size = stream->next_frame(session, most, *flags);
    });
    return failed != 0 ? failed : size;
  }
  static int send_reply(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t size,
                        nghttp2_data_source*, void* user) {
    int result = 0;
    const int failed = guarded([&] {
      Stream* const stream = of(user).find(frame->hd.stream_id);
      if (stream == nullptr) result = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      if (stream != nullptr && !of(user).send_reply(*stream, head, size)) result = NGHTTP2_ERR_WOULDBLOCK;
    });
    return failed != 0 ? failed : result;
  }

  static const nghttp2_session_callbacks* all() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* made = nullptr;
      if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(made, header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, frame_received);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, data);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, frame_sent);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, closed);
      nghttp2_session_callbacks_set_send_data_callback(made, send_reply);
      return made;
    }();
    return callbacks;
  }
  static const nghttp2_option* options() {
    static nghttp2_option* const options = [] {
      nghttp2_option* made = nullptr;
      if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
      nghttp2_option_set_no_auto_window_update(made, 1);
      nghttp2_option_set_no_closed_streams(made, 1);
      nghttp2_option_set_stream_reset_rate_limit(made, kResets, kResetsPerSecond);
      return made;
    }();
    return options;
  }
};

GrpcSession::GrpcSession(Transport& transport, Service& service, Client client, DoneFor done_for)
    : transport_(transport),
      service_(service),
      grpc_(service),
      client_(std::move(client)),
      done_for_(std::move(done_for)),
      held_(transport, kMessagesBuffered * transport.options.max_bytes) {
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, Callbacks::all(), this, Callbacks::options()) != 0) throw std::bad_alloc();
  session_.reset(made);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
                                             {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kLargestFrame},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderBytes},
                                             {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

GrpcSession::~GrpcSession() { leave(); }

GrpcSession::Stream* GrpcSession::find(std::int32_t id) {
  const auto at = streams_.find(id);
  return at == streams_.end() ? nullptr : at->second.get();
}

std::optional<std::size_t> GrpcSession::receive(std::string_view bytes) {
  const std::size_t size = bytes.size();
  inflated_ = 0;
  while (!bytes.empty() && inflated_ < kInflatedAtOnce) {
    const std::string_view some = bytes.substr(0, compressed_ > 0 ? kCompressedSlice : kSlice);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(some.data());
    if (nghttp2_session_mem_recv(session_.get(), begin, some.size()) < 0) return std::nullopt;
    bytes.remove_prefix(some.size());
  }
  return size - bytes.size();
}

bool GrpcSession::fill(GrpcBatch& batch) {
  batch_ = &batch;
  ssize_t size = 1;
  while (batch.size() < kWriteBytes && size > 0) {
    const std::uint8_t* bytes = nullptr;
    size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size > 0) batch.add(text_from(bytes, static_cast<std::size_t>(size)));
  }
  batch_ = nullptr;
  return size >= 0;
}

void GrpcSession::frame_received(const nghttp2_frame& frame) {
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0, is_data = frame.hd.type == NGHTTP2_DATA;
  const bool is_ack = !is_data && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  const bool is_idle =
      is_data ? frame.hd.length == 0 && !ends
              : frame.hd.type == NGHTTP2_PING || frame.hd.type == NGHTTP2_SETTINGS || frame.hd.type == NGHTTP2_PRIORITY;
  if (is_idle && !is_ack && !idle_frames_.take()) {
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    return;
  }
  if (!is_data && frame.hd.type != NGHTTP2_HEADERS) return;
  Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr) return;
  stream->ended |= ends;
  if (!is_data && frame.headers.cat == NGHTTP2_HCAT_REQUEST) accept(*stream);
  if (ends) request_ended(*stream);
}

/// Resets a stream whose answer is complete while the client may still send.
void GrpcSession::frame_sent(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  const Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->ended) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
}

/// Writes only names of methods and models that the server knows, if values of requests may be personal.
void GrpcSession::begin_entry(Stream& stream) const {
  const CallHead& head = stream.head;
  if (service_.privacy() == nullptr) return stream.entry.begin("grpc", head.method, head.path, client_.address);
  const auto methods = Grpc::methods();
  const bool known = std::ranges::find(methods, head.path, &Grpc::Listed::name) != methods.end();
  stream.entry.begin("grpc", head.method == "POST" ? "POST" : "*", known ? head.path : "*", client_.address);
}

/// Called when the headers of a request are complete.
void GrpcSession::accept(Stream& stream) try {
  const CallHead& head = stream.head;
  stream.open = true;
  begin_entry(stream);
  if (head.bytes > kMaxHeaderBytes) {
    throw Refusal(Http::too_large, "the headers have more than " + std::to_string(kMaxHeaderBytes) + " bytes");
  }
  if (head.method != "POST") return refuse(stream, "405");
  if (!is_grpc(head.type)) return refuse(stream, "415");
  const auto coding = coding_from(head.encoding);
  if (!coding) throw Refusal(Http::unsupported, "header grpc-encoding: expected one of " + std::string(kCodings));
  stream.coding = *coding;
  if (stream.coding != Coding::none) ++compressed_;
  stream.kind = Grpc::kind_of(head.path);
  if (!head.timeout.empty()) {
    const auto timeout = timeout_from(head.timeout);
    if (!timeout) {
      throw Refusal(Http::bad_request, "header grpc-timeout: expected up to eight digits and one of H, M, S, m, u, n");
    }
    stream.deadline = Clock::now() + *timeout;
  }
  const Grpc::Admitted admitted = grpc_.admit({.method = head.path,
                                               .by = {.authorization = head.authorization,
                                                      .certificate = client_.names,
                                                      .host = head.host,
                                                      .origin = head.origin},
                                               .deadline = stream.deadline});
  stream.entry.set_caller(admitted.identity.name(), "");
  if (admitted.refusal) return finish(stream, reply_of(*admitted.refusal));
  if (stream.kind != Grpc::Kind::unary) stream.submit_head(session_.get());
} catch (const Refusal& refusal) {
  finish(stream, reply_of(refusal));
}

void GrpcSession::data(std::int32_t id, std::string_view bytes) {
  Stream* const stream = find(id);
  if (stream == nullptr || !stream->open) {
    nghttp2_session_consume(session_.get(), id, bytes.size());
    return;
  }
  stream->touched = Clock::now();
  held_.add(stream->buffered, static_cast<std::int64_t>(bytes.size()));
  if (const auto refusal = held_.refusal()) {
    nghttp2_session_consume(session_.get(), id, bytes.size());
    return finish(*stream, reply_of(*refusal));
  }
  if (!stream->held.empty()) return void(stream->held += bytes);
  const std::size_t taken = take(*stream, bytes);
  nghttp2_session_consume(session_.get(), id, taken);
  if (taken < bytes.size() && stream->open) stream->held = bytes.substr(taken);
}

/// Takes bytes up to the end of a message and accounts for the inflated bytes.
void GrpcSession::take_some(Stream& stream, std::string_view& bytes) {
  const std::size_t before = stream.reader.bytes() + bytes.size();
  stream.reader.take(bytes, stream.coding, transport_.options.max_bytes);
  const std::size_t now = stream.reader.bytes() + bytes.size();
  if (now != before) {  // compressed
    inflated_ += now - std::min(now, before);
    held_.add(stream.buffered, static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before));
    if (const auto refusal = held_.refusal()) throw Refusal(*refusal);
  }
  if (const auto refusal = transport_.over_memory_limit(stream.reader.missing())) throw Refusal(*refusal);
}

/// Takes messages as long as they may run. Returns the number of consumed bytes.
std::size_t GrpcSession::take(Stream& stream, std::string_view bytes) try {
  const std::size_t size = bytes.size();
  const auto has_room = [&] {
    return stream.active.caller == nullptr && stream.in_parts.size() < kMaxConcurrent &&
           stream.replies.size() < kMaxReplies;
  };
  while (!bytes.empty() && stream.open && has_room()) {
    if (stream.reader.complete()) throw Refusal(Http::bad_request, "the request has more than one message");
    take_some(stream, bytes);
    if (stream.kind == Grpc::Kind::streaming && stream.reader.complete()) run(stream);
  }
  return stream.open ? size - bytes.size() : size;
} catch (const Refusal& refusal) {
  const std::size_t size = bytes.size();
  finish(stream, reply_of(refusal));
  return size;
}

void GrpcSession::request_ended(Stream& stream) {
  if (!stream.open) return;
  if (stream.kind == Grpc::Kind::streaming) return next(stream);
  if (stream.reader.complete()) {
    return stream.kind == Grpc::Kind::watching ? watch(stream, stream.reader.release()) : run(stream);
  }
  const char* const text = stream.reader.empty() ? "the request has no message" : "the message is cut off";
  finish(stream, reply_of({Http::bad_request, text}));
}

/// Continues a stream of messages: takes held bytes or finishes the stream.
void GrpcSession::next(Stream& stream) {
  if (!stream.open || stream.kind != Grpc::Kind::streaming) return;
  if (!stream.held.empty()) {
    const std::size_t taken = take(stream, std::string_view(stream.held).substr(stream.held_at));
    if (!stream.open) return;
    nghttp2_session_consume(session_.get(), stream.id, taken);
    stream.held_at += taken;
    if (stream.held_at == stream.held.size()) {
      stream.held.clear();
      stream.held_at = 0;
    }
  }
  if (stream.answering() || !stream.held.empty()) return;
  if (stream.ended && !stream.reader.empty()) {
    return finish(stream, reply_of({Http::bad_request, "the message is cut off"}));
  }
  if (stream.ended) return finish(stream, {});
  if (ending_ && stream.idle()) finish(stream, reply_of({Http::unavailable, "the server is ending"}));
}

/// Sends the value of a watched message if it has changed. `message`: begins to watch; null: of a stream that does.
void GrpcSession::watch(Stream& stream, SharedBytes message) try {
  if (message != nullptr) stream.watched = std::move(message);
  if (stream.watched == nullptr || !stream.open) return;
  std::string value = grpc_.value_of(stream.head.path, *stream.watched);
  if (stream.last_value != value) {
    stream.last_value = value;
    add(stream, {.bytes = std::move(value), .more = true});
    nghttp2_session_resume_data(session_.get(), stream.id);
  }
  if (ending_) finish(stream, reply_of({Http::unavailable, "the server is ending"}));
} catch (const Refusal& refusal) {
  finish(stream, reply_of(refusal));
}

void GrpcSession::run(Stream& stream) {
  auto message = stream.reader.release();
  stream.entry.received(message->size());
  if (stream.entry.is_on()) {
    std::string model = Grpc::model_in(stream.head.path, *message);
    if (service_.privacy() == nullptr || service_.repository()->has_model(model))
      stream.entry.set_model(std::move(model));
  }
  const std::uint64_t number = stream.active.number + 1;
  stream.active = {.caller = std::make_shared<Caller>(), .number = number, .bytes = message->size() + kPrefix};
  grpc_.answer({.method = stream.head.path,
                .message = std::move(message),
                .caller = stream.active.caller,
                .arrived = Clock::now(),
                .deadline = stream.deadline,
                .authorization = stream.head.authorization,
                .host = stream.head.host,
                .trace = stream.head.trace,
                .origin = stream.head.origin,
                .certificate = client_.names,
                .session = stream.head.session,
                .inline_slot = transport_.inline_slot_for(stream.active.bytes)},
               done_for_({.stream = stream.id, .number = number, .coding = stream.coding}));
}

void GrpcSession::answered(const MessageId& to, GrpcReply reply) {
  Stream* const stream = find(to.stream);
  Stream::ActiveMessage* const asked = stream == nullptr ? nullptr : stream->find(to.number);
  if (asked == nullptr) return;
  stream->touched = Clock::now();
  if (reply.more) {
    asked->caller->sent(reply.bytes.size());
    stream->unblock_others(*asked);
  } else {
    held_.add(stream->buffered, -static_cast<std::int64_t>(asked->bytes));
    stream->forget(*asked);
  }
  if (reply.code != GrpcCode::ok) return finish(*stream, std::move(reply));
  add(*stream, std::move(reply));
  if (stream->kind == Grpc::Kind::unary) return finish(*stream, {});
  nghttp2_session_resume_data(session_.get(), to.stream);
  next(*stream);
}

/// Queues a reply. If the client does not read parts fast enough, drops waiting ones and ends the call.
void GrpcSession::add(Stream& stream, GrpcReply reply) {
  if (reply.more && reply.bytes.empty()) return;
  const bool slow = stream.unsent > 0 && stream.unsent + reply.bytes.size() > Caller::kMaxInFlight;
  if (reply.more && (slow || held_.over_limit())) {
    held_.add(stream.buffered, -static_cast<std::int64_t>(stream.drop_waiting()));
    const std::uint64_t most = slow ? Caller::kMaxInFlight : held_.most();
    return finish(stream, reply_of({Http::too_many, "the client does not read: parts of more than " +
                                                        std::to_string(most) + " bytes wait"}));
  }
  stream.unsent += reply.bytes.size();
  stream.entry.sent(reply.bytes.size());
  held_.add(stream.buffered, static_cast<std::int64_t>(reply.bytes.size() + kPrefix));
  stream.replies.push_back(
      {.bytes = std::make_shared<const std::string>(std::move(reply.bytes)), .compressed = reply.compressed});
}

/// Sets the status of a call, which is sent after its replies.
void GrpcSession::finish(Stream& stream, GrpcReply status) {
  if (stream.end) return;
  const bool failed = status.code != GrpcCode::ok;
  if (!status.plain.empty() && service_.privacy() != nullptr) status.text = std::move(status.plain);
  service_.traffic().answered(Protocol::grpc, static_cast<unsigned>(status.code),
                              failed ? std::string_view(status.text) : std::string_view());
  stream.entry.end(static_cast<unsigned>(status.code));
  stream.open = false;
  stream.end = std::move(status);
  stream.leave();
  nghttp2_session_consume_connection(session_.get(), stream.held.size() - stream.held_at);
  stream.held = {};
  stream.reader = {};
  if (stream.head_sent) {
    nghttp2_session_resume_data(session_.get(), stream.id);
  } else if (stream.replies.empty()) {
    stream.submit_trailers(session_.get(), true);
  } else {
    stream.submit_head(session_.get());
  }
}

/// Answers a request that is not a gRPC request.
void GrpcSession::refuse(Stream& stream, const char* http_status) {
  stream.open = false;
  stream.end = GrpcReply();
  stream.entry.end(static_cast<unsigned>(GrpcCode::unimplemented));
  Headers headers;
  headers.add(":status", http_status);
  if (stream.head.method != "POST") headers.add("allow", "POST");
  nghttp2_submit_response(session_.get(), stream.id, headers.data(), headers.size(), nullptr);
}

/// Begins an answer with replies.
void GrpcSession::Stream::submit_head(nghttp2_session* session) {
  head_sent = true;
  Headers headers;
  headers.add(":status", "200");
  headers.add("content-type", "application/grpc");
  headers.add("grpc-accept-encoding", kCodings);
  if (coding != Coding::none) headers.add("grpc-encoding", name_of(coding));
  const nghttp2_data_provider source = {.source = {}, .read_callback = Callbacks::read_reply};
  nghttp2_submit_response(session, id, headers.data(), headers.size(), &source);
}

/// Sends the status, after replies or as the whole answer.
void GrpcSession::Stream::submit_trailers(nghttp2_session* session, bool alone) const {
  const std::string code = std::to_string(static_cast<unsigned>(end->code));
  const std::string text = percent_encoded(end->text);
  Headers headers;
  if (alone) {
    headers.add(":status", "200");
    headers.add("content-type", "application/grpc");
    headers.add("grpc-accept-encoding", kCodings);
  }
  headers.add("grpc-status", code);
  if (!text.empty()) headers.add("grpc-message", text);
  if (alone) {
    nghttp2_submit_response(session, id, headers.data(), headers.size(), nullptr);
  } else {
    nghttp2_submit_trailer(session, id, headers.data(), headers.size());
  }
}

/// Returns the number of reply bytes in the stream's next frame and sets the flags of the last frame.
ssize_t GrpcSession::Stream::next_frame(nghttp2_session* session, std::size_t most, std::uint32_t& flags) const {
  std::size_t size = 0;
  if (!replies.empty()) {
    size = std::min(most, kPrefix + replies.front().bytes->size() - sent);
    flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  }
  const bool is_last_reply = replies.size() <= 1;
  const bool is_last = is_last_reply && (size == 0 || kPrefix + replies.front().bytes->size() == sent + size);
  if (is_last && end) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    submit_trailers(session, false);
  } else if (size == 0) {
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(size);
}

/// Returns false if the batch is full; nghttp2 then retries after the batch was written.
bool GrpcSession::send_reply(Stream& stream, const std::uint8_t* frame_head, std::size_t size) {
  constexpr std::size_t kFrameHead = 9;
  if (batch_->size() >= kWriteBytes) return false;
  batch_->add(text_from(frame_head, kFrameHead));
  const auto& [reply, compressed] = stream.replies.front();
  if (stream.sent < kPrefix) {
    const auto prefix = prefix_of(reply->size(), compressed);
    const std::size_t of_prefix = std::min(size, kPrefix - stream.sent);
    batch_->add(std::string_view(prefix.data() + stream.sent, of_prefix));
    stream.sent += of_prefix;
    size -= of_prefix;
  }
  if (size > 0) batch_->add(reply, stream.sent - kPrefix, size);  // a frame may end inside of the prefix
  stream.sent += size;
  stream.touched = Clock::now();
  if (stream.sent < kPrefix + reply->size()) return true;
  held_.add(stream.buffered, -static_cast<std::int64_t>(stream.sent));
  stream.unsent -= reply->size();
  stream.replies.pop_front();
  stream.sent = 0;
  next(stream);
  return true;
}

void GrpcSession::closed(std::int32_t id) {
  Stream* const stream = find(id);
  if (stream == nullptr) return;
  stream->leave();
  stream->entry.end(static_cast<unsigned>(GrpcCode::cancelled));  // unless it has ended
  nghttp2_session_consume_connection(session_.get(), stream->held.size() - stream->held_at);
  held_.add(stream->buffered, -static_cast<std::int64_t>(stream->buffered));
  if (stream->coding != Coding::none) --compressed_;
  streams_.erase(id);
}

void GrpcSession::end() {
  if (std::exchange(ending_, true)) return;
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_.get());
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
  for (const auto& [id, stream] : streams_) {
    next(*stream);
    watch(*stream, nullptr);
  }
}

void GrpcSession::leave() {
  for (const auto& [id, stream] : streams_) stream->leave();
}

void GrpcSession::check(Clock::duration patience) {
  const auto now = Clock::now();
  for (const auto& [id, kept] : streams_) {
    Stream& stream = *kept;
    const bool streaming = stream.open && (stream.kind == Grpc::Kind::streaming || stream.watched != nullptr);
    watch(stream, nullptr);
    if (streaming && stream.deadline && now > *stream.deadline) {
      finish(stream, reply_of({Http::timeout, "the time-out has passed"}));
    } else if (!stream.answering() && now - stream.touched > patience && !(streaming && stream.idle())) {
      if (stream.head_sent || stream.end) {
        nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
      } else {
        finish(stream, reply_of({Http::timeout, "the request was not complete in time"}));
      }
      stream.touched = now;
    }
  }
}

}  // namespace frazil::server
