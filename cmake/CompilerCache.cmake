# Compiles through ccache where it is installed. Precompiled headers need two of its checks relaxed.
find_program(SHARDLAB_CCACHE ccache)
if(SHARDLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${SHARDLAB_CCACHE}")
endif()
