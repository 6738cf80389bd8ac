#include "traces/trace_reader.h"
