# Adds files to the staged tree of a package, and removes others.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE bytecode LIST_DIRECTORIES true "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*")
  list(FILTER bytecode INCLUDE REGEX "/__pycache__$")
  file(REMOVE_RECURSE ${bytecode}) # compiled at installation, by the installed Python
  set(doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/acr-host")
  file(COPY "${CPACK_ACR_PACKAGE}/copyright" DESTINATION "${doc}"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  configure_file("${CPACK_ACR_PACKAGE}/changelog" "${doc}/changelog" COPYONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  execute_process(COMMAND gzip -n9 "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
endif()

# In the tarball, a script starts the program, or names the packages that the machine lacks.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(program "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/bin/acr-host")
  execute_process(COMMAND objdump -p "${program}" OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "NEEDED +[^\n]+" needed "${headers}")
  foreach(library IN LISTS needed)
    string(REGEX REPLACE "NEEDED +" "" library "${library}")
    execute_process(COMMAND dpkg-query -S "*/${library}" OUTPUT_VARIABLE package ERROR_QUIET) # libz.so.1 -> zlib1g:amd64: /lib/…
    string(REGEX REPLACE ":.*" "" package "${package}")
    string(APPEND libraries "${library} ${package}\n")
  endforeach()
  file(MAKE_DIRECTORY "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/libexec")
  file(RENAME "${program}" "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/libexec/acr-host")
  string(REPLACE ", " " " loaded "${CPACK_ACR_LOADED}")
  configure_file("${CPACK_ACR_START}" "${program}" @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
endif()
