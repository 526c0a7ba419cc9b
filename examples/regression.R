# Repeated least squares with one design matrix, by normal equations. Usage: Rscript regression.R [ROWS [ROUNDS]]
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
rows <- if (length(arguments) > 0) arguments[1] else 2000L
rounds <- if (length(arguments) > 1) arguments[2] else 10L
columns <- rows %/% 2L

design <- outer(seq_len(rows), seq_len(columns), function(i, j) sin(0.7 * i * j) + (i == j) * 10)
total <- 0
elapsed <- system.time(for (round in seq_len(rounds)) {
  response <- outer(seq_len(rows), seq_len(64L), function(i, j) cos(0.3 * i + j + round))
  normal <- crossprod(design)
  solution <- solve(normal, crossprod(design, response))
  total <- total + sum((design %*% solution - response)^2)
})[["elapsed"]]
cat(sprintf("sum of squares = %.14e\n", total))
cat(sprintf("seconds: %.3f\n", elapsed))
