# {fmt}, compiled once: as a header, it takes two seconds in each source that formats. Versions 9 and 10 were tried. If fmt.cpp does not
# compile with another version, every source compiles it.
set(fmt_use ${PROJECT_BINARY_DIR}/fmt_use.cpp)
file(WRITE ${fmt_use} [[
#include <fmt/format.h>
int main(int count, char** words) { return fmt::format("{} {:.3g} {:>8L} {:p}", words[0], 0.5 * count, count, (void*)words).empty(); }
]])
try_compile(BLASTOFF_COMPILES_FMT ${PROJECT_BINARY_DIR}/fmt SOURCES ${fmt_use} ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp
            CXX_STANDARD ${CMAKE_CXX_STANDARD})
if(BLASTOFF_COMPILES_FMT)
  add_library(fmt_archive STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
  target_compile_options(fmt_archive PRIVATE $<TARGET_PROPERTY:blastoff_options,INTERFACE_COMPILE_OPTIONS>)
  target_link_libraries(blastoff_options INTERFACE fmt_archive)
else()
  target_compile_definitions(blastoff_options INTERFACE FMT_HEADER_ONLY)
endif()
