# Factorizations of one matrix, which R's solve, chol, eigen and svd pass to LAPACK. Usage: Rscript factorizations.R [ORDER [ROUNDS]]
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
order <- if (length(arguments) > 0) arguments[1] else 1000L
rounds <- if (length(arguments) > 1) arguments[2] else 3L

general <- outer(seq_len(order), seq_len(order), function(i, j) sin(0.7 * i * j) + (i == j) * 10)
definite <- crossprod(general) / order
sums <- c(solve = 0, chol = 0, eigen = 0, svd = 0)
elapsed <- system.time(for (round in seq_len(rounds)) {
  right <- outer(seq_len(order), seq_len(32L), function(i, j) cos(0.3 * i + j + round))
  sums["solve"] <- sums["solve"] + sum(solve(general, right)^2)
  sums["chol"] <- sums["chol"] + sum(diag(chol(definite)))
  spectrum <- eigen(definite, symmetric = TRUE)
  sums["eigen"] <- sums["eigen"] + sum(spectrum$values^2) + sum((crossprod(spectrum$vectors, right))^2)
  decomposition <- svd(general)
  sums["svd"] <- sums["svd"] + sum(decomposition$d) + sum((crossprod(decomposition$u, right))^2)
})[["elapsed"]]
for (name in names(sums)) cat(sprintf("%s = %.13e\n", name, sums[[name]]))
cat(sprintf("seconds: %.3f\n", elapsed))
