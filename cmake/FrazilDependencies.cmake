# What the library and the tool need; tests/ and bench/ find their own.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
if(FRAZIL_TBB)
  find_package(TBB REQUIRED)
endif()

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
add_library(protozero::protozero INTERFACE IMPORTED)
target_include_directories(protozero::protozero INTERFACE ${PROTOZERO_INCLUDE_DIR})
