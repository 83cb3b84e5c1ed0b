# cmake -DCOMPILER=clang++ -DVERSION=0.2.0 -DSOURCE=. -DFOLDER=... [-DWRITE=ON] -P check-interface.cmake
#
# Compares the binary interface of the C library, as debug information describes it, with runtime.abi, by libabigail. Every
# change of a function, struct or enumerator fails until the dump is written anew with WRITE, which shows it in the diff of a
# commit. Then a field is put into the middle of a struct, to see that the comparison finds it.
set(dump ${CMAKE_CURRENT_LIST_DIR}/runtime.abi)

# Writes FOLDER/name.abi for the header in `include`.
function(dump_interface name include)
  # Other libraries are not needed to read what is said of types.
  execute_process(COMMAND ${COMPILER} -std=c++20 -g -fPIC -shared -fvisibility=hidden -fuse-ld=lld "-DTENON_VERSION=\"${VERSION}\""
                          -I${include} -Iinclude -Ilib -I. lib/Runtime/CInterface.cpp -o ${FOLDER}/${name}.so
                          -Wl,--version-script=lib/Runtime/Exports.map -Wl,--unresolved-symbols=ignore-all
                  WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND abidw --suppressions ${CMAKE_CURRENT_LIST_DIR}/interface-types.ini --no-show-locs
                          --no-comp-dir-path --no-corpus-path --out-file ${FOLDER}/${name}.abi ${FOLDER}/${name}.so
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Sets `difference` and `differs`.
function(compare name)
  execute_process(COMMAND abidiff --suppressions ${CMAKE_CURRENT_LIST_DIR}/opaque-types.ini ${dump} ${FOLDER}/${name}.abi
                  OUTPUT_VARIABLE difference RESULT_VARIABLE differs)
  set(difference "${difference}" PARENT_SCOPE)
  set(differs ${differs} PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/planted/tenon)
dump_interface(present ${SOURCE}/include)
if(WRITE)
  file(COPY_FILE ${FOLDER}/present.abi ${dump})
  message(STATUS "wrote ${dump}")
  return()
endif()
compare(present)
if(differs)
  message(FATAL_ERROR "the C interface is not that of runtime.abi:\n${difference}\nIf that is meant, raise the version in "
    "include/tenon/runtime.h as it says there, and run\n  cmake -DCOMPILER=${COMPILER} -DVERSION=${VERSION} -DSOURCE=${SOURCE} -DFOLDER=${FOLDER} "
    "-DWRITE=ON -P ${CMAKE_CURRENT_LIST_FILE}")
endif()

file(READ ${SOURCE}/include/tenon/runtime.h header)
string(REPLACE "  uint32_t prefault; " "  uint32_t planted;\n  uint32_t prefault; " planted "${header}")
if(planted STREQUAL header)
  message(FATAL_ERROR "runtime.h has no field 'prefault' to plant another one before")
endif()
file(WRITE ${FOLDER}/planted/tenon/runtime.h "${planted}")
dump_interface(planted ${FOLDER}/planted)
compare(planted)
if(NOT differs OR NOT difference MATCHES "tenon_options" OR NOT difference MATCHES "'uint32_t planted'")
  message(FATAL_ERROR "abidiff does not see a field that was put into tenon_options:\n${difference}")
endif()
