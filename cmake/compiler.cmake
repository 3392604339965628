# One set of flags for everything that is ours.
add_library(hws_flags INTERFACE)
target_compile_features(hws_flags INTERFACE c_std_11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # Contraction into fused multiply-adds would give other bits on other machines.
  target_compile_options(hws_flags INTERFACE -Wall -Wextra -Wconversion -Wstrict-prototypes -Wmissing-prototypes
                                             -Wno-psabi -ffp-contract=off)
  if(HWS_WARNINGS_AS_ERRORS)
    target_compile_options(hws_flags INTERFACE -Werror)
  endif()
  # gcc 12 for 64-bit ARM fails with an internal error where it makes vectors of some loops. The hot ones name theirs.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(hws_flags INTERFACE -fno-tree-loop-vectorize)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^i[3-6]86$" OR (CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 4))
    target_compile_options(hws_flags INTERFACE -msse2 -mfpmath=sse)
  endif()
endif()
if(HWS_SANITIZE)
  target_compile_options(hws_flags INTERFACE -fsanitize=${HWS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(hws_flags INTERFACE -fsanitize=${HWS_SANITIZE})
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    target_compile_options(hws_flags INTERFACE -Wno-pass-failed) # what is watched cannot always be vectorised
  endif()
endif()

set(HWS_X86_KERNELS OFF)
if(HWS_SIMD AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  set(HWS_X86_KERNELS ON)
endif()
