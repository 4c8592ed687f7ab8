#include <charconv>
#include <chrono>

#include "python/src/docs.h"
#include "python/src/dtypes.h"
#include "python/src/log.h"
#include "python/src/policy.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

using Lease = SessionPool::Lease;

/// A model with the pool of sessions of its calls.
class ModelObject {
 public:
  ModelObject(const Model& model, const PoolOptions& options)
      : model_(model.with_pool(options)), pool_(model_.pool()), options_(options) {
    refresh_log();
  }

  ModelObject(ModelObject&&) = default;
  ModelObject(const ModelObject&) = delete;
  ModelObject& operator=(const ModelObject&) = delete;
  ~ModelObject() = default;

  const Model& model() const { return model_; }
  const Options& options() const { return options_.session; }
  const PoolOptions& pool_options() const { return options_; }

  py::object run(const py::object& inputs, const py::object& feeds, const py::object& out) {
    const Lease lease = acquire(nullptr);
    return Worker(*lease, signature_).run({inputs, feeds}, out);
  }
  py::object run_until(RunToken& token, const py::object& inputs, const py::object& feeds, const py::object& out) {
    const Lease lease = acquire(&token);
    return Worker(*lease, signature_).run({inputs, feeds}, out, &token);
  }
  py::object call(const py::args& args, const py::kwargs& kwargs) {
    const Lease lease = acquire(nullptr);
    return Worker(*lease, signature_).call(args, kwargs);
  }
  SessionPool::Counts counts() const { return pool_.counts(); }
  void trim() { pool_.drop_idle(); }

 private:
  /// Waits for a session without the interpreter's lock, until Ctrl-C, a cancellation or the deadline. `token` may be
  /// null.
  Lease acquire(const RunToken* token) {
    if (!signature_) signature_ = std::make_shared<Signature>(model_);
    auto lease = pool_.try_acquire_idle();
    const auto since = std::chrono::steady_clock::now();
    while (!lease) {
      lease = unlocked([&] { return pool_.acquire_until(std::chrono::steady_clock::now() + kBetweenChecks); });
      if (lease) break;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (token != nullptr && token->cancelled()) throw Error(Code::cancelled, "the run was cancelled before it began");
      const auto waited = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since);
      if (options_.session.deadline_ms && waited.count() >= *options_.session.deadline_ms) {
        throw Error(Code::limit, "the deadline passed while the run waited for a session of the pool");
      }
    }
    return std::move(*lease);
  }

  static constexpr std::chrono::milliseconds kBetweenChecks{50};
  Model model_;
  SessionPool pool_;
  PoolOptions options_;
  std::shared_ptr<const Signature> signature_;  ///< null before the first call
};

// ---- metadata ----

/// Returns a text of a file, in which bytes that are not UTF-8 are replaced.
py::str text_of(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

template <std::string Metadata::* Member>
py::str text(const Metadata& data) {
  return text_of(data.*Member);
}

void bind_metadata(py::module_& m) {
  py::class_<Metadata>(m, "Metadata", "What a model file says about the model: Model.metadata.")
      .def_property_readonly("producer", &text<&Metadata::producer>)
      .def_property_readonly("producer_version", &text<&Metadata::producer_version>)
      .def_property_readonly("domain", &text<&Metadata::domain>)
      .def_property_readonly("description", &text<&Metadata::description>, "doc_string of the model")
      .def_property_readonly("graph_name", &text<&Metadata::graph_name>)
      .def_property_readonly("graph_description", &text<&Metadata::graph_description>, "doc_string of the graph")
      .def_readonly("model_version", &Metadata::model_version)
      .def_readonly("ir_version", &Metadata::ir_version)
      .def_property_readonly(
          "opsets",
          [](const Metadata& data) {
            py::dict opsets;
            for (const auto& [domain, version] : data.opsets) opsets[text_of(domain)] = version;
            return opsets;
          },
          "versions by domain; the domain ai.onnx is ''")
      .def_property_readonly(
          "properties",
          [](const Metadata& data) {
            py::dict properties;
            for (const auto& [key, value] : data.properties) properties[text_of(key)] = text_of(value);
            return properties;
          },
          "the custom metadata, a dict of texts")
      .def("__repr__", [](const Metadata& data) {
        return "Metadata(producer=" + py::repr(text_of(data.producer)).cast<std::string>() +
               ", graph_name=" + py::repr(text_of(data.graph_name)).cast<std::string>() +
               ", model_version=" + std::to_string(data.model_version) + ")";
      });
}

// ---- ports ----

py::object shape_of(const Port& port) {
  if (port.kind != Array::Kind::tensor || !port.ranked) return py::none();
  return extents_object(port.dims);
}

/// Returns the extents in the file: numbers, texts and None.
py::object declared_by(const Port& port) {
  if (!port.declared) return py::none();
  py::tuple declared(port.declared->size());
  for (std::size_t axis = 0; axis < declared.size(); ++axis) {
    const std::string& dim = (*port.declared)[axis];
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    const bool is_number = error == std::errc() && end == dim.data() + dim.size();
    if (is_number)
      declared[axis] = number;
    else if (dim.empty())
      declared[axis] = py::none();
    else
      declared[axis] = text_of(dim);
  }
  return declared;
}

py::object dtype_of_port(const Port& port) {
  return port.kind == Array::Kind::tensor ? object_of(port.dtype) : py::object(py::none());
}

std::string repr_of(const Port& port) {
  std::string text = "Port(" + py::repr(py::str(port.name)).cast<std::string>() + ", '" + port.type + "'";
  if (port.optional) text += ", optional=True";
  return text + ")";
}

void bind_ports(py::module_& m) {
  py::class_<Port>(m, "Port", "An input or output of a model.")
      .def_readonly("name", &Port::name, "The name.")
      .def_readonly("type", &Port::type,
                    "The type as text: 'f32[N,3]', 'seq<i64[...]>'. An extent of more than 24 characters is '?'.")
      .def_readonly("full_type", &Port::full_type, "The type with the whole text of each extent.")
      .def_property_readonly(
          "extents", [](const Port& port) { return py::tuple(py::cast(port.extents)); },
          "A tuple of the constant extents, -1 for others. Their texts are in shape.")
      .def_property_readonly(
          "kind",
          [](const Port& port) {
            constexpr const char* names[] = {"none", "tensor", "sequence", "map"};
            return names[static_cast<int>(port.kind)];
          },
          "'tensor', 'sequence' or 'map'")
      .def_property_readonly("dtype", &dtype_of_port, "The element type, a frazil.DType; None unless it is a tensor.")
      .def_property_readonly(
          "shape", &shape_of,
          "a tuple of numbers, and of texts for extents that runs decide: (\"N\", 3); None where the "
          "rank is unknown")
      .def_property_readonly(
          "declared", &declared_by,
          "The extents as the file declares them: a tuple of numbers, texts, and None for extents without either; "
          "None if the file declares no shape, or the model is not from a file.")
      .def_readonly("optional", &Port::optional, "Whether it may be left out.")
      .def("__repr__", &repr_of);
}

// ---- loading ----

template <class T>
void take(const py::kwargs& keywords, const char* name, T& to) {
  if (!keywords.contains(name)) return;
  try {
    to = keywords[name].cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(std::string("option '") + name + "': " + py::repr(keywords[name]).cast<std::string>() +
                         " does not fit");
  }
  if (PyDict_DelItemString(keywords.ptr(), name) != 0) throw py::error_already_set();
}

/// The contiguous bytes of an object.
class Bytes {
 public:
  explicit Bytes(const py::buffer& of) {
    if (PyObject_GetBuffer(of.ptr(), &view_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> span() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

struct Loading {
  LoadOptions load;
  Options run;
  std::vector<std::unique_ptr<Bytes>> files;  ///< what `load.files` refers to
};

/// Takes the dict of external data in memory.
void take_files(const py::kwargs& keywords, Loading& loading) {
  std::map<std::string, py::buffer> files;
  take(keywords, "files", files);
  for (const auto& [location, bytes] : files) {
    loading.files.push_back(std::make_unique<Bytes>(bytes));
    loading.load.files[location] = loading.files.back()->span();
  }
}

/// Takes the options of loading from `keywords`. The remaining ones are options of runs.
Loading options_of(const py::kwargs& keywords) {
  Loading loading;
  take(keywords, "fix_defaults", loading.load.fix_defaults);
  take(keywords, "load_memory_limit", loading.load.memory_limit);
  py::object policy = py::none();
  take(keywords, "policy", policy);
  loading.load.policy = policy_of(policy);
  take(keywords, "max_nodes", loading.load.max_nodes);
  take(keywords, "max_nesting", loading.load.max_nesting);
  take(keywords, "max_name_bytes", loading.load.max_name_bytes);
  take(keywords, "load_deadline_ms", loading.load.deadline_ms);
  take(keywords, "lenient", loading.load.lenient);
  take(keywords, "extents", loading.load.extents);
  take(keywords, "denoted_extents", loading.load.denoted_extents);
  take_files(keywords, loading);
  set_options(loading.run, keywords);
  loading.load.max_elements = loading.run.max_elements;
  return loading;
}

template <class F>
ModelObject loaded(const py::kwargs& keywords, F&& load) {
  const Loading options = options_of(keywords);
  Model model = [&] {
    const Unlocked unlocked;
    return load(options.load);
  }();
  flush_log();  // the caller sees the warnings of the load before its result
  return {model, PoolOptions{.session = options.run}};
}

void bind_loading(py::module_& m) {
  m.def("load", [](const std::string& path, const py::kwargs& keywords) {
    return loaded(keywords, [&](const LoadOptions& options) { return Model::load(path, options); });
  });
  m.def("from_bytes", [](const py::buffer& bytes, const py::kwargs& keywords) {
    const Bytes held(bytes);
    const std::span<const std::byte> span = held.span();
    return loaded(keywords, [&](const LoadOptions& options) { return Model::from_bytes(span, options); });
  });
  m.def("from_text", [](const std::string& text, const py::dict& weights, const py::kwargs& keywords) {
    std::map<std::string, Array> arrays;
    for (const auto [name, value] : weights) {
      const auto key = name.cast<std::string>();
      Array array = array_of(value, {"weight '" + key + "'", Array::Kind::tensor, {}, {}});
      arrays.emplace(key, copied(std::move(array)));
    }
    return loaded(keywords, [&](const LoadOptions& options) { return Model::from_text(text, arrays, options); });
  });
}

py::dict weights_of(const ModelObject& m) {
  py::dict weights;
  for (const auto& [name, array] : m.model().weights()) weights[py::str(name)] = object_of(array);
  return weights;
}

}  // namespace

void bind_models(py::module_& m) {
  bind_ports(m);
  bind_metadata(m);
  py::class_<SessionPool::Counts>(m, "PoolCounts", "The state of a model's pool of sessions: Model.pool.")
      .def_readonly("sessions", &SessionPool::Counts::sessions, "idle or in use")
      .def_readonly("idle", &SessionPool::Counts::idle)
      .def_readonly("waiting", &SessionPool::Counts::waiting, "calls that wait for a session")
      .def_readonly("held_bytes", &SessionPool::Counts::held_bytes)
      .def_readonly("opened", &SessionPool::Counts::opened, "sessions opened so far");
  py::class_<RunToken>(m, "RunToken").def(py::init()).def("cancel", &RunToken::cancel);
  py::class_<ModelObject>(m, "Model")
      .def(py::init([](const ModelObject& other) { return ModelObject(other.model(), other.pool_options()); }))
      .def(py::init([](const ModelObject& other, const Options& options) {
        PoolOptions pool = other.pool_options();
        pool.session = options;
        return ModelObject(other.model(), pool);
      }))
      .def(py::init([](const Model& model, const Options& options) {
        return ModelObject(model, PoolOptions{.session = options});
      }))
      .def(py::init(
          [](const ModelObject& other, std::optional<std::size_t> sessions, std::optional<std::uint64_t> bytes) {
            return ModelObject(other.model(), {other.options(), sessions, bytes});
          }))
      .def("run", &ModelObject::run, py::arg("inputs") = py::dict(), py::arg("feeds") = py::none(), py::kw_only(),
           py::arg("out") = py::none(), docs::kModelRun)
      .def("_run_until", &ModelObject::run_until)
      .def("__call__", &ModelObject::call,
           "__call__(self, *args, **kwargs)\n--\n\nRuns the model on inputs by position or keyword. Returns the "
           "output, or a tuple of several; see run().")
      .def("trim", &ModelObject::trim, "trim(self)\n--\n\nFrees the sessions that calls keep for later ones.")
      .def_property_readonly(
          "name", [](const ModelObject& of) { return of.model().name(); }, "The name of the graph.")
      .def_property_readonly(
          "inputs", [](const ModelObject& of) { return py::tuple(py::cast(of.model().inputs())); },
          "The inputs, as a tuple of Port.")
      .def_property_readonly(
          "outputs", [](const ModelObject& of) { return py::tuple(py::cast(of.model().outputs())); },
          "The outputs, as a tuple of Port.")
      .def_property_readonly(
          "options", [](const ModelObject& of) { return Options(of.options()); }, "The options of its calls.")
      .def_property_readonly(
          "operators", [](const ModelObject& of) { return of.model().operators(); }, "The operators used, sorted.")
      .def_property_readonly("_handle", [](const ModelObject& of) { return Model(of.model()); })
      .def_property_readonly("_idle_sessions", [](const ModelObject& of) { return of.counts().idle; })
      .def_property_readonly(
          "pool", [](const ModelObject& of) { return of.counts(); }, "The counts of the pool of sessions.")
      .def_property_readonly(
          "metadata", [](const ModelObject& of) { return of.model().metadata(); }, "What the file says: a Metadata.")
      .def("_save", [](const ModelObject& of, const std::string& path, std::optional<std::int64_t> opset,
                       std::uint64_t bytes) { unlocked([&] { of.model().save(path, {opset, bytes}); }); })
      .def(
          "text", [](const ModelObject& of) { return unlocked([&] { return of.model().text(); }); }, docs::kText)
      .def("weights", &weights_of, docs::kWeights)
      .def(
          "dot", [](const ModelObject& of) { return unlocked([&] { return of.model().dot(); }); }, docs::kDot)
      .def(
          "digest", [](const ModelObject& of) { return unlocked([&] { return of.model().digest(); }); }, docs::kDigest)
      .def(
          "explain", [](const ModelObject& of) { return unlocked([&] { return of.model().explain(); }); },
          docs::kExplain);
  py::class_<Model>(m, "ModelHandle");
  bind_loading(m);
}

}  // namespace frazil::python
