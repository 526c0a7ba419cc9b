# liblzma reads the compressed symbols of stripped programs (.gnu_debugdata). It is a static archive, because libblastoff.so depends only on
# the C library.
find_path(LZMA_INCLUDE_DIR lzma.h)
find_library(LZMA_ARCHIVE liblzma.a)
if(NOT LZMA_INCLUDE_DIR OR NOT LZMA_ARCHIVE)
  message(FATAL_ERROR "Blastoff cannot be built here. Missing:\n  the archive liblzma.a (Debian, Ubuntu: liblzma-dev)")
endif()

add_library(lzma_archive STATIC IMPORTED)
set_target_properties(lzma_archive PROPERTIES IMPORTED_LOCATION ${LZMA_ARCHIVE}
                                              INTERFACE_INCLUDE_DIRECTORIES ${LZMA_INCLUDE_DIR}
                                              INTERFACE_LINK_LIBRARIES Threads::Threads)
