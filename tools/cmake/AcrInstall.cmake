# An installed program finds its files relative to its binary: in ../share/acr-host.
include(GNUInstallDirs)
install(TARGETS acr-host RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY python/acr python/examples DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host/python" FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "*.json"
        PATTERN "page.*" PATTERN "*.js")
install(DIRECTORY prompts/ DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host/prompts" FILES_MATCHING PATTERN "*.txt")
install(DIRECTORY tests/fixtures/sample DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host" PATTERN "__pycache__" EXCLUDE
        PATTERN ".gitignore" EXCLUDE PATTERN "conftest.py" EXCLUDE PATTERN ".pytest_cache" EXCLUDE) # what `acr-host demo` works on
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host" FILES_MATCHING PATTERN "*.md")
install(DIRECTORY runtime/schemas DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host" FILES_MATCHING PATTERN "*.json")
install(FILES tools/package/apparmor DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host/apparmor" RENAME acr-host)

# Compile bytecode, because the program writes none, and starts a tenth faster with it. It is valid only for exactly the
# same source text.
set(compile_python "${ACR_PYTHON_EXECUTABLE}" -Im compileall -q -f --invalidation-mode checked-hash)
list(JOIN compile_python " " compile_python_words)
install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/acr-host/python/acr\")
execute_process(COMMAND ${compile_python_words} -s \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" -p / \"\${folder}\" COMMAND_ERROR_IS_FATAL ANY)")
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/python/acr/*.py")
add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/bytecode.stamp" DEPENDS ${python_files} VERBATIM
  COMMAND ${compile_python} "${CMAKE_CURRENT_SOURCE_DIR}/python/acr" || ${CMAKE_COMMAND} -E true # a tree that is read only
  COMMAND ${CMAKE_COMMAND} -E touch "${CMAKE_BINARY_DIR}/bytecode.stamp")
add_custom_target(bytecode ALL DEPENDS "${CMAKE_BINARY_DIR}/bytecode.stamp")

# Manual pages and completions, from the program's table of options.
file(GLOB manual_source "${CMAKE_CURRENT_SOURCE_DIR}/tools/manual/write.py")
set(manual "${CMAKE_BINARY_DIR}/manual")
add_custom_command(OUTPUT "${manual}.stamp" DEPENDS acr-host ${manual_source} VERBATIM
  COMMAND "${ACR_PYTHON_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/manual/write.py" "$<TARGET_FILE:acr-host>" "${manual}"
  COMMAND ${CMAKE_COMMAND} -E touch "${manual}.stamp")
add_custom_target(manual ALL DEPENDS "${manual}.stamp")
# They are missing if only the program was built (tools/quickstart).
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target manual COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${manual}/" DESTINATION "${CMAKE_INSTALL_DATADIR}")
include(AcrPackage)
