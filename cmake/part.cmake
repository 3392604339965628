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
  set_target_properties(hws_${name} PROPERTIES OUTPUT_NAME ${name}) # libhws_* are the libraries that are installed
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

# All parts below a part, itself included, as targets.
function(hws_parts_below target found)
  set(all ${${found}})
  if(NOT target IN_LIST all)
    list(APPEND all ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^hws_" AND TARGET ${link})
        hws_parts_below(${link} all)
      endif()
    endforeach()
  endif()
  set(${found} ${all} PARENT_SCOPE)
endfunction()

# A library that is installed: lib${NAME}.so and lib${NAME}.a, made of one part and whatever that needs of the parts
# below it. Only ${NAME}_* is visible: the shared library exports nothing else, and the static one is a single object in
# which all other names are local, so that they cannot collide with a user's or with those of another of our libraries.
#
# LINKS are the system's libraries that it needs. They are plain names, not CMake's targets: programs that use the shared
# library should not have to find them, and pkg-config wants them like this.
#
# The targets are NAME and NAME_static, or libNAME and libNAME_static where a part has this name.
#
#     add_hws_library(NAME PART part HEADER header.h EXPORTS shared static LINKS library ... [KERNELS objects ...])
find_program(HWS_OBJCOPY NAMES objcopy llvm-objcopy)
function(add_hws_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "PART;HEADER" "EXPORTS;LINKS;KERNELS")
  set(objects $<TARGET_OBJECTS:hws_${library_PART}> ${library_KERNELS})
  hws_parts_below(hws_${library_PART} parts)
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  set(target ${name})
  if(TARGET ${name})
    set(target lib${name})
  endif()
  list(GET library_EXPORTS 0 shared_name)
  list(GET library_EXPORTS 1 static_name)

  set(visible ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  file(CONFIGURE OUTPUT ${visible} CONTENT "{ global: @name@_*; local: *; };\n" @ONLY)
  add_library(${target} SHARED ${objects})
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${HWS_SOVERSION} LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:hws_${library_PART}> $<BUILD_INTERFACE:hws_flags>)
  if(NOT APPLE) # whose linker knows neither; there, hidden names alone are what is not exported
    target_link_options(${target} PRIVATE LINKER:--version-script=${visible})
    set(archives -Wl,--start-group ${archives} -Wl,--end-group)
  endif()

  set(one ${CMAKE_CURRENT_BINARY_DIR}/${name}_one.o)
  if(HWS_OBJCOPY AND NOT HWS_SANITIZE)
    set(hide COMMAND ${HWS_OBJCOPY} --localize-hidden ${one}
             COMMAND ${HWS_OBJCOPY} --wildcard --keep-global-symbol=${name}_* ${one})
  endif()
  add_custom_command(OUTPUT ${one}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${one} ${objects} ${archives} ${hide}
    DEPENDS ${parts} ${objects} COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${target}_static STATIC ${one})
  set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${target}_static PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(${target}_static INTERFACE ${library_LINKS})
  if(HWS_SANITIZE)
    target_link_libraries(${target}_static INTERFACE $<BUILD_INTERFACE:hws_flags>)
  endif()

  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${shared_name})
  set_target_properties(${target}_static PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${static_name})
  add_library(hws::${shared_name} ALIAS ${target})
  add_library(hws::${static_name} ALIAS ${target}_static)
  foreach(made ${target} ${target}_static)
    target_include_directories(${made} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  install_hws_library(${name} ${target} ${library_HEADER} "${library_LINKS}")
endfunction()

# Its files, and ${NAME}.pc, which is relative to itself, so that it stays right when the folder is moved or --prefix is
# given at install time.
function(install_hws_library name target header links)
  install(TARGETS ${target} ${target}_static EXPORT hws-targets)
  install(FILES ${PROJECT_SOURCE_DIR}/include/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  file(RELATIVE_PATH HWS_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(TRANSFORM links PREPEND -l REGEX "^[^/]")
  list(JOIN links " " HWS_PRIVATE_LIBRARIES)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
