# What an installation has: libraries, headers, the packages for CMake and pkg-config. Install components:
# runtime: the shared library; jit: the code generator; command: the program; dev: what compiling and linking need.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/frazil)

# The libraries that programs with the archive need, for linkers of any language.
set(FRAZIL_ARCHIVE_NEEDS spdlog fmt crypto boost_context ${FRAZIL_CODEC_LIBRARIES})
if(FRAZIL_TBB)
  list(APPEND FRAZIL_ARCHIVE_NEEDS tbb)
endif()
if(FRAZIL_RE2)
  list(APPEND FRAZIL_ARCHIVE_NEEDS re2)
endif()
list(APPEND FRAZIL_ARCHIVE_NEEDS stdc++ m pthread dl)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/frazil-config.cmake.in
                              ${PROJECT_BINARY_DIR}/frazil-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/frazil-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/frazil-config.cmake ${PROJECT_BINARY_DIR}/frazil-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# frazil_install(<part> <target>...): installs targets, and exports them as frazil-<part>.cmake.
function(frazil_install part)
  install(TARGETS ${ARGN} EXPORT frazil-${part}
          LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
          ARCHIVE COMPONENT dev)
  install(EXPORT frazil-${part} NAMESPACE frazil:: DESTINATION ${package_dir} COMPONENT dev)
endfunction()

# From the folder of the .pc files to the prefix: an installation may be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})

# frazil_pkg_config(<name> <description>): installs NAME.pc; the caller's `requires`, `libs` and `cflags` are its fields.
function(frazil_pkg_config name description)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/frazil.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

set(libraries frazil)
if(BUILD_SHARED_LIBS)
  list(APPEND libraries frazil_static)
endif()
frazil_install(libraries ${libraries})
frazil_install(operators frazil_operators)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/frazil DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
foreach(layer base sym tensor ir ops)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/frazil/operators COMPONENT dev
          FILES_MATCHING PATTERN "*.h")
endforeach()

list(TRANSFORM FRAZIL_ARCHIVE_NEEDS PREPEND -l OUTPUT_VARIABLE needs)
list(JOIN needs " " needs)
set(static_libs "\${libdir}/libfrazil.a ${needs} -Wl,-rpath,\${libdir}/frazil")

set(requires)
set(cflags "-I\${includedir}")
if(BUILD_SHARED_LIBS)
  set(libs "-L\${libdir} -lfrazil")
else()
  set(libs ${static_libs})
endif()
frazil_pkg_config(frazil "${PROJECT_DESCRIPTION}, for C and C++23")
set(libs ${static_libs})
frazil_pkg_config(frazil-static "${PROJECT_DESCRIPTION}, linked as an archive")
set(requires "frazil fmt")
set(libs)
set(cflags "-I\${includedir}/frazil/operators")
frazil_pkg_config(frazil-operators "Custom operators of Frazil, in C++23")

if(FRAZIL_SERVE)
  frazil_install(server frazil_server frazil_govern)
  set(server_dir ${CMAKE_INSTALL_INCLUDEDIR}/frazil/service)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/server ${PROJECT_SOURCE_DIR}/govern DESTINATION ${server_dir} COMPONENT dev
          FILES_MATCHING PATTERN "*.h")
  set(requires "frazil fmt nlohmann_json simdjson libnghttp2 libseccomp yaml-cpp openssl zlib")
  set(libs "-L\${libdir} -lfrazil_server -lfrazil_govern")
  if(FRAZIL_RE2)
    string(APPEND libs " -lre2")
  endif()
  set(cflags "-I\${includedir}/frazil/service")
  frazil_pkg_config(frazil-server "The server of Frazil as a library, in C++23")
endif()
