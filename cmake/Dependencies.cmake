# Finds every dependency; what is optional and missing is switched off and named in SHARDLAB_SUMMARY.
set(SHARDLAB_SUMMARY "")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

find_package(Qt6 6.4 QUIET COMPONENTS Widgets)
set(SHARDLAB_HAVE_QT ${Qt6_FOUND})
if(Qt6_FOUND)
  list(APPEND SHARDLAB_SUMMARY "workbench: on (Qt ${Qt6_VERSION})")
else()
  list(APPEND SHARDLAB_SUMMARY "workbench: off (Qt 6.4 Widgets not found; install qt6-base-dev)")
endif()

if(SHARDLAB_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
