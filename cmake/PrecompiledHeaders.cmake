# Precompiled headers, each made once and shared by all targets of its kind: `library`, and `test` with GoogleTest; `api_test` has the whole
# interface too, and gui/ and tests/gui add kinds with Qt's widgets. GCC takes a precompiled header only if it was made with the same code
# options, hence one for each kind of target.
# Measured with GCC 12 at -O3: a small library file 0.5 s without, 0.25 s with; a test 1.5 s and 0.6 s, one of the window 8.7 s and 5.8 s.
# nlohmann/json.hpp stays out: it would cost every file 0.4 s and save as much only where it is used.
set(SHARDLAB_PCH_LIBRARY_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <condition_variable> <cstddef> <cstdint> <cstring> <deque>
  <filesystem> <fstream> <functional> <initializer_list> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional>
  <random> <set> <source_location> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
set(SHARDLAB_PCH_TEST_HEADERS ${SHARDLAB_PCH_LIBRARY_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
set(SHARDLAB_PCH_WIDGET_HEADERS
  <QApplication> <QComboBox> <QDialog> <QFile> <QHeaderView> <QImage> <QLabel> <QLineEdit> <QMouseEvent> <QPainter> <QPainterPath>
  <QPushButton> <QRegularExpression> <QSettings> <QSplitter> <QTableView> <QTextBrowser> <QTimer> <QToolTip> <QTreeView> <QVBoxLayout>)

# shardlab_make_pch(KIND DEFAULTS function HEADERS … DEPS … [OPTIONS …]): the target shardlab_pch_KIND, which owns the compiled header.
function(shardlab_make_pch kind)
  cmake_parse_arguments(ARG "" "DEFAULTS" "HEADERS;DEPS;OPTIONS" ${ARGN})
  if(NOT SHARDLAB_PCH)
    return()
  endif()
  set(source "${PROJECT_BINARY_DIR}/pch/${kind}.cpp")
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "")
  endif()
  add_library(shardlab_pch_${kind} OBJECT "${source}")
  cmake_language(CALL ${ARG_DEFAULTS} shardlab_pch_${kind})
  target_link_libraries(shardlab_pch_${kind} PRIVATE Threads::Threads ${ARG_DEPS})
  target_compile_options(shardlab_pch_${kind} PRIVATE ${ARG_OPTIONS} $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(shardlab_pch_${kind} PRIVATE ${ARG_HEADERS})
endfunction()

# What tests are compiled with: -fPIE, as the programs that they are.
function(shardlab_make_test_pch kind)
  shardlab_make_pch(${kind} DEFAULTS shardlab_test_defaults OPTIONS -fPIE ${ARGN})
  if(TARGET shardlab_pch_${kind})
    set_target_properties(shardlab_pch_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
endfunction()

# Called once the dependencies are known.
function(shardlab_make_pchs)
  shardlab_make_pch(library DEFAULTS shardlab_target_defaults HEADERS ${SHARDLAB_PCH_LIBRARY_HEADERS} DEPS fmt::fmt)
  if(SHARDLAB_BUILD_TESTS)
    shardlab_make_test_pch(test HEADERS ${SHARDLAB_PCH_TEST_HEADERS} DEPS fmt::fmt GTest::gmock GTest::gtest)
  endif()
endfunction()

function(shardlab_use_pch target kind)
  if(NOT SHARDLAB_PCH OR NOT TARGET shardlab_pch_${kind})
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM shardlab_pch_${kind})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess -Winvalid-pch>)
endfunction()
