// Names every family. A new one is one line here.
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

extern const FamilyDef kElementwiseFamily, kMoveFamily, kDynamicFamily, kReduceFamily, kScanFamily, kOrderFamily, kGatherFamily,
    kScatterFamily, kRandomFamily, kMatrixFamily, kConvolutionFamily, kFourierFamily, kDecomposeFamily;

const FamilyDef* family_of(const OpDef& op) {
  for (const FamilyDef* family :
       {&kElementwiseFamily, &kMoveFamily, &kDynamicFamily, &kReduceFamily, &kScanFamily, &kOrderFamily, &kGatherFamily, &kScatterFamily,
        &kRandomFamily, &kMatrixFamily, &kConvolutionFamily, &kFourierFamily, &kDecomposeFamily})
    if (family->has(op)) return family;
  return nullptr;
}

}  // namespace shardlab::cuda
