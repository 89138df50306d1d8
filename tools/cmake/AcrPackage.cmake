# `cpack -G DEB` and `cpack -G TGZ` in the build folder make a Debian package, and a tarball that runs from any folder.
set(CPACK_PACKAGE_NAME acr-host)
set(CPACK_PACKAGE_VENDOR "The acr-host authors")
set(ACR_PACKAGE_CONTACT "The acr-host authors <acr-host@example.org>" CACHE STRING "The maintainer that packages name")
set(CPACK_PACKAGE_CONTACT "${ACR_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fixes issues in Python repositories with a language model")
set(CPACK_PACKAGE_FILE_NAME "acr-host-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded at run time: libgit2 to read repositories, libcurl for requests, libmicrohttpd for servers, and pylint to compare
# versions of a file.
string(REGEX MATCH "^[0-9]+\\.[0-9]+" git2 "${ACR_git2_VERSION}")
set(CPACK_ACR_LOADED "libgit2-${git2}, libcurl4, libmicrohttpd12, ca-certificates, pylint")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CPACK_ACR_LOADED}, python3")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, git")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "acr-host reads an issue and a git repository of Python code, and writes a
patch that resolves the issue: a language model looks at the code through
search calls and writes edits, which the program lands exactly or refuses.
Where code can be run, it proves the patch by a script that fails without it
and passes with it.")
set(package "${CMAKE_BINARY_DIR}/package")
string(TIMESTAMP release_day "%a, %d %b %Y 00:00:00 +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
foreach(name postinst prerm copyright changelog)
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/tools/package/${name}.in" "${package}/${name}" @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
file(READ "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE" license)
file(APPEND "${package}/copyright" "${license}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${package}/postinst;${package}/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/tools/package/stage.cmake")
set(CPACK_ACR_PACKAGE "${package}")
set(CPACK_ACR_START "${CMAKE_CURRENT_SOURCE_DIR}/tools/package/start.in")
set(CPACK_ACR_PYTHON "${ACR_PYTHON_EXECUTABLE}")
set(CPACK_THREADS 0)
include(CPack)
