% Repeated least squares with one design matrix, by normal equations. Usage: octave-cli regression.m [ROWS [ROUNDS]]
arguments = str2double(argv());
rows = 2000;
rounds = 10;
if numel(arguments) > 0, rows = arguments(1); end
if numel(arguments) > 1, rounds = arguments(2); end
columns = floor(rows / 2);

design = sin(0.7 * (1:rows)' * (1:columns)) + 10 * eye(rows, columns);
total = 0;
tic;
for round = 1:rounds
  response = cos(0.3 * (1:rows)' + (1:64) + round);
  normal = design' * design;
  solution = normal \ (design' * response);
  total = total + sum(sumsq(design * solution - response));
end
elapsed = toc;
printf("sum of squares = %.14e\n", total);
printf("seconds: %.3f\n", elapsed);
