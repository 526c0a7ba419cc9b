"""The program that the pages call scf.py, train.py, script.py or workflow.py."""

import numpy

matrix = numpy.random.default_rng(1).random((400, 400))
vectors = numpy.eye(400)
for _ in range(20):
    vectors = matrix @ vectors
    vectors /= abs(vectors).max()
print(vectors[0, 0])
