# The library that users link: every layer in one file, as a shared library and as an archive.

get_property(layers GLOBAL PROPERTY FRAZIL_COMPILED_LAYERS)
list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)

# frazil_library(<target> <SHARED|STATIC> <export name>)
function(frazil_library target kind export)
  add_library(${target} ${kind} ${objects})
  add_library(frazil::${export} ALIAS ${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME frazil EXPORT_NAME ${export})
  target_compile_features(${target} PUBLIC $<BUILD_INTERFACE:cxx_std_23>)  # frazil-config.cmake adds it for C++ users
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE Threads::Threads Boost::context fmt::fmt spdlog::spdlog
                                          $<$<BOOL:${FRAZIL_TBB}>:TBB::tbb> $<$<BOOL:${FRAZIL_RE2}>:re2> OpenSSL::Crypto
                                          ${FRAZIL_CODEC_LIBRARIES} ${CMAKE_DL_LIBS})
endfunction()

if(BUILD_SHARED_LIBS)
  frazil_library(frazil SHARED shared)
  frazil_library(frazil_static STATIC static)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(frazil PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                          LINK_DEPENDS ${exports})
  # Calls inside the library do not go through the procedure linkage table.
  target_link_options(frazil PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic-functions LINKER:--gc-sections)
else()
  frazil_library(frazil STATIC static)
endif()
add_library(frazil::frazil ALIAS frazil)

# For programs that define custom operators: the headers of the layers that definitions use.
add_library(frazil_operators INTERFACE)
add_library(frazil::operators ALIAS frazil_operators)
set_target_properties(frazil_operators PROPERTIES EXPORT_NAME operators)
target_include_directories(frazil_operators INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/frazil/operators>)
target_link_libraries(frazil_operators INTERFACE $<BUILD_INTERFACE:frazil> fmt::fmt)
