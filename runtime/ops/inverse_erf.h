// The kernel of erf_inv.
#pragma once

namespace shardlab::ops {

float inverse_erf(float x);
double inverse_erf(double x);

}  // namespace shardlab::ops
