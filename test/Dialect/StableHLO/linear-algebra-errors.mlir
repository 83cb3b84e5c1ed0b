// Constraints of linear algebra, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @cholesky_c1(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{'stablehlo.cholesky' op operand 0 and result 0 must have the same type, found 'tensor<3x3xf32>' and 'tensor<3x3xf64>'}}
  %r = "stablehlo.cholesky"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf64>
  return
}

// -----

func.func @cholesky_c2(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.cholesky' op 'a' has rank 1, expected at least 2}}
  %r = "stablehlo.cholesky"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @cholesky_c3(%a: tensor<5x3x4xf32>) {
  // expected-error@+1 {{'stablehlo.cholesky' op dimensions 1 and 2 of 'a' have sizes 3 and 4, expected a square matrix}}
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  return
}

// -----

func.func @triangular_solve_c1(%a: tensor<3x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op expected 'a' and 'b' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x4xf64>) -> tensor<3x4xf64>
  return
}

// -----

func.func @triangular_solve_c2(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op 'a' has rank 1, expected at least 2}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @triangular_solve_c2_b(%a: tensor<3x3xf32>, %b: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op 'b' has rank 3, expected the rank 2 of 'a'}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @triangular_solve_c3(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op dimensions 0 and 1 of 'a' have sizes 3 and 4, expected a square matrix}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @triangular_solve_c3_b(%a: tensor<2x3x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op batch dimension 0 has size 2 in 'a' and 5 in 'b', expected equal sizes}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  return
}

// -----

func.func @triangular_solve_c3_c(%a: tensor<3x3xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op dimension 0 of 'b' has size 4, expected 3, the order of the matrix 'a'}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @triangular_solve_c3_d(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op dimension 1 of 'b' has size 4, expected 3, the order of the matrix 'a'}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @triangular_solve_c4(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.triangular_solve' op expected 'b' and 'result' to have the same shape, found [3, 4] and [3, 5], which differ in dimension 1}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @fft_c1(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'fft_length' has 2 entries, expected at most the rank 1 of 'operand'}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4, 4>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @fft_c2(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.fft' op 'operand' has element type 'f32', expected a complex one for FFT}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>}> : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @fft_c2_b(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'result' has element type 'complex<f64>', expected 'complex<f32>' for IFFT}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 4>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f64>>
  return
}

// -----

func.func @fft_c2_c(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'operand' has element type 'complex<f32>', expected a real one for RFFT}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>}> : (tensor<4xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @fft_c2_d(%a: tensor<3xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'result' has element type 'f64', expected 'f32' for IRFFT}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4>}> : (tensor<3xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

func.func @fft_c3(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'fft_length' has 0 entries, expected 1, 2 or 3}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @fft_c3_b(%a: tensor<2x2x2x2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'fft_length' has 4 entries, expected 1, 2 or 3}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 2, 2, 2, 2>}> : (tensor<2x2x2x2xcomplex<f32>>) -> tensor<2x2x2x2xcomplex<f32>>
  return
}

// -----

func.func @fft_c4(%a: tensor<3x9xf32>) {
  // expected-error@+1 {{'stablehlo.fft' op dimension 1 of 'operand' has size 9, expected 8: found shape [3, 9], expected [3, 8], which ends in 'fft_length'}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
  return
}

// -----

func.func @fft_c4_b(%a: tensor<2x5xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op dimension 0 of 'result' has size 2, expected 3: found shape [2, 9], expected [3, 8], which ends in 'fft_length'}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 3, 8>}> : (tensor<2x5xcomplex<f32>>) -> tensor<2x9xf32>
  return
}

// -----

func.func @fft_c5(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op dimension 0 of 'result' has size 5, expected 4: found shape [5], expected [4], that of 'operand'}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>}> : (tensor<4xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @fft_c5_b(%a: tensor<3x8xf32>) {
  // expected-error@+1 {{'stablehlo.fft' op dimension 1 of 'result' has size 4, expected 5: found shape [3, 4], expected [3, 5], the real side's with n / 2 + 1 for the last n}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<3x8xf32>) -> tensor<3x4xcomplex<f32>>
  return
}

// -----

func.func @fft_c5_c(%a: tensor<2x5xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op dimension 0 of 'operand' has size 2, expected 3: found shape [2, 5], expected [3, 5], the real side's with n / 2 + 1 for the last n}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>}> : (tensor<2x5xcomplex<f32>>) -> tensor<3x8xf32>
  return
}

// -----

func.func @fft_c5_d(%a: tensor<5xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.fft' op 'result' has rank 2 and shape [1, 8], expected rank 1 and shape [5], the rank of 'operand'}}
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>}> : (tensor<5xcomplex<f32>>) -> tensor<1x8xf32>
  return
}
