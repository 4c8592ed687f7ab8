#include "python/src/docs.h"
#include "python/src/dtypes.h"
#include "python/src/policy.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

/// A model and the idle sessions of its calls. A call takes an idle session or opens one, so there are as many sessions
/// as concurrent calls. The interpreter's lock guards the list.
class ModelObject {
 public:
  ModelObject(Model model, const Options& options) : model_(std::move(model)), options_(options) {}

  ModelObject(ModelObject&&) = default;
  ModelObject(const ModelObject&) = delete;
  ModelObject& operator=(const ModelObject&) = delete;
  ~ModelObject() = default;

  const Model& model() const { return model_; }
  const Options& options() const { return options_; }

  py::object run(const py::object& inputs, const py::object& feeds, const py::object& out) {
    const Lease lease(*this);
    return lease->run({inputs, feeds}, out);
  }
  py::object run_until(RunToken& token, const py::object& inputs, const py::object& feeds, const py::object& out) {
    const Lease lease(*this);
    return lease->run({inputs, feeds}, out, &token);
  }
  py::object call(const py::args& args, const py::kwargs& kwargs) {
    const Lease lease(*this);
    return lease->call(args, kwargs);
  }
  std::size_t idle() const { return idle_.size(); }
  void trim() { idle_.clear(); }

 private:
  class Lease {
   public:
    explicit Lease(ModelObject& of) : of_(of) {
      if (of.idle_.empty()) {
        if (!of.signature_) of.signature_ = std::make_shared<Signature>(of.model_);
        worker_ = std::make_unique<Worker>(of.model_, of.options_, of.signature_);
      } else {
        worker_ = std::move(of.idle_.back());
        of.idle_.pop_back();
      }
    }
    ~Lease() { of_.idle_.push_back(std::move(worker_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Worker* operator->() const { return worker_.get(); }

   private:
    ModelObject& of_;
    std::unique_ptr<Worker> worker_;
  };

  Model model_;
  Options options_;
  std::shared_ptr<const Signature> signature_;  ///< null before the first call
  std::vector<std::unique_ptr<Worker>> idle_;
};

// ---- ports ----

py::object shape_of(const Port& port) {
  if (port.kind != Array::Kind::tensor || !port.ranked) return py::none();
  return extents_object(port.dims);
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
      .def_readonly("type", &Port::type, "The whole type as text: 'f32[N,3]', 'seq<i64[...]>'.")
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

struct Loading {
  LoadOptions load;
  Options run;
};

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
  return {std::move(model), options.run};
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
  py::class_<RunToken>(m, "RunToken").def(py::init()).def("cancel", &RunToken::cancel);
  py::class_<ModelObject>(m, "Model")
      .def(py::init([](const ModelObject& other) { return ModelObject(other.model(), other.options()); }))
      .def(py::init(
          [](const ModelObject& other, const Options& options) { return ModelObject(other.model(), options); }))
      .def(py::init<Model, const Options&>())
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
      .def_property_readonly("_idle_sessions", &ModelObject::idle)
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
