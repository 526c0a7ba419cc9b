"""Block power iteration on a symmetric matrix, as in a NumPy script. Usage: power_iteration.py [ORDER [ITERATIONS]]"""

import sys
import time

import numpy

order = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 20
block = max(1, order // 4)

i = numpy.arange(order)
matrix = numpy.cos(0.01 * numpy.outer(i, i) % 6.28) / order
matrix = matrix + matrix.T + numpy.diag(1.0 + i / order)
vectors = numpy.sin(1.0 + numpy.outer(i, numpy.arange(block)) % 17.0)

start = time.perf_counter()
for iteration in range(iterations):
    vectors = matrix @ vectors  # the matrix is the same every time, so it is uploaded once
    vectors /= numpy.linalg.norm(vectors, axis=0)  # computed on the CPU
    gram = vectors.T @ vectors
    matrix[iteration % order, iteration % order] += 1e-3  # writes one page of the matrix
image = matrix @ vectors
seconds = time.perf_counter() - start

print(f"largest Rayleigh quotient = {numpy.max(numpy.sum(vectors * image, axis=0)):.14e}")
print(f"trace of the Gram matrix = {numpy.trace(gram):.14e}")
print(f"norm of the image = {numpy.linalg.norm(image):.14e}")
print(f"seconds: {seconds:.3f}")
