// Constraints of batch normalisation, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @batch_norm_training_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op 'feature_index' is 2, expected a dimension of 'operand' of rank 2 (at least 0, less than 2)}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c2(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf16>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op expected 'operand' and 'offset' to have the same element type, found 'f32' and 'f16'}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf16>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c3(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op dimension 0 of 'scale' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c4(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op dimension 0 of 'offset' has size 4, expected 3: found shape [4], expected [3], one element for each feature of 'operand'}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c5(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op dimension 0 of 'batch_mean' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c6(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op 'batch_var' has rank 2 and shape [3, 1], expected rank 1 and shape [3], one element for each feature of 'operand'}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3x1xf32>)
  return
}

// -----

func.func @batch_norm_training_c7(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_training' op expected 'operand' and 'output' to have the same shape, found [2, 3] and [2, 4], which differ in dimension 1}}
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_inference_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op 'feature_index' is -1, expected a dimension of 'operand' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = -1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c2(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf64>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op expected 'operand' and 'variance' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c3(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op dimension 0 of 'scale' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c4(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op dimension 0 of 'offset' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c5(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>, %e: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op dimension 0 of 'mean' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c6(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op dimension 0 of 'variance' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c7(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op expected 'operand' and 'result' to have the same shape, found [2, 3] and [3, 2], which differ in dimension 0}}
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @batch_norm_grad_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op 'feature_index' is 2, expected a dimension of 'operand' of rank 2 (at least 0, less than 2)}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c2(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op expected 'operand' and 'grad_offset' to have the same element type, found 'f32' and 'f16'}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf16>)
  return
}

// -----

func.func @batch_norm_grad_c3(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x4xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op expected 'operand' and 'grad_output' to have the same shape, found [2, 3] and [2, 4], which differ in dimension 1}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c3_b(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op expected 'operand' and 'grad_operand' to have the same shape, found [2, 3] and [3, 3], which differ in dimension 0}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c4(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>, %e: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op expected 'scale' and 'variance' to have the same shape, found [3] and [4], which differ in dimension 0}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c5(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.batch_norm_grad' op dimension 0 of 'scale' has size 2, expected 3: found shape [2], expected [3], one element for each feature of 'operand'}}
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}
