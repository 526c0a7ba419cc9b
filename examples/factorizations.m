% Factorizations and a transform of one matrix: what Octave's \, chol, eig, svd and fft2 pass to LAPACK and FFTW.
% Usage: octave-cli factorizations.m [ORDER [ROUNDS]]
arguments = str2double(argv());
order = 1000;
rounds = 3;
if numel(arguments) > 0, order = arguments(1); end
if numel(arguments) > 1, rounds = arguments(2); end

general = sin(0.7 * (1:order)' * (1:order)) + 10 * eye(order);
definite = general' * general / order;
sums = zeros(1, 5);
tic;
for round = 1:rounds
  right = cos(0.3 * (1:order)' + (1:32) + round);
  sums(1) += sum(sumsq(general \ right));
  sums(2) += sum(diag(chol(definite)));
  [vectors, values] = eig(definite);
  sums(3) += sum(diag(values) .^ 2) + sum(sumsq(vectors' * right));
  [left, scales, unused] = svd(general);
  sums(4) += sum(diag(scales)) + sum(sumsq(left' * right));
  sums(5) += sum(sum(abs(fft2(general)))) / order;
end
elapsed = toc;
printf("solve = %.13e\nchol = %.13e\neig = %.13e\nsvd = %.13e\nfft2 = %.13e\n", sums);
printf("seconds: %.3f\n", elapsed);
