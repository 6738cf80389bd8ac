# Build options, and the helpers every target is made with.
include(GNUInstallDirs)

option(SHARDLAB_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SHARDLAB_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(SHARDLAB_WERROR "Treat warnings as errors" OFF)
option(SHARDLAB_UNITY "Compile several files of a library at a time, where it allows that: quick from scratch, slower after a change" OFF)
option(SHARDLAB_PCH "Precompile the standard headers, fmt and GoogleTest" ON)
set(SHARDLAB_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

include(CompilerCache)
include(PrecompiledHeaders)

find_program(SHARDLAB_MOLD mold)
if(SHARDLAB_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Adds a folder once, and only if it has content.
function(shardlab_subdirectory folder)
  get_property(added GLOBAL PROPERTY SHARDLAB_SUBDIRECTORIES)
  set(path "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  if(NOT EXISTS "${path}/CMakeLists.txt" OR path IN_LIST added)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY SHARDLAB_SUBDIRECTORIES "${path}")
  add_subdirectory("${folder}")
endfunction()

# Floating point is the same everywhere: no contraction into fused multiply-adds, so that results do not depend on the machine; no errno
# and no traps, so that loops vectorise.
function(shardlab_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
  # GCC looks for garbage from half a gigabyte on: a tenth quicker for a hundred megabytes.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
  if(SHARDLAB_WERROR)
    target_compile_options(${target} PRIVATE -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=invalid-pch>)
  endif()
  if(SHARDLAB_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SHARDLAB_SANITIZE} -fno-omit-frame-pointer)
    # GCC's analysis of what may be uninitialized mistakes instrumented code (its manual says so of -fsanitize).
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${SHARDLAB_SANITIZE})
  endif()
endfunction()

# shardlab_library(NAME SOURCES a.cpp … DEPS other … [PRIVATE_DEPS …] [PCH kind] [JOINED [ALONE b.cpp …]]): a static library shardlab_NAME
# with alias shardlab::NAME. With SHARDLAB_UNITY the files of a JOINED one are compiled eight at a time, which takes a third of the time; names
# in their anonymous namespaces must differ. Those that define a thing each, by names that are the same in all (an op, a check, a view), are
# compiled ALONE.
# Includes are written from the repository's root ("runtime/core/mesh.h"); only <shardlab/shardlab.h> is special.
function(shardlab_library name)
  cmake_parse_arguments(ARG "JOINED" "PCH" "SOURCES;DEPS;PRIVATE_DEPS;ALONE" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH library)
  endif()
  set(target shardlab_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(shardlab::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  shardlab_target_defaults(${target})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/shardlab>")
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  shardlab_use_pch(${target} ${ARG_PCH})
  if(SHARDLAB_UNITY AND ARG_JOINED)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# shardlab_executable(NAME SOURCES … DEPS …): a program in build/PRESET/bin.
function(shardlab_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  shardlab_target_defaults(${name})
  # -fPIC and not CMake's -fPIE: the libraries' precompiled header is then good for programs too.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  shardlab_use_pch(${name} library)
  set_property(GLOBAL APPEND PROPERTY SHARDLAB_PROGRAMS ${name})
endfunction()

# Tests are compiled with less optimisation: it took two thirds of their time, and what they test is in the libraries.
function(shardlab_test_defaults target)
  shardlab_target_defaults(${target})
  # What may be uninitialized GCC finds out while it optimises: at -Og it errs.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og> $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endfunction()

# shardlab_test(NAME SOURCES … DEPS … [TIMEOUT s] [LABELS …] [ENVIRONMENT A=1 …] [PCH kind]): one GoogleTest program = one CTest test,
# always with a limit. It runs in the repository's root.
function(shardlab_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PCH" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_PCH)
    set(ARG_PCH test)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  shardlab_test_defaults(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  shardlab_use_pch(${name} ${ARG_PCH})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "SHARDLAB_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};SHARDLAB_SOURCE_DIR=${PROJECT_SOURCE_DIR};${ARG_ENVIRONMENT}")
endfunction()

# `programs`: all that lands in bin, without the tests.
function(shardlab_programs_target)
  get_property(programs GLOBAL PROPERTY SHARDLAB_PROGRAMS)
  add_custom_target(programs DEPENDS ${programs})
endfunction()

function(shardlab_summary)
  foreach(line IN LISTS SHARDLAB_SUMMARY)
    message(STATUS "shardlab: ${line}")
  endforeach()
endfunction()
