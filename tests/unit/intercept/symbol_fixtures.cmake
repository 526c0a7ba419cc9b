# ELF files for the tests of intercept/symbols. They are read, not loaded, and are built without sanitizers.
find_program(XZ xz)

function(symbol_fixture name kind source)
  cmake_parse_arguments(FIXTURE "" "" "DEFINE;LINK" ${ARGN})
  if(kind STREQUAL EXECUTABLE)
    add_executable(symbols_${name} fixtures/${source}.c)
  else()
    add_library(symbols_${name} ${kind} fixtures/${source}.c)
  endif()
  set_target_properties(symbols_${name} PROPERTIES C_VISIBILITY_PRESET default C_EXTENSIONS ON)
  target_include_directories(symbols_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(symbols_${name} PRIVATE -O1 -fno-builtin)
  target_compile_definitions(symbols_${name} PRIVATE ${FIXTURE_DEFINE})
  target_link_options(symbols_${name} PRIVATE ${FIXTURE_LINK})
  add_dependencies(unit_intercept symbols_${name})
endfunction()

# symbol_copy(NAME DEPENDS ... COMMAND ... [COMMAND ...]): a file made from a fixture's.
function(symbol_copy name)
  add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/symbols_${name} ${ARGN} VERBATIM)
  add_custom_target(make_symbols_${name} DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/symbols_${name})
  add_dependencies(unit_intercept make_symbols_${name})
endfunction()

symbol_fixture(both_styles SHARED spelled DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_CBLAS FIXTURE_SUFFIX=)
symbol_fixture(aliases SHARED spelled DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_SUFFIX= FIXTURE_ALIASES=_64_)
symbol_fixture(undecorated SHARED spelled DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN= FIXTURE_SUFFIX= FIXTURE_MARK=esvemonp)
symbol_fixture(unmarked SHARED spelled DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN= FIXTURE_SUFFIX=)
symbol_fixture(renamed SHARED spelled DEFINE FIXTURE_PREFIX=my_ FIXTURE_FORTRAN=_ FIXTURE_CBLAS FIXTURE_SUFFIX=v64)
symbol_fixture(one_style SHARED spelled DEFINE FIXTURE_PREFIX=my_ FIXTURE_FORTRAN=_ FIXTURE_SUFFIX=)
symbol_fixture(no_blas SHARED no_blas)
symbol_fixture(dispatcher SHARED spelled DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_SUFFIX=
               LINK -Wl,-soname,libmkl_rt.so.2)
set_target_properties(symbols_dispatcher PROPERTIES NO_SONAME ON)
symbol_fixture(cufftw SHARED cufftw LINK -Wl,-soname,libcufftw.so.12)
set_target_properties(symbols_cufftw PROPERTIES NO_SONAME ON)
symbol_fixture(dfti SHARED dfti DEFINE FIXTURE_TELLS)
symbol_fixture(silent_dfti SHARED dfti)
symbol_fixture(program EXECUTABLE spelled
               DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_SUFFIX= FIXTURE_MAIN=dgemm_ LINK -Wl,--no-export-dynamic)
symbol_fixture(static_program EXECUTABLE spelled
               DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_SUFFIX= FIXTURE_MAIN=dgemm_ LINK -static)
symbol_fixture(static_pie EXECUTABLE spelled
               DEFINE FIXTURE_PREFIX= FIXTURE_FORTRAN=_ FIXTURE_SUFFIX= FIXTURE_MAIN=dgemm_ LINK -static-pie)
# OpenBLAS renames its exported functions in the same way; this file has only such names, in one style and for few routines.
symbol_copy(marked DEPENDS symbols_one_style
            COMMAND ${CMAKE_OBJCOPY} --redefine-sym my_sgemm_=my_openblas_get_config
                    $<TARGET_FILE:symbols_one_style> ${CMAKE_CURRENT_BINARY_DIR}/symbols_marked)
symbol_copy(stripped DEPENDS symbols_program
            COMMAND ${CMAKE_STRIP} -o ${CMAKE_CURRENT_BINARY_DIR}/symbols_stripped $<TARGET_FILE:symbols_program>)
if(XZ)
  set(debugdata ${CMAKE_CURRENT_BINARY_DIR}/symbols_debugdata)
  # As in distributions: the symbols that only .symtab has are in a compressed section of the stripped program.
  symbol_copy(debugdata DEPENDS symbols_program make_symbols_stripped ${CMAKE_CURRENT_BINARY_DIR}/symbols_stripped
              COMMAND ${CMAKE_OBJCOPY} -S --keep-symbol=dgemm_ --remove-section=.comment
                      $<TARGET_FILE:symbols_program> ${debugdata}.elf
              COMMAND ${XZ} -kf ${debugdata}.elf
              COMMAND ${CMAKE_OBJCOPY} --add-section=.gnu_debugdata=${debugdata}.elf.xz
                      ${CMAKE_CURRENT_BINARY_DIR}/symbols_stripped ${debugdata})
endif()
