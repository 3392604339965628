include(CMakePackageConfigHelpers)

# Libraries, headers and pkg-config files are installed by add_hws_library.
if(HWS_BUILD_PROGRAM)
  install(TARGETS hws_program)
endif()

install(EXPORT hws-targets NAMESPACE hws:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)
configure_package_config_file(cmake/hws-config.cmake.in hws-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)
write_basic_package_version_file(hws-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hws-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hws-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)
