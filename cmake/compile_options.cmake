# Compile options for all targets.
find_package(Threads REQUIRED)

# The same warnings in C and C++ and from both compilers: -Wconversion implies -Wsign-conversion, except in C++ with GCC.
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)

add_library(blastoff_options INTERFACE)
target_include_directories(blastoff_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(blastoff_options INTERFACE -fno-strict-aliasing)
target_compile_definitions(blastoff_options INTERFACE BLASTOFF_VERSION="${PROJECT_VERSION}")
target_link_libraries(blastoff_options INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

if(BLASTOFF_ASSERTIONS OR BLASTOFF_SANITIZE)
  target_compile_definitions(blastoff_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
foreach(sanitizer IN LISTS BLASTOFF_SANITIZE)
  target_compile_options(blastoff_options INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(blastoff_options INTERFACE -fsanitize=${sanitizer})
endforeach()
