# libblastoff.so: all modules behind the exported BLAS names, with the C++ runtime linked in and hidden.
include(GNUInstallDirs)
include(cmake/c_library.cmake)

# Takes the modules as whole objects: nothing refers to the exported names, so a linker would not take them from archives.
set(blastoff_objects)
get_property(modules GLOBAL PROPERTY blastoff_modules)
list(REMOVE_ITEM modules allocator launcher)
foreach(module IN LISTS modules)
  list(APPEND blastoff_objects $<TARGET_OBJECTS:blastoff_${module}>)
endforeach()

# The C library's functions have the version of the first C library for this processor, and our replacements must have it too.
set(BLASTOFF_C_LIBRARY_VERSION GLIBC_2.2.5)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BLASTOFF_C_LIBRARY_VERSION GLIBC_2.17)
endif()
target_compile_definitions(blastoff_tracking PRIVATE BLASTOFF_C_LIBRARY_VERSION="${BLASTOFF_C_LIBRARY_VERSION}")

# The version script gives two names the C library's version, and hides symbols that the C++ library's headers would export. All other exported
# functions are marked in their sources.
set(blastoff_version_script ${PROJECT_BINARY_DIR}/blastoff.map)
set(blastoff_names ${PROJECT_SOURCE_DIR}/src/intercept/preload/exported_names.in)
add_custom_command(
  OUTPUT ${blastoff_version_script}
  COMMAND ${CMAKE_CXX_COMPILER} -E -P -x c++ -DBLASTOFF_C_LIBRARY_VERSION=${BLASTOFF_C_LIBRARY_VERSION} ${blastoff_names}
          -o ${blastoff_version_script}
  DEPENDS ${blastoff_names}
  VERBATIM)
add_custom_target(blastoff_exported_names DEPENDS ${blastoff_version_script})

# blastoff_links_as_library(TARGET): links a target in the same way as libblastoff.so.
function(blastoff_links_as_library target)
  add_dependencies(${target} blastoff_exported_names)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME blastoff LINKER_LANGUAGE CXX LINK_DEPENDS ${blastoff_version_script})
  target_link_libraries(${target} PRIVATE blastoff_options capstone lzma_archive)
  # Capstone's archive refers to the disassemblers of all architectures, but the library needs only one. With null in place of the others,
  # the linker takes only that one from the archive, which saves five megabytes and seventy thousand relocations at each load.
  set(disassembler X86)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(disassembler AArch64)
  endif()
  foreach(architecture AArch64 ARM EVM M680X M68K Mips PPC Sparc SystemZ TMS320C64x X86 XCore)
    if(NOT architecture STREQUAL disassembler)
      target_link_options(${target} PRIVATE -Wl,--defsym=${architecture}_global_init=0 -Wl,--defsym=${architecture}_option=0)
    endif()
  endforeach()
  # No lazy binding: the first call should not take the dynamic linker's slow path. Full RELRO then protects the entry point table.
  # Undefined symbols are errors, since only the C library could define them.
  target_link_options(${target} PRIVATE -Wl,--version-script=${blastoff_version_script} -Wl,--exclude-libs,ALL
                      -Wl,-z,relro,-z,now,-z,nodelete -Wl,--gc-sections -Wl,--as-needed)
  if(NOT BLASTOFF_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs)
  endif()
endfunction()

# With a sanitizer, whose run-time library belongs to this machine, the library is linked plainly.
if(BLASTOFF_SANITIZE)
  add_library(blastoff SHARED ${blastoff_objects})
  blastoff_links_as_library(blastoff)
else()
  include(cmake/entrance.cmake)
endif()
blastoff_has_build_id(blastoff)
set_target_properties(blastoff PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

install(TARGETS blastoff LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(GLOB headers ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/include/*.f90)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/blastoff DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The path is relative to the pkg-config file, so that an installed tree can be moved.
file(RELATIVE_PATH BLASTOFF_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/blastoff.pc.in ${PROJECT_BINARY_DIR}/blastoff.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/blastoff.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
