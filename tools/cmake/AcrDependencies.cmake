# Finds the dependencies. If one is missing, an error names the Debian package that provides it.

set(ACR_PYTHON_EXECUTABLE "/usr/bin/python3" CACHE FILEPATH "The Python to embed; needs its headers, pylint and astroid")
option(ACR_PYTHON_ANY "Embed the Python whose libpython is loaded, wherever it is installed: for wheels" OFF)

find_program(PKG_CONFIG_EXECUTABLE pkg-config)
if(NOT PKG_CONFIG_EXECUTABLE)
  message(FATAL_ERROR "pkg-config is missing: apt-get install pkg-config")
endif()
find_package(PkgConfig REQUIRED)

# acr_dependency(<target> <pkg-config module> <minimum version> <Debian package>)
function(acr_dependency target module minimum package)
  pkg_check_modules(ACR_${target} QUIET IMPORTED_TARGET GLOBAL "${module}>=${minimum}")
  if(NOT ACR_${target}_FOUND)
    message(FATAL_ERROR "${module} >= ${minimum} is missing: apt-get install ${package}")
  endif()
  add_library(acr::${target} ALIAS PkgConfig::ACR_${target})
endfunction()

acr_dependency(glib glib-2.0 2.68 libglib2.0-dev)
acr_dependency(git2 libgit2 1.5 libgit2-dev)
acr_dependency(zlib zlib 1.2 zlib1g-dev)
acr_dependency(curl libcurl 7.87 libcurl4-openssl-dev)
acr_dependency(mhd libmicrohttpd 0.9.73 libmicrohttpd-dev)
# Only their headers, because native/vcs and native/http load these libraries at run time.
foreach(loaded git2 curl mhd)
  add_library(acr_${loaded}_headers INTERFACE)
  target_include_directories(acr_${loaded}_headers SYSTEM INTERFACE ${ACR_${loaded}_INCLUDE_DIRS})
endforeach()
acr_dependency(cjson libcjson 1.7.15 libcjson-dev)
acr_dependency(sqlite3 sqlite3 3.35 libsqlite3-dev)
acr_dependency(pcre2 libpcre2-8 10.40 libpcre2-dev)
find_package(Threads REQUIRED)

# The Python to embed: exactly the given one, not the first in PATH. It prints where its headers and library are.
if(NOT EXISTS "${ACR_PYTHON_EXECUTABLE}")
  message(FATAL_ERROR "no Python at '${ACR_PYTHON_EXECUTABLE}': apt-get install python3, or set -DACR_PYTHON_EXECUTABLE=PATH")
endif()
execute_process(
  COMMAND "${ACR_PYTHON_EXECUTABLE}" -I "${CMAKE_CURRENT_LIST_DIR}/python_facts.py"
  OUTPUT_VARIABLE ACR_PYTHON_FACTS ERROR_VARIABLE ACR_PYTHON_FACTS_ERROR RESULT_VARIABLE ACR_PYTHON_FACTS_EXIT
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
if(NOT ACR_PYTHON_FACTS_EXIT EQUAL 0)
  message(FATAL_ERROR "${ACR_PYTHON_FACTS_ERROR}")
endif()
list(GET ACR_PYTHON_FACTS 0 ACR_PYTHON_VERSION)
list(GET ACR_PYTHON_FACTS 1 ACR_PYTHON_PREFIX)
list(GET ACR_PYTHON_FACTS 2 ACR_PYTHON_INCLUDE)
list(GET ACR_PYTHON_FACTS 3 ACR_PYTHON_LIBRARY)
add_library(acr_python INTERFACE)
add_library(acr::python ALIAS acr_python)
target_include_directories(acr_python SYSTEM INTERFACE "${ACR_PYTHON_INCLUDE}")
target_link_libraries(acr_python INTERFACE "${ACR_PYTHON_LIBRARY}")
target_compile_definitions(acr_python INTERFACE
  ACR_PYTHON_EXECUTABLE="${ACR_PYTHON_EXECUTABLE}" ACR_PYTHON_PREFIX="${ACR_PYTHON_PREFIX}"
  ACR_PYTHON_VERSION="${ACR_PYTHON_VERSION}" ACR_PYTHON_ANY=$<BOOL:${ACR_PYTHON_ANY}>)
message(STATUS "Embedding Python ${ACR_PYTHON_VERSION} (${ACR_PYTHON_EXECUTABLE})")
