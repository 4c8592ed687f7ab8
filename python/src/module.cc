#include "python/src/interrupt.h"
#include "python/src/python.h"

// The Python package's extension module, which only wraps the public C++ API. python/frazil adds the parts in Python.
PYBIND11_MODULE(_frazil, m) {
  using namespace frazil::python;
  py::options options;
  options.disable_function_signatures();  // docstrings begin with a signature for inspect.signature()
  m.attr("__version__") = FRAZIL_VERSION;
  remember_main_thread();
  watch_forks();
  bind_errors(m);
  bind_log(m);
  bind_dtypes(m);
  bind_arrays(m);
  bind_options(m);
  bind_observers(m);
  bind_policies(m);
  bind_governors(m);
  bind_sessions(m);
  bind_models(m);
  bind_builders(m);
  bind_operators(m);
  bind_live(m);
  bind_debug(m);
  bind_hosts(m);
  bind_lazy(m);
}
