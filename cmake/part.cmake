# A part of the trainer: src/NAME becomes the static library hws_NAME. Its headers are included as "NAME/header.h".
# It does not link the parts below it: the program links them with hws_core, the tests with hws_inside, which are the
# same code with and without test hooks.
function(add_hws_part name)
  add_library(hws_${name} STATIC ${ARGN})
  target_link_libraries(hws_${name} PRIVATE hws_flags)
  target_include_directories(hws_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()
