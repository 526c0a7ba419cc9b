# blastoff-closer: closes the device of a short program after the program's end (src/runtime/closing.h). It lies beside the library or
# in lib/blastoff, and depends only on the C library.
add_executable(blastoff-closer ${PROJECT_SOURCE_DIR}/src/closer/main.cpp)
set_target_properties(blastoff-closer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_options(blastoff-closer PRIVATE ${blastoff_plain_calls})
# abort is needed by the startup code of programs on aarch64.
blastoff_links_without_versions(blastoff-closer LIBRARY libc.so.6 FUNCTIONS __libc_start_main abort __errno_location read strtol syscall)
target_link_libraries(blastoff-closer PRIVATE -Wl,-Bstatic -lgcc -Wl,-Bdynamic)
add_dependencies(blastoff blastoff-closer)
install(TARGETS blastoff-closer RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/blastoff)
