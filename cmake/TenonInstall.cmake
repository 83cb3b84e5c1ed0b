# What `cmake --install` puts on a machine: the runtime library with its header, for programs in C that find it with
# find_package(Tenon) or pkg-config, and the tool with its compiler, manual pages and completion in shells. `--component Runtime` leaves out the tools.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(TenonRuntimeShared PROPERTIES EXPORT_NAME Runtime)
target_include_directories(TenonRuntimeShared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS TenonRuntimeShared EXPORT TenonTargets COMPONENT Runtime LIBRARY NAMELINK_COMPONENT Runtime)
install(FILES include/tenon/runtime.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon COMPONENT Runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
install(TARGETS tenon COMPONENT Tools)
# What mpirun starts finds it.
install(TARGETS TenonMpi COMPONENT Tools)
if(TENON_ENABLE_COMPILER)
  # LLVM's shared libraries are found where they were when it was built.
  set_target_properties(tenon-compiler PROPERTIES INSTALL_RPATH ${LLVM_LIBRARY_DIR})
  install(TARGETS tenon-compiler COMPONENT Tools)
endif()
if(TENON_ENABLE_COMPILER AND NOT TENON_SANITIZE)
  set(man ${CMAKE_BINARY_DIR}/man)
  set(writer ${CMAKE_SOURCE_DIR}/cmake/WriteManualPages.cmake)
  add_custom_command(OUTPUT ${man}/tenon.1 DEPENDS tenon tenon-compiler ${writer}
                     COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:tenon> -DFOLDER=${man} -P ${writer} VERBATIM)
  add_custom_target(TenonManualPages ALL DEPENDS ${man}/tenon.1)
  install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT Tools)
endif()
# Where each shell looks for what is installed.
install(FILES tools/tenon/completion/tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT Tools)
install(FILES tools/tenon/completion/_tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT Tools)
install(FILES tools/tenon/completion/tenon.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT Tools)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
install(EXPORT TenonTargets NAMESPACE Tenon:: FILE TenonTargets.cmake DESTINATION ${package} COMPONENT Runtime)
# Before 1.0 the minor version must be the same, as the header says.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonConfig.cmake INSTALL_DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/TenonConfig.cmake ${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${package} COMPONENT Runtime)
# Its prefix follows from where the file is, so that what is installed may be moved.
file(RELATIVE_PATH prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/tenon-runtime.pc.in ${CMAKE_BINARY_DIR}/tenon-runtime.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tenon-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Runtime)
