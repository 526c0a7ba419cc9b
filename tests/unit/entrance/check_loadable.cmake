# Checks that any C library can load the preloaded libraries: they require no symbol versions, no libraries but the C library's own, and, but
# for weak references, no symbols that a C library may lack. Also checks that the code that runs before the slots are filled calls nothing else.
# Run with -DLIBRARY= -DALLOCATOR= -DOBJECTS= -DLATER_FUNCTIONS= (those of src/entrance) -DREADELF= -DNM=.
cmake_minimum_required(VERSION 3.22)

function(read_dynamic file strong)
  execute_process(COMMAND ${READELF} -d -V --dyn-syms -W ${file} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(text MATCHES "Version needs section")
    message(SEND_ERROR "${file} asks for versions of symbols")
  endif()
  string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]+\\]" needs "${text}")
  if(NOT needs)
    message(SEND_ERROR "no DT_NEEDED entry in ${file}: did readelf understand it?")
  endif()
  foreach(need IN LISTS needs)
    # libdl.so.2 is part of every glibc. musl treats both names as its own.
    if(NOT need MATCHES "\\[(libc\\.so\\.6|libdl\\.so\\.2)\\]$" OR (need MATCHES libdl AND NOT file STREQUAL ALLOCATOR))
      message(SEND_ERROR "${file}: ${need}")
    endif()
  endforeach()
  string(REGEX MATCHALL "GLOBAL +DEFAULT +UND +[^ \n]+" references "${text}")
  set(names "")
  foreach(reference IN LISTS references)
    string(REGEX REPLACE ".* " "" name "${reference}")
    list(APPEND names ${name})
  endforeach()
  set(${strong} "${names}" PARENT_SCOPE)
endfunction()

function(expect_only file names)
  foreach(name IN LISTS names)
    if(NOT name IN_LIST ARGN)
      message(SEND_ERROR "${file} cannot be loaded where there is no ${name}")
    endif()
  endforeach()
endfunction()

# Symbols that glibc has had since its first version, and that musl has too.
read_dynamic(${LIBRARY} names)
expect_only(${LIBRARY} "${names}" __tls_get_addr stdin stdout stderr environ __environ __progname program_invocation_name program_invocation_short_name
            __stack_chk_guard)
read_dynamic(${ALLOCATOR} names)
expect_only(${ALLOCATOR} "${names}" __errno_location close dladdr dlsym getauxval getpagesize memchr memcmp memcpy memmove memset open
            pthread_setcancelstate read secure_getenv strerror strlen strrchr strstr syscall vsnprintf write __stack_chk_guard)

# One constructor is ours, the other is the compiler's frame_dummy.
execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
foreach(array INIT FINI)
  if(NOT dynamic MATCHES "${array}_ARRAYSZ\\) +(8|16) \\(bytes\\)")
    message(SEND_ERROR "${LIBRARY}: the dynamic linker runs more than src/entrance of ${array}_ARRAY")
  endif()
endforeach()

foreach(object IN LISTS OBJECTS LATER_FUNCTIONS)
  execute_process(COMMAND ${READELF} -S -W ${object} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
  if(sections MATCHES "[.]init_array" AND object MATCHES "/src/entrance/" AND NOT object MATCHES "/entrance[.]cpp")
    message(SEND_ERROR "${object} has data that a constructor initializes")
  endif()
  if(NOT object MATCHES "/src/entrance/(.*)\\.(cpp|S)\\.o$" OR CMAKE_MATCH_1 STREQUAL later_functions)
    continue()
  endif()
  execute_process(COMMAND ${NM} --undefined-only --format=posix ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
  foreach(line IN LISTS lines)
    # The helpers for atomic operations of aarch64's compiler are part of the library. mprotect() is called after the slots have been filled.
    if(NOT line MATCHES "^(blastoff_|_ZN[K]?8blastoff8entrance|__real_|__libc_dl|__ehdr_start |_end |_GLOBAL_OFFSET_TABLE_ |__aarch64_|mprotect )")
      message(SEND_ERROR "${object} refers to ${line}")
    endif()
    set(seen TRUE)
  endforeach()
endforeach()
if(NOT seen)
  message(SEND_ERROR "no object of src/entrance among [${OBJECTS}]")
endif()
