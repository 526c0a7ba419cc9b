# The disassembler for patching, as a static archive, because libblastoff.so depends only on libc.
find_path(CAPSTONE_INCLUDE_DIR capstone/capstone.h)
find_library(CAPSTONE_ARCHIVE libcapstone.a)
if(NOT CAPSTONE_INCLUDE_DIR OR NOT CAPSTONE_ARCHIVE)
  message(FATAL_ERROR "Blastoff cannot be built here. Missing:\n  Capstone's archive libcapstone.a (Debian, Ubuntu: libcapstone-dev)")
endif()
add_library(capstone STATIC IMPORTED)
set_target_properties(capstone PROPERTIES IMPORTED_LOCATION ${CAPSTONE_ARCHIVE}
                                          INTERFACE_INCLUDE_DIRECTORIES ${CAPSTONE_INCLUDE_DIR})
