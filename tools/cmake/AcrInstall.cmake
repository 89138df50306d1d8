# An installed tree finds its own files from where its binary lies: ../share/acr-host beside bin/.
include(GNUInstallDirs)
install(TARGETS acr-host RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY python/acr DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host/python" FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "*.json")
install(DIRECTORY prompts/ DESTINATION "${CMAKE_INSTALL_DATADIR}/acr-host/prompts" FILES_MATCHING PATTERN "*.txt")
