# The program is made of parts, each a folder of src/ and a static library. A part names the parts below it that it
# uses; whoever links it gets those, too. Headers are included as "PART/header.h". Parts are declared from the bottom up,
# so that none can use one above it, and the test tree/layers holds every #include against what is declared here.
#
#     add_hws_part(NAME SOURCES file.c ... [USES part ...] [LINKS library ...])
set(HWS_LAYERS "" CACHE INTERNAL "")
function(add_hws_part name)
  cmake_parse_arguments(PARSE_ARGV 1 part "" "" "SOURCES;USES;LINKS")
  if(part_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_hws_part(${name}): what is ${part_UNPARSED_ARGUMENTS}?")
  endif()
  add_library(hws_${name} STATIC ${part_SOURCES})
  target_include_directories(hws_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(hws_${name} PRIVATE hws_flags PUBLIC ${part_LINKS})
  foreach(used ${part_USES})
    if(NOT TARGET hws_${used})
      message(FATAL_ERROR "src/${name} uses ${used}, which does not lie below it")
    endif()
    target_link_libraries(hws_${name} PUBLIC hws_${used})
  endforeach()
  string(REPLACE ";" "," uses "${part_USES}")
  set(HWS_LAYERS "${HWS_LAYERS} ${name}:${uses}" CACHE INTERNAL "")
endfunction()

# Hot loops that are compiled once per instruction set: SOURCE becomes the objects NAME, which are added to the list
# VARIABLE of the caller.
#
#     add_hws_kernels(VARIABLE NAME SOURCE file.c DEFINES KERNELS=avx2 ... [OPTIONS -mavx2 ...])
function(add_hws_kernels variable name)
  cmake_parse_arguments(PARSE_ARGV 2 kernels "" "SOURCE" "DEFINES;OPTIONS")
  add_library(${name} OBJECT ${kernels_SOURCE})
  target_link_libraries(${name} PRIVATE hws_flags)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${name} PRIVATE ${kernels_DEFINES})
  target_compile_options(${name} PRIVATE ${kernels_OPTIONS})
  set(${variable} ${${variable}} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

# A library that is installed: lib${NAME}.so and lib${NAME}.a, made of one part and whatever that needs of the parts
# below it. Only what its public header declares is visible: hidden names stay inside the shared library, and the static
# one is a single object in which they are local, so that they cannot collide with a user's.
#
#     add_hws_library(NAME PART part [KERNELS objects ...])
find_program(HWS_OBJCOPY NAMES objcopy llvm-objcopy)
function(add_hws_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "PART" "KERNELS")
  set(objects $<TARGET_OBJECTS:hws_${library_PART}> ${library_KERNELS})
  get_target_property(links hws_${library_PART} INTERFACE_LINK_LIBRARIES)

  # Before 1.0 a minor version may break what was built before it.
  set(soversion ${PROJECT_VERSION_MAJOR})
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  endif()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soversion} LINKER_LANGUAGE C)
  target_link_libraries(${name} PRIVATE ${links} $<BUILD_INTERFACE:hws_flags>)
  add_library(hws::${name} ALIAS ${name})

  if(HWS_OBJCOPY AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT HWS_SANITIZE)
    set(one ${CMAKE_CURRENT_BINARY_DIR}/${name}_one.o)
    add_custom_command(OUTPUT ${one}
      COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${one} ${objects} $<TARGET_FILE:hws_core>
      COMMAND ${HWS_OBJCOPY} --localize-hidden ${one}
      DEPENDS hws_${library_PART} hws_core ${objects} COMMAND_EXPAND_LISTS VERBATIM)
    add_library(${name}_static STATIC ${one})
    set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  else()
    add_library(${name}_static STATIC ${objects} $<TARGET_OBJECTS:hws_core>)
  endif()
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  target_link_libraries(${name}_static INTERFACE m)
  if(HWS_SANITIZE)
    target_link_libraries(${name}_static INTERFACE $<BUILD_INTERFACE:hws_flags>)
  endif()
  foreach(target ${name} ${name}_static)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()
