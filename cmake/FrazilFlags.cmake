# Compiler flags of the whole project.

# The compiler must not contract a product and a sum to an FMA: results must not depend on the compiler.
add_compile_options(-ffp-contract=off)
add_compile_options($<$<CONFIG:Release>:-O2>)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wcast-qual
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
                    -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives of GCC 12 inside the standard library and the vector intrinsics.
  add_compile_options(-Wno-restrict -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread
                      -Wno-error=maybe-uninitialized)
endif()
# ccache needs these flags for precompiled headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # sources of a unity build look like headers
  add_compile_options(-fpch-preprocess)
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Vectors are passed only inside the library. std::stable_sort of libstdc++ 12 calls functions that C++20 deprecates.
  add_compile_options(-Wno-psabi -Wno-deprecated-declarations $<$<COMPILE_LANGUAGE:CXX>:-Wno-pass-failed>)
endif()
if(FRAZIL_WERROR)
  add_compile_options(-Werror)
endif()

# Linking the tests takes a tenth of the time with mold.
find_program(MOLD mold)
mark_as_advanced(MOLD)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

if(FRAZIL_SANITIZE)
  add_compile_options(-fsanitize=${FRAZIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FRAZIL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # it reads type data before a called function, which generated code lacks
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
if(FRAZIL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
