# Install rules and the exported package: find_package(shardlab) gives the target shardlab::shardlab and all below it.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/shardlab")

# The libraries of ours that a target needs, itself included.
function(shardlab_closure target variable)
  set(found ${${variable}})
  if(target IN_LIST found)
    return()
  endif()
  list(APPEND found ${target})
  get_target_property(dependencies ${target} LINK_LIBRARIES)
  foreach(dependency IN LISTS dependencies)
    if(NOT dependency MATCHES "^shardlab::" OR NOT TARGET ${dependency})
      continue()
    endif()
    get_target_property(aliased ${dependency} ALIASED_TARGET)
    shardlab_closure(${aliased} found)
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# The headers of a library, spelled as in the sources: include/shardlab/runtime/core/mesh.h for "runtime/core/mesh.h".
function(shardlab_install_headers target)
  get_target_property(folder ${target} SOURCE_DIR)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
  install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/shardlab/${relative}" FILES_MATCHING PATTERN "*.h")
endfunction()

# <shardlab/NAME.h> for each header of runtime/shardlab: one line that includes it, so that no header is installed twice.
function(shardlab_install_public_headers)
  file(GLOB names RELATIVE "${PROJECT_SOURCE_DIR}/runtime/shardlab" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/shardlab/*.h")
  foreach(name IN LISTS names)
    set(forwarder "${PROJECT_BINARY_DIR}/install/include/${name}")
    file(CONFIGURE OUTPUT "${forwarder}" CONTENT "#pragma once\n#include \"runtime/shardlab/${name}\"\n")
    install(FILES "${forwarder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/shardlab")
  endforeach()
endfunction()

function(shardlab_install_package)
  set(libraries "")
  shardlab_closure(shardlab_shardlab libraries)
  foreach(library IN LISTS libraries)
    shardlab_install_headers(${library})
  endforeach()
  shardlab_install_public_headers()
  install(TARGETS ${libraries} EXPORT shardlabTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT shardlabTargets NAMESPACE shardlab:: DESTINATION "${package_dir}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/shardlabConfig.cmake.in" "${PROJECT_BINARY_DIR}/install/shardlabConfig.cmake"
    INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/install/shardlabConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/install/shardlabConfig.cmake" "${PROJECT_BINARY_DIR}/install/shardlabConfigVersion.cmake"
    DESTINATION "${package_dir}")
endfunction()

if(TARGET shardlab_shardlab)
  shardlab_install_package()
endif()
if(TARGET shardlab_cli)
  install(TARGETS shardlab_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
