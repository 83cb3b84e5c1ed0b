# One way to declare a library, an executable and generated code.
#
#   tenon_add_library(Name [MLIR] [TOGETHER] [PRECOMPILED Target] SOURCES a.cpp ... [LINK TenonX ...])
#   tenon_add_tool(name [MLIR] [TOGETHER] SOURCES a.cpp ... [LINK TenonX ...])
#   tenon_tablegen(TargetIncGen Folder/File.td -gen-op-decls File.h.inc ...)
#
# MLIR marks code that includes LLVM or MLIR headers: such code is compiled
# without exceptions. All code shares precompiled headers, one each for code with
# MLIR, code without, and tests without; TENON_NO_PCH builds without them.
# PRECOMPILED names the target whose precompiled header is taken instead.
#
# TOGETHER compiles several files at a time: files of such a folder instantiate the
# same templates of MLIR, and one compilation does so once. Names with internal
# linkage must then differ in the whole folder. TENON_TOGETHER says how many files;
# 1 compiles each alone, which is quicker where one file is changed again and again.

# Code with MLIR is linked to the shared libraries of LLVM and MLIR, or to their archives in an executable that has the
# property TENON_STATIC_LLVM, which links those itself.
set(TENON_LLVM)
foreach(library MLIR LLVM z zstd)
  list(APPEND TENON_LLVM $<$<NOT:$<BOOL:$<TARGET_PROPERTY:TENON_STATIC_LLVM>>>:${library}>)
endforeach()

set(TENON_TOGETHER 5 CACHE STRING "Files of a folder marked TOGETHER that are compiled at a time")

include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)

function(tenon_precompile target header)
  # -fPIC also for executables, or they could not share the precompiled headers.
  target_compile_options(${target} PRIVATE -fPIC)
  if(NOT "${target}" STREQUAL "${header}" AND NOT TENON_NO_PCH)
    target_precompile_headers(${target} REUSE_FROM ${header})
  endif()
endfunction()

# The second argument, if there is one, is the target with the precompiled header.
function(tenon_use_mlir target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  set(header ${ARGN})
  if(NOT header)
    set(header TenonPrecompiledHeader)
  endif()
  tenon_precompile(${target} ${header})
endfunction()

function(tenon_compile_together target)
  if(TENON_TOGETHER GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${TENON_TOGETHER})
  endif()
endfunction()

function(tenon_add_library name)
  cmake_parse_arguments(ARG "MLIR;SHARED;TOGETHER" "PRECOMPILED" "SOURCES;LINK" ${ARGN})
  if(ARG_SHARED)
    add_library(${name} SHARED ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  if(ARG_MLIR)
    tenon_use_mlir(${name} ${ARG_PRECOMPILED})
    target_link_libraries(${name} PUBLIC ${TENON_LLVM})
  else()
    tenon_precompile(${name} TenonStandardHeaders)
  endif()
  if(ARG_TOGETHER)
    tenon_compile_together(${name})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

function(tenon_add_tool name)
  cmake_parse_arguments(ARG "MLIR;TOGETHER" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_MLIR)
    tenon_use_mlir(${name})
  else()
    tenon_precompile(${name} TenonStandardHeaders)
  endif()
  if(ARG_TOGETHER)
    tenon_compile_together(${name})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE ${TENON_LLVM})
  endif()
endfunction()

# Runs mlir-tblgen on include/tenon/<td> for each pair (generator options, output
# name); LLVM before them runs llvm-tblgen instead. Outputs land beside <td> under
# the build folder's include/tenon and are built by the custom target <target>; call
# once per target.
function(tenon_tablegen target td)
  set(source ${CMAKE_SOURCE_DIR}/include/tenon/${td})
  get_filename_component(folder ${td} DIRECTORY)
  set(outputs)
  set(rest ${ARGN})
  set(generator ${MLIR_TABLEGEN_EXE})
  if("${ARGV2}" STREQUAL LLVM)
    list(POP_FRONT rest)
    set(generator ${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen)
  endif()
  while(rest)
    list(POP_FRONT rest options output)
    separate_arguments(options UNIX_COMMAND "${options}")
    set(out ${CMAKE_BINARY_DIR}/include/tenon/${folder}/${output})
    add_custom_command(
      OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/include/tenon/${folder}
      COMMAND ${generator} ${options} -I ${CMAKE_SOURCE_DIR}/include
              -I ${LLVM_INSTALL_PREFIX}/include ${source} -o ${out} --write-if-changed -d ${out}.d
      DEPENDS ${source}
      DEPFILE ${out}.d
      COMMENT "Generating ${folder}/${output}"
      VERBATIM)
    list(APPEND outputs ${out})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
