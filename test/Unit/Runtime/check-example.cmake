# cmake -DWRITER=... -DEXAMPLE=... -DFOLDER=... -P check-example.cmake
#
# Trains the sample program with the C example and looks at the loss it prints,
# and at what the example needs on the machine.
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${WRITER} ${FOLDER} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the sample could not be written")
endif()
foreach(round 1 2)
  execute_process(
    COMMAND ${EXAMPLE} ${FOLDER}/program.tenon ${FOLDER}/state.safetensors
            ${FOLDER}/batch.safetensors 40 ${FOLDER}/trained${round}.safetensors
    OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the example failed: ${output}")
  endif()
endforeach()
if(NOT output MATCHES "step 1 loss ([0-9.]+)\n.*step 40 loss ([0-9.]+)\n")
  message(FATAL_ERROR "no loss in: ${output}")
endif()
if(NOT CMAKE_MATCH_2 LESS CMAKE_MATCH_1)
  message(FATAL_ERROR "the loss went from ${CMAKE_MATCH_1} to ${CMAKE_MATCH_2}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files
                ${FOLDER}/trained1.safetensors ${FOLDER}/trained2.safetensors
                RESULT_VARIABLE differ)
if(differ)
  message(FATAL_ERROR "two runs trained to different states")
endif()
# A second run starts where the first ended.
execute_process(
  COMMAND ${EXAMPLE} ${FOLDER}/program.tenon ${FOLDER}/trained1.safetensors
          ${FOLDER}/batch.safetensors 1 ${FOLDER}/trained3.safetensors
  OUTPUT_VARIABLE output RESULT_VARIABLE failed)
if(failed OR NOT output MATCHES "step 1 loss ([0-9.]+)\n" OR
   CMAKE_MATCH_1 GREATER 1.0)
  message(FATAL_ERROR "training did not resume: ${output}")
endif()
# Without a file of state it starts at zero, as the state in the file does.
execute_process(
  COMMAND ${EXAMPLE} ${FOLDER}/program.tenon -
          ${FOLDER}/batch.safetensors 40 ${FOLDER}/trained4.safetensors
  RESULT_VARIABLE failed)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files
                ${FOLDER}/trained1.safetensors ${FOLDER}/trained4.safetensors
                RESULT_VARIABLE differ)
if(failed OR differ)
  message(FATAL_ERROR "from zero it trained to another state")
endif()
# The example ends with exit code 1 and says what is wrong; it does not crash.
function(expect_error words state batch)
  execute_process(
    COMMAND ${EXAMPLE} ${FOLDER}/program.tenon ${FOLDER}/${state}
            ${FOLDER}/${batch} 1 ${FOLDER}/trained3.safetensors
    ERROR_VARIABLE message RESULT_VARIABLE failed)
  if(NOT failed EQUAL 1 OR NOT message MATCHES "${words}")
    message(FATAL_ERROR "exit ${failed}: ${message}")
  endif()
endfunction()
# The names of a tensor that a batch lacks, and of a missing file.
expect_error("'x' is missing" state.safetensors state.safetensors)
expect_error("missing.safetensors" missing.safetensors batch.safetensors)

# Where the libraries are missing (files of their names that are none), what calls
# none trains as ever, with a team too, and what calls one is refused by name.
execute_process(COMMAND ldd ${EXAMPLE} OUTPUT_VARIABLE needed RESULT_VARIABLE failed)
if(failed OR NOT needed MATCHES "libtenon-runtime.so" OR needed MATCHES "dnnl|lapack|blas|gomp|gfortran|OpenCL")
  message(FATAL_ERROR "the example needs:\n${needed}")
endif()
foreach(library dnnl.so.2 lapack.so.3 gomp.so.1)
  file(WRITE ${FOLDER}/missing/lib${library} "")
endforeach()
foreach(round there missing)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FOLDER}/${round}
            ${EXAMPLE} ${FOLDER}/kernels.tenon ${FOLDER}/state.safetensors
            ${FOLDER}/batch.safetensors 40 ${FOLDER}/libraries_${round}.safetensors
    OUTPUT_VARIABLE output ERROR_VARIABLE message RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "a program without library calls, libraries ${round}: ${output}${message}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${FOLDER}/libraries_there.safetensors ${FOLDER}/libraries_missing.safetensors
                RESULT_VARIABLE differ)
if(differ)
  message(FATAL_ERROR "without the libraries it trained to another state")
endif()
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FOLDER}/missing
          ${EXAMPLE} ${FOLDER}/program.tenon ${FOLDER}/state.safetensors
          ${FOLDER}/batch.safetensors 1 ${FOLDER}/refused.safetensors
  ERROR_VARIABLE message RESULT_VARIABLE failed)
if(NOT failed EQUAL 1 OR EXISTS ${FOLDER}/refused.safetensors OR NOT message MATCHES
   "calls oneDNN for matrix multiplication 48x1x32 f32.*libdnnl.so.2.*install the package libdnnl2")
  message(FATAL_ERROR "exit ${failed}: ${message}")
endif()
