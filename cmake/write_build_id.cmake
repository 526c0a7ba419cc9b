# Writes the id that tools/build-id prints to OUT, where it differs from what is there. Run with -DSOURCE= -DOUT=.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${SOURCE}/tools/build-id OUTPUT_VARIABLE id OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file(${SOURCE}/src/entrance/build_id.cpp.in ${OUT}/build_id.cpp @ONLY)
file(CONFIGURE OUTPUT ${OUT}/build-id.txt CONTENT "@id@\n" @ONLY)
