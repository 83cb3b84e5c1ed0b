//===- StochasticRounding.td - Rounding up or down by chance -------------===//
//
// How a step writes state that it holds in 16 bits
// (docs/Rationale/StochasticRounding.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_STOCHASTICROUNDING_TD
#define TENON_DIALECT_STEP_STOCHASTICROUNDING_TD

include "tenon/Dialect/Step/Step.td"

def Step_StochasticRoundOp : Step_Op<"stochastic_round", [Pure]> {
  let summary = "f32 rounded to one of the two nearest bf16, by chance";
  let description = [{
    Of the two numbers of bf16 around an element, the one farther from zero is
    taken with the share of the way to it that the element has gone, so that the
    mean is the element itself. Which one depends on `step`, `key` and the
    element's row-major index i in the tensor alone. In whole numbers modulo 2^32:

        mix(x):  x ^= x >> 17    x *= 0xed5ad4bb    x ^= x >> 11
                 x *= 0xac4c1b51    x ^= x >> 15    x *= 0x31848bab
                 x ^= x >> 14
        k0     = mix(key[0] ^ step)
        k1     = mix(key[1] ^ k0)
        x      = i ^ k0
        x     ^= x >> 17    x *= 0xed5ad4bb    x += k1
        x     ^= x >> 11    x *= 0xac4c1b51
        x     ^= x >> 15    x *= 0x31848bab
        result = upper 16 bits of (bits of the element + (x >> 16))

    Numbers of bf16, zeros and infinities stay as they are, NaN stays NaN. Above
    the largest finite bf16 there is no second number: such elements are rounded
    to nearest, infinite from half way to 2^128 on. Subnormal numbers are rounded
    as others are, or taken as zeros where the step flushes them.

    A part of a tensor that was cut over devices has the index of each of its
    elements in the whole tensor as the operand `indices`, of `ui32`.

    The two words of `key` tell tensors and seeds apart: `roundingKey` in
    StochasticRounding.h.

    ```mlir
    %0 = step.stochastic_round %update, %step, %key
        : (tensor<768x3072xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<768x3072xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, AnyRankedTensor:$step,
                       AnyRankedTensor:$key,
                       Optional<AnyRankedTensor>:$indices);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $value `,` $step `,` $key (`,` $indices^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_STEP_STOCHASTICROUNDING_TD
