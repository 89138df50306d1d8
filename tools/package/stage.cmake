# What a package holds beside what is installed, or not: called with the staged tree.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE bytecode LIST_DIRECTORIES true "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*")
  list(FILTER bytecode INCLUDE REGEX "/__pycache__$")
  file(REMOVE_RECURSE ${bytecode}) # made where it is installed, by its Python
  set(doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/acr-host")
  file(COPY "${CPACK_ACR_PACKAGE}/copyright" DESTINATION "${doc}"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  configure_file("${CPACK_ACR_PACKAGE}/changelog" "${doc}/changelog" COPYONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  execute_process(COMMAND gzip -n9 "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
endif()
