# frazil_layer(<name> [DEPENDS <layer>...] [PUBLIC <lib>...] [PRIVATE <lib>...])
#
# Declares the layer in the current folder: the target frazil_<name>, alias frazil::<name>, from every *.cc here.
# DEPENDS names the layers it may use and passes on. A layer without sources is its headers.
function(frazil_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;PUBLIC;PRIVATE")
  list(TRANSFORM arg_DEPENDS PREPEND frazil::)
  file(GLOB sources CONFIGURE_DEPENDS *.cc)

  if(sources)
    add_library(frazil_${name} STATIC ${sources})
    target_include_directories(frazil_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(frazil_${name} PUBLIC ${arg_DEPENDS} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    set_property(GLOBAL APPEND PROPERTY FRAZIL_COMPILED_LAYERS frazil_${name})
  else()
    add_library(frazil_${name} INTERFACE)
    target_include_directories(frazil_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(frazil_${name} INTERFACE ${arg_DEPENDS} ${arg_PUBLIC})
  endif()
  add_library(frazil::${name} ALIAS frazil_${name})
endfunction()
