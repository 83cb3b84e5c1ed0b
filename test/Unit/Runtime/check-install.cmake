# cmake -DBUILD=build/dev -DSOURCE=. -DSAMPLE=... -DFOLDER=... -P check-install.cmake
#
# Installs the development package, moves it, builds the C example outside the tree in both ways, and trains SAMPLE with it.
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${ARGV} failed:\n${output}")
  endif()
  string(STRIP "${output}" output)
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/first --component Runtime)
file(RENAME ${FOLDER}/first ${FOLDER}/moved)
file(GLOB_RECURSE installed RELATIVE ${FOLDER}/moved ${FOLDER}/moved/*)
if(NOT installed MATCHES "libtenon-runtime.so.0.2" OR installed MATCHES "bin/")
  message(FATAL_ERROR "the component installs ${installed}")
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/tools --component Tools)
foreach(file bin/tenon share/man/man1/tenon.1 share/man/man1/tenon-run.1 share/bash-completion/completions/tenon
        share/zsh/site-functions/_tenon share/fish/vendor_completions.d/tenon.fish)
  if(NOT EXISTS ${FOLDER}/tools/${file})
    message(FATAL_ERROR "the component Tools does not install ${file}")
  endif()
endforeach()
file(COPY ${SOURCE}/examples/train_without_python DESTINATION ${FOLDER})
set(example ${FOLDER}/train_without_python)

run(${CMAKE_COMMAND} -S ${example} -B ${FOLDER}/cmake -DCMAKE_PREFIX_PATH=${FOLDER}/moved)
run(${CMAKE_COMMAND} --build ${FOLDER}/cmake)
# Another minor version is another interface before 1.0.
file(WRITE ${FOLDER}/other/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.25)\nproject(Other LANGUAGES NONE)\nfind_package(Tenon 0.1 REQUIRED)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${FOLDER}/other -B ${FOLDER}/other/build -DCMAKE_PREFIX_PATH=${FOLDER}/moved
                OUTPUT_QUIET ERROR_VARIABLE message RESULT_VARIABLE failed)
if(NOT failed OR NOT message MATCHES "version: 0.2.0")
  message(FATAL_ERROR "version 0.1 was found: ${message}")
endif()

file(GLOB_RECURSE description ${FOLDER}/moved/*/tenon-runtime.pc)
get_filename_component(folder ${description} DIRECTORY)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} pkg-config --cflags --libs tenon-runtime)
separate_arguments(flags UNIX_COMMAND "${output}")
get_filename_component(libraries ${folder} DIRECTORY)
run(cc ${example}/train.c ${flags} -o ${FOLDER}/train)

foreach(program ${FOLDER}/cmake/train ${FOLDER}/train)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${libraries} ${program} ${SAMPLE}/program.tenon ${SAMPLE}/state.safetensors
      ${SAMPLE}/batch.safetensors 40 ${FOLDER}/trained.safetensors)
  run(${CMAKE_COMMAND} -E compare_files ${FOLDER}/trained.safetensors ${SAMPLE}/trained1.safetensors)
  # It asks for the library by the name that changes with the interface.
  run(readelf -d ${program})
  if(NOT output MATCHES "NEEDED[^\n]*libtenon-runtime\\.so\\.0\\.2\\]")
    message(FATAL_ERROR "${program} needs\n${output}")
  endif()
endforeach()
