# Compiles through ccache where it is installed. Precompiled headers need two of its checks relaxed. It learns what a file includes from the
# compiler and does not preprocess it first: of 37 files, none of them cached, that took 117 s and not 139 s (112 s without ccache).
# The price: paths are hashed as they are, so that clones do not share what they compile. CCACHE_BASEDIR would share it, but a
# second clone's objects then name the first one's sources (std::source_location), as seen with ccache 4.7: records and errors would, too.
find_program(SHARDLAB_CCACHE ccache)
if(SHARDLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${SHARDLAB_CCACHE}")
endif()
