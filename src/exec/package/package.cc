#include "exec/package/package.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/os/io.h"
#include "base/thread/mutex.h"
#include "base/value/sha256.h"
#include "code/weights/weight_store.h"
#include "exec/native/code_cache.h"
#include "exec/native/code_maker.h"
#include "exec/run/executable.h"
#include "ir/graph/model_info.h"
#include "ir/text/text.h"
#include "kernel/simd/isa.h"
#include "tensor/tensor.h"

// The layout: kMagic, the length of the index as 16 hexadecimal digits, the index's digest, the index, then the parts,
// each at a multiple of kPartAlignment. The index is JSON: {"version", "isa", "shapes", "choices", "graph": part,
// "weights": [{"name", "elem", "dims", "at": part}], "forms": [{"weight", "offset", "bytes", "format": json_of(), "at":
// part}], "code": [{"key": digest, "at": part}]}. A part is [offset, bytes], counted from the first part. Weights have
// no digest: reading them all would cost as much as mapping saves.

namespace frazil::exec {
namespace {

using Json = nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kMagic = "FRAZIL PACKAGE 4\n";
constexpr std::size_t kHead = kMagic.size() + 16 + 64;
constexpr std::size_t kPartAlignment = 4096;

std::size_t round_to_part(std::size_t n) { return (n + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

using Weights = std::map<std::string, Tensor, std::less<>>;

Result<Graph> graph_of(std::string_view text, const Weights& weights) {
  return parse(text, [&](std::string_view name) {
    const auto at = weights.find(name);
    return at == weights.end() ? Tensor() : at->second;
  });
}

/// Returns the zeros between the end of `bytes` bytes and the next multiple of kPartAlignment.
Bytes padding_behind(std::size_t bytes) {
  static const std::vector<std::byte> kZeros(kPartAlignment);
  return Bytes(kZeros).first(round_to_part(bytes) - bytes);
}

/// Returns {"kind": its name, and its fields}.
Json json_of(const code::PackFormat& format) {
  return std::visit(
      [](const auto& f) {
        Json json{{"kind", f.kName}};
        f.fields(f, [&]<class T>(const char* name, const T& value) {
          if constexpr (std::is_same_v<T, Elem>) {
            json[name] = name_of(value);
          } else {
            json[name] = value;
          }
        });
        return json;
      },
      format);
}

/// Returns the format that json_of() wrote; nullopt for any other text.
std::optional<code::PackFormat> format_of(const Json& json) {
  std::optional<code::PackFormat> format;
  const auto read = [&]<class F>(F f) {
    if (json.at("kind").get<std::string>() != F::kName) return;
    bool known = true;
    F::fields(f, [&]<class T>(const char* name, T& value) {
      if constexpr (std::is_same_v<T, Elem>) {
        const auto elem = elem_from_name(json.at(name).get<std::string>());
        known = elem.has_value();
        value = elem.value_or(value);
      } else {
        json.at(name).get_to(value);
      }
    });
    if (known) format = f;
  };
  read(code::PackedMatrices());
  read(code::PackedKernels());
  return format;
}

// ---- writing ----

/// The parts of a file. Their bytes must stay valid until the file is written.
class Parts {
 public:
  Json add(Bytes bytes) {
    const std::size_t at = end_;
    pieces_.push_back(bytes);
    pieces_.push_back(padding_behind(bytes.size()));
    end_ += round_to_part(bytes.size());
    return Json::array({at, bytes.size()});
  }
  const std::vector<Bytes>& pieces() const { return pieces_; }

 private:
  std::vector<Bytes> pieces_;
  std::size_t end_ = 0;
};

Json weights_json(const Weights& weights, Parts& parts, Json& forms) {
  Json list = Json::array();
  for (const auto& [name, tensor] : weights) {
    const Bytes bytes(tensor.data(), tensor.bytes());
    for (const code::PackedPart& form : code::WeightStore::global().forms_of(bytes)) {
      forms.push_back({{"weight", name},
                       {"offset", form.offset},
                       {"bytes", form.bytes},
                       {"format", json_of(form.format)},
                       {"at", parts.add({form.form->data(), form.form->bytes()})}});
    }
    list.push_back({{"name", name},
                    {"elem", name_of(tensor.elem())},
                    {"dims", std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
                    {"at", parts.add(bytes)}});
  }
  return list;
}

/// Returns a list of [none, [node, number, value]...].
Json choices_json(const std::vector<Choices>& all) {
  Json list = Json::array();
  for (const Choices& choices : all) {
    Json one = Json::array({Json(choices.none)});
    for (const auto& [key, value] : choices.by_key) one.push_back({key.stable, key.number, value});
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

bool is_package(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

PassSet passes_of_package(const Graph& graph) {
  if (!graph.assumptions().empty()) return {};
  PassSet set = PassSet::none();
  for (const pass::PassRow& row : pass::pass_list()) {
    if (row.pass && row.run == nullptr) set.off &= ~PassSet::without(*row.pass).off;
  }
  return set;
}

Result<Graph> graph_of_package(const Executable& model) {
  const Graph& graph = model.graph().assumptions().empty() ? *model.plan().graph : model.graph();
  return graph_of(print(graph), weights_of(graph));
}

Status write_package(const std::string& path, const Executable& executable, const std::vector<std::string>& shapes) {
  const Graph& graph = executable.graph();
  const auto weights = weights_of(graph);
  for (const auto& [name, tensor] : weights) {
    if (tensor.elem() == Elem::string)
      return fail(Code::unsupported, "weight '{}': a package cannot hold strings", name);
  }
  Parts parts;
  const std::string text = print(graph);
  Json index{{"version", code_version()},
             {"isa", name_of(kernel::features().isa)},
             {"shapes", shapes},
             {"choices", choices_json(executable.specialised())},
             {"graph", parts.add(bytes_of(text))},
             {"digest", sha256(bytes_of(text))},
             {"forms", Json::array()},
             {"code", Json::array()}};
  index["weights"] = weights_json(weights, parts, index["forms"]);
  const auto code = registered_code();
  for (const auto& [key, object] : code) {
    index["code"].push_back(
        {{"key", key}, {"digest", sha256(bytes_of(*object))}, {"at", parts.add(bytes_of(*object))}});
  }
  const std::string described = index.dump();
  const std::string head = fmt::format("{}{:016x}{}", kMagic, described.size(), sha256(bytes_of(described)));
  std::vector<Bytes> pieces{bytes_of(head), bytes_of(described)};
  pieces.push_back(padding_behind(head.size() + described.size()));
  pieces.insert(pieces.end(), parts.pieces().begin(), parts.pieces().end());
  return write_file(path, Pieces(pieces));
}

// ---- reading ----

namespace {

std::unexpected<Fault> damaged_package(std::string_view what) {
  return fail(Code::bad_input, "the package is damaged: {}", what);
}

/// The state that lives as long as the graph: the mapped file, the packed forms in it, and the choices to plan for on
/// loading.
struct Held {
  ModelInfo
      info;  ///< Graph::info of the package's graph and of all graphs derived from it; its address identifies them
  std::shared_ptr<const MappedFile> file;
  std::vector<std::shared_ptr<const code::PackedWeight>> forms;
  std::vector<Choices> choices;
};

/// The packages whose graphs are in use.
class OpenPackages {
 public:
  static OpenPackages& all() {
    static OpenPackages& packages = *new OpenPackages;
    return packages;
  }
  void add(const std::shared_ptr<Held>& held) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(held_, [](const auto& h) { return h.expired(); });
    held_.push_back(held);
  }
  /// Returns the choices of the package that the graph was read from or derived from.
  std::optional<std::vector<Choices>> choices_of(const Graph& graph) {
    const std::scoped_lock lock(mutex_);
    for (const auto& one : held_) {
      if (const auto held = one.lock(); held != nullptr && graph.info.get() == &held->info) return held->choices;
    }
    return std::nullopt;
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Held>> held_;
};

class Reader {
 public:
  explicit Reader(std::shared_ptr<const MappedFile> file) : held_(std::make_shared<Held>()) {
    held_->file = std::move(file);
    OpenPackages::all().add(held_);
  }

  Result<Package> read() try {
    FRAZIL_CHECK(read_index());
    FRAZIL_CHECK(check_machine());
    FRAZIL_CHECK(read_weights());
    FRAZIL_CHECK(read_forms());
    FRAZIL_CHECK(read_code());
    read_choices();
    FRAZIL_TRY(const Bytes text, part(index_.at("graph")));
    if (sha256(text) != index_.at("digest").get<std::string>()) return damaged_package("its graph");
    FRAZIL_TRY(Graph graph, graph_of(text_of(text), weights_));
    graph.info = std::shared_ptr<const ModelInfo>(held_, &held_->info);
    return Package{std::move(graph), index_.at("shapes").get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    return damaged_package(error.what());
  }

 private:
  Bytes file() const { return held_->file->bytes(); }

  Status read_index() {
    if (file().size() < kHead || !is_package(text_of(file().first(kHead)))) return damaged_package("its head");
    const std::string_view head = text_of(file().first(kHead));
    std::size_t size = 0;
    for (const char c : head.substr(kMagic.size(), 16)) {
      const auto digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return damaged_package("its head");
      size = size * 16 + digit;
    }
    if (size > file().size() - kHead) return damaged_package("it is cut off");
    const Bytes index = file().subspan(kHead, size);
    if (sha256(index) != head.substr(kMagic.size() + 16)) return damaged_package("its index");
    index_ = Json::parse(text_of(index));
    first_ = round_to_part(kHead + size);
    return {};
  }

  Status check_machine() const {
    const auto version = index_.at("version").get<std::string>(), isa = index_.at("isa").get<std::string>();
    if (version != code_version()) {
      return fail(Code::unsupported, "it was compiled by another version of Frazil; compile the model again");
    }
    if (isa != name_of(kernel::features().isa)) {
      return fail(Code::unsupported, "it was compiled for {}, and kernels here use {}; compile the model here", isa,
                  name_of(kernel::features().isa));
    }
    return {};
  }

  Result<Bytes> part(const Json& at) const {
    const auto offset = at.at(0).get<std::size_t>(), size = at.at(1).get<std::size_t>();
    const std::size_t all = first_ > file().size() ? 0 : file().size() - first_;
    if (offset > all || size > all - offset) return damaged_package("it is cut off");
    return file().subspan(first_ + offset, size);
  }

  Status read_weights() {
    for (const Json& w : index_.at("weights")) {
      FRAZIL_TRY(const Bytes bytes, part(w.at("at")));
      const auto elem = elem_from_name(w.at("elem").get<std::string>());
      if (!elem) return damaged_package("an element type");
      const auto dims = w.at("dims").get<std::vector<std::int64_t>>();
      FRAZIL_TRY(Tensor tensor, Tensor::over(*elem, Sizes(dims.begin(), dims.end()), Buffer::borrow(bytes, held_)));
      weights_.emplace(w.at("name").get<std::string>(), std::move(tensor));
    }
    return {};
  }

  Status read_forms() {
    for (const Json& f : index_.at("forms")) {
      const auto at = weights_.find(f.at("weight").get<std::string>());
      const auto offset = f.at("offset").get<std::size_t>(), size = f.at("bytes").get<std::size_t>();
      if (at == weights_.end() || offset > at->second.bytes() || size > at->second.bytes() - offset) {
        return damaged_package("a packed weight");
      }
      FRAZIL_TRY(const Bytes form, part(f.at("at")));
      const auto format = format_of(f.at("format"));
      if (!format) return damaged_package("a packed weight");
      const Tensor& t = at->second;
      const code::WeightRef weight{&t.buffer(), Bytes(t.data() + offset, size)};
      held_->forms.push_back(code::WeightStore::global().adopt(weight, *format, Buffer::borrow(form, held_->file)));
    }
    return {};
  }

  Status read_code() const {
    for (const Json& c : index_.at("code")) {
      FRAZIL_TRY(const Bytes object, part(c.at("at")));
      if (sha256(object) != c.at("digest").get<std::string>()) return damaged_package("its code");
      register_code(c.at("key").get<std::string>(), std::string(text_of(object)));
    }
    return {};
  }

  void read_choices() {
    for (const Json& one : index_.at("choices")) {
      Choices choices{.by_key = {}, .none = one.at(0).get<bool>()};
      for (std::size_t i = 1; i < one.size(); ++i) {
        const AssumptionKey key{one.at(i).at(0).get<std::uint32_t>(), one.at(i).at(1).get<std::uint32_t>()};
        choices.by_key[key] = one.at(i).at(2).get<std::int64_t>();
      }
      held_->choices.push_back(std::move(choices));
    }
  }

  std::shared_ptr<Held> held_;
  Json index_;
  std::size_t first_ = 0;
  Weights weights_;
};

}  // namespace

std::optional<std::vector<Choices>> packaged_choices(const Graph& graph) {
  return graph.info == nullptr ? std::nullopt : OpenPackages::all().choices_of(graph);
}

Result<Package> open_package(const std::string& path, const std::string& copies, const FileCheck& check) {
  FRAZIL_TRY(auto file, MappedFile::open(path, copies));
  if (check) {
    if (Status allowed = check(FileKind::package, path, file->bytes()); !allowed) {
      return within(path + ": ", std::move(allowed).error());
    }
  }
  auto package = Reader(std::move(file)).read();
  if (!package) return within(path + ": ", std::move(package).error());
  return package;
}

}  // namespace frazil::exec
