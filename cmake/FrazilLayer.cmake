# frazil_layer(<name> [DEPENDS <layer>...] [PUBLIC <lib>...] [PRIVATE <lib>...] [PRECOMPILE <header>...]
#              [EXCEPT <regex>])
#
# Declares the layer in the current folder: the target frazil_<name>, alias frazil::<name>. Its sources are every *.cc
# here and in its subfolders, except those that match EXCEPT.
# DEPENDS lists the layers that it uses; dependents inherit them. A layer without sources is header-only.
# PRECOMPILE lists headers to precompile for this layer and the layers declared after it.
function(frazil_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCEPT" "DEPENDS;PUBLIC;PRIVATE;PRECOMPILE")
  list(TRANSFORM arg_DEPENDS PREPEND frazil::)
  file(GLOB sources CONFIGURE_DEPENDS *.cc */*.cc)
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCEPT}")
  endif()

  if(sources)
    add_library(frazil_${name} STATIC ${sources})
    target_include_directories(frazil_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(frazil_${name} PUBLIC ${arg_DEPENDS} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    target_compile_definitions(frazil_${name} PRIVATE FRAZIL_LIBRARY)
    set_property(GLOBAL APPEND PROPERTY FRAZIL_COMPILED_LAYERS frazil_${name})
    if(arg_PRECOMPILE)
      target_precompile_headers(frazil_${name} PRIVATE ${arg_PRECOMPILE})
      set_property(GLOBAL PROPERTY FRAZIL_PRECOMPILED frazil_${name})
    else()
      get_property(precompiled GLOBAL PROPERTY FRAZIL_PRECOMPILED)
      if(precompiled)
        target_precompile_headers(frazil_${name} REUSE_FROM ${precompiled})
      endif()
    endif()
  else()
    add_library(frazil_${name} INTERFACE)
    target_include_directories(frazil_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(frazil_${name} INTERFACE ${arg_DEPENDS} ${arg_PUBLIC})
  endif()
  add_library(frazil::${name} ALIAS frazil_${name})
endfunction()
