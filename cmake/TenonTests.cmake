# One way to register a test. `ctest` runs what is registered here and nothing
# else exists: test/run.py is ctest with the names of all suites and a count.
#
#   tenon_add_test(Name KIND gtest|lit|pytest|program COMMAND ...
#                  [COST seconds] [PROCESSORS 2] [ALONE])
#   tenon_add_unit_tests(TenonXTests [MLIR] [OPTIMIZED] SOURCES a.cpp ...
#                        [LINK TenonX ...] [THREADED pattern] [COST seconds]
#                        [PROCESSORS 2] [SHARDS N])
#
# KIND says how test/run.py counts; a program is one test that passes with exit
# code 0. COST starts long suites first, PROCESSORS 2 is for what keeps two
# threads busy, ALONE for what measures time. THREADED names the tests that start
# threads, which are all that the thread sanitizer looks at. With SHARDS the tests
# of one program are suites X.1 to X.N, which run side by side.
#
# Unit tests without MLIR are compiled without optimization, which halves the time
# that it takes; what they test is optimized as ever. OPTIMIZED is for those that
# compute much themselves.

set(TENON_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH
    "Python with the packages of python/requirements.txt")

function(tenon_add_test name)
  cmake_parse_arguments(ARG "ALONE" "KIND;COST;PROCESSORS" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    LABELS ${ARG_KIND} TIMEOUT 3600 ENVIRONMENT TENON_BUILD=${CMAKE_BINARY_DIR})
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(ARG_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_PROCESSORS})
  endif()
  if(ARG_ALONE)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# A program may be registered several times with other arguments.
function(tenon_add_unit_test_program name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  if(ARG_MLIR)
    tenon_add_tool(${name} MLIR SOURCES ${ARG_SOURCES} LINK ${ARG_LINK} GTest::gtest)
  else()
    add_executable(${name} ${ARG_SOURCES})
    if(ARG_OPTIMIZED)
      tenon_precompile(${name} TenonOptimizedTestHeaders)
    else()
      tenon_precompile(${name} TenonTestHeaders)
      target_compile_options(${name} PRIVATE -O0)
    endif()
    target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest)
  endif()
endfunction()

function(tenon_add_unit_tests name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "THREADED;COST;PROCESSORS;SHARDS" "SOURCES;LINK" ${ARGN})
  set(kind)
  foreach(option IN ITEMS MLIR OPTIMIZED)
    if(ARG_${option})
      list(APPEND kind ${option})
    endif()
  endforeach()
  tenon_add_unit_test_program(${name} ${kind} SOURCES ${ARG_SOURCES}
                              LINK ${ARG_LINK} GTest::gtest_main)
  set(command COMMAND ${name})
  if(ARG_THREADED AND TENON_SANITIZE STREQUAL "thread")
    list(APPEND command --gtest_filter=${ARG_THREADED})
  endif()
  if(NOT ARG_SHARDS)
    tenon_add_test(${name} KIND gtest COST ${ARG_COST} PROCESSORS ${ARG_PROCESSORS} ${command})
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    tenon_add_test(${name}.${shard} KIND gtest COST ${ARG_COST} PROCESSORS ${ARG_PROCESSORS} ${command})
    math(EXPR index "${shard} - 1")
    set_property(TEST ${name}.${shard} APPEND PROPERTY ENVIRONMENT
      GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
  endforeach()
endfunction()
