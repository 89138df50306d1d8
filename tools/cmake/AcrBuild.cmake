# Compiler flags of every target, and the functions that build libraries and unit tests from folders.

set(ACR_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address,undefined or thread")
option(ACR_WERROR "Treat warnings as errors" OFF)
option(ACR_COVERAGE "Instrument for gcov" OFF)
option(ACR_PRECOMPILE "Precompile the common headers of the libraries; hides an #include that a file forgets" OFF)

add_library(acr_options INTERFACE)
target_compile_features(acr_options INTERFACE c_std_17)
target_compile_definitions(acr_options INTERFACE _GNU_SOURCE G_LOG_DOMAIN="acr-host" ACR_VERSION="${PROJECT_VERSION}")
target_compile_options(acr_options INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wformat=2
  -Wno-unused-parameter -fno-common $<$<BOOL:${ACR_WERROR}>:-Werror>)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_EXTENSIONS ON) # gnu17
# Further warnings for the libraries only.
set(acr_library_warnings -Wformat-signedness -Wjump-misses-init -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wredundant-decls -Wundef -Wwrite-strings -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
if(ACR_SANITIZE)
  target_compile_options(acr_options INTERFACE -fsanitize=${ACR_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(acr_options INTERFACE -fsanitize=${ACR_SANITIZE})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND ACR_SANITIZE MATCHES "address") # in the program it starts in less time
    target_link_options(acr_options INTERFACE -static-libasan -static-libubsan)
  endif()
  if(ACR_SANITIZE MATCHES "address")
    target_compile_definitions(acr_options INTERFACE ACR_SANITIZED=1)
  endif()
endif()
if(ACR_COVERAGE)
  target_compile_options(acr_options INTERFACE --coverage)
  target_link_options(acr_options INTERFACE --coverage)
endif()
target_include_directories(acr_options INTERFACE "${PROJECT_SOURCE_DIR}/native" "${PROJECT_SOURCE_DIR}/runtime")
target_link_libraries(acr_options INTERFACE acr::glib Threads::Threads)

# acr_precompile(<target> <group> [<option>...]): compile the target with these options. Targets of a group have the same
# flags, so they share a precompiled header. Tests have one in each build.
function(acr_precompile target group)
  target_compile_options(${target} PRIVATE ${ARGN})
  if(NOT ACR_PRECOMPILE AND NOT group STREQUAL "tests")
    return()
  endif()
  set(shared precompiled_headers_${group})
  if(NOT TARGET ${shared})
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.c" CONTENT "extern int acr_precompiled;\n")
    add_library(${shared} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.c")
    target_link_libraries(${shared} PRIVATE acr_options)
    target_compile_options(${shared} PRIVATE ${ARGN})
    target_precompile_headers(${shared} PRIVATE <errno.h> <fcntl.h> <glib.h> <signal.h> <stdio.h> <stdlib.h> <string.h>
      <sys/stat.h> <unistd.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# acr_library(<name> <folder> [USES <lib>...] [PRIVATE <foreign target>...])
# USES: our libraries whose headers it may include; PRIVATE: third-party targets, hidden from its users.
function(acr_library name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "USES;PRIVATE")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.c")
  if(NOT sources)
    add_library(acr_${name} INTERFACE)
    return()
  endif()
  add_library(acr_${name} STATIC ${sources})
  target_compile_options(acr_${name} PRIVATE "$<$<C_COMPILER_ID:GNU>:${acr_library_warnings}>")
  target_link_libraries(acr_${name} PUBLIC acr_options PRIVATE ${arg_PRIVATE})
  # Compiling without optimization takes half the time, but the tests of these folders compute more than that.
  if(ACR_SANITIZE MATCHES "address" AND folder MATCHES "^native/")
    acr_precompile(acr_${name} native -Og)
  else()
    acr_precompile(acr_${name} runtime)
  endif()
  foreach(used IN LISTS arg_USES)
    target_link_libraries(acr_${name} PUBLIC acr_${used})
  endforeach()
endfunction()

# acr_embed(<library> <file> <symbol>): embed the file's bytes and a NUL into the library as `const char <symbol>[]`.
function(acr_embed name file symbol)
  set(source "${PROJECT_BINARY_DIR}/embedded/${symbol}.c")
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  file(CONFIGURE OUTPUT "${source}" CONTENT "extern const char ${symbol}[];\nextern const unsigned ${symbol}_size;\n\
const char ${symbol}[] = {${bytes}0};\nconst unsigned ${symbol}_size = sizeof ${symbol} - 1;\n" @ONLY)
  target_sources(acr_${name} PRIVATE "${source}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endfunction()

# acr_embed_program(<library> <file> <symbol> [SHARED]): compile a C file that needs no library to a static program or a shared object, and embed it.
function(acr_embed_program name file symbol)
  set(kind -static -fno-pie -no-pie)
  if(ARGN STREQUAL "SHARED")
    set(kind -shared -fPIC)
  endif()
  set(program "${PROJECT_BINARY_DIR}/embedded/${symbol}")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/embedded")
  execute_process(COMMAND "${CMAKE_C_COMPILER}" -std=gnu17 -O2 -Wall -Wextra ${kind} -nostdlib -ffreestanding
    -fno-stack-protector -fno-asynchronous-unwind-tables -Wl,--build-id=none,-z,noseparate-code,-z,noexecstack -s
    -o "${program}" "${PROJECT_SOURCE_DIR}/${file}" COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
  acr_embed(${name} "${program}" ${symbol})
endfunction()
