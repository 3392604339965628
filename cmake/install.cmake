include(CMakePackageConfigHelpers)

install(TARGETS hws hws_static EXPORT hws-targets)
install(FILES include/hws.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(HWS_BUILD_PROGRAM)
  install(TARGETS hws_program)
endif()

install(EXPORT hws-targets NAMESPACE hws:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)
configure_package_config_file(cmake/hws-config.cmake.in hws-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)
write_basic_package_version_file(hws-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hws-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hws-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hws)

# Relative to itself, so that it stays right when the folder is moved or --prefix is given at install time.
file(RELATIVE_PATH HWS_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/hws.pc.in hws.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hws.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
