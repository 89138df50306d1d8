# How every target is compiled, and the two functions that make libraries and their unit tests from folders.

set(ACR_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address,undefined or thread")
option(ACR_WERROR "Treat warnings as errors" OFF)
option(ACR_COVERAGE "Instrument for gcov" OFF)

add_library(acr_options INTERFACE)
target_compile_features(acr_options INTERFACE c_std_17)
target_compile_definitions(acr_options INTERFACE _GNU_SOURCE G_LOG_DOMAIN="acr-host" ACR_VERSION="${PROJECT_VERSION}")
target_compile_options(acr_options INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wformat=2
  -Wno-unused-parameter -fno-common $<$<CONFIG:Release>:-O2> $<$<BOOL:${ACR_WERROR}>:-Werror>)
set(CMAKE_C_EXTENSIONS ON) # gnu17
# What more the libraries keep; tests need not declare what they share.
set(acr_library_warnings -Wformat-signedness -Wjump-misses-init -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wredundant-decls -Wundef -Wwrite-strings -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
if(ACR_SANITIZE)
  target_compile_options(acr_options INTERFACE -fsanitize=${ACR_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(acr_options INTERFACE -fsanitize=${ACR_SANITIZE})
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

# acr_library(<name> <folder> [USES <lib>...] [PRIVATE <foreign target>...])
# USES are libraries of ours whose headers it may include; PRIVATE ones are foreign and do not reach its users.
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
  foreach(used IN LISTS arg_USES)
    target_link_libraries(acr_${name} PUBLIC acr_${used})
  endforeach()
endfunction()

# acr_embed(<library> <file> <symbol>): the file's bytes and a NUL as `const char <symbol>[]` in the library.
function(acr_embed name file symbol)
  set(source "${PROJECT_BINARY_DIR}/embedded/${symbol}.c")
  file(READ "${PROJECT_SOURCE_DIR}/${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  file(CONFIGURE OUTPUT "${source}" CONTENT "extern const char ${symbol}[];\nconst char ${symbol}[] = {${bytes}0};\n" @ONLY)
  target_sources(acr_${name} PRIVATE "${source}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
endfunction()
