! A program with a product of its own under BLAS's name, whose real numbers the build may widen (-fdefault-real-8).
subroutine sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
  character :: transa, transb
  integer :: m, n, k, lda, ldb, ldc, i, j
  real :: alpha, beta, a(lda, *), b(ldb, *), c(ldc, *)
  if (transa /= 'N' .or. transb /= 'N') then
    print *, 'more than this program asks for'
    return
  end if
  do j = 1, n
    if (beta == 0) then
      c(1:m, j) = 0
    else
      c(1:m, j) = beta*c(1:m, j)
    end if
    do i = 1, k
      c(1:m, j) = c(1:m, j) + alpha*b(i, j)*a(1:m, i)
    end do
  end do
end subroutine

program own
  implicit none
  integer, parameter :: n = 24
  real :: a(n, n), b(n, n), c(n, n)
  call random_number(a)
  call random_number(b)
  c = -1
  call sgemm('N', 'N', n, n, n, 1.0, a, n, b, n, 0.0, c, n)
  if (maxval(abs(c - matmul(a, b))) < 1e-4) then
    print '(a)', 'a product: right'
  else
    print '(a)', 'a product: WRONG'
  end if
end program
