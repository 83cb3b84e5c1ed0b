# cmake -DTOOL=build/dev/bin/tenon -DFOLDER=man -P WriteManualPages.cmake
#
# Writes the pages of the tool and of its verbs, which know their options themselves.
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${TOOL} --man OUTPUT_FILE ${FOLDER}/tenon.1 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${TOOL} --list-verbs OUTPUT_VARIABLE verbs COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" verbs "${verbs}")
foreach(line IN LISTS verbs)
  string(REGEX MATCH "^[a-z]+" verb "${line}")
  execute_process(COMMAND ${TOOL} ${verb} --man OUTPUT_FILE ${FOLDER}/tenon-${verb}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
