! A Fortran program that was linked with a BLAS.
program products
  implicit none
  integer, parameter :: n = 24
  double precision :: a(n, n), b(n, n), c(n, n)
  integer :: call
  call random_number(a)
  call random_number(b)
  do call = 1, 3
    a(call, 1) = a(call, 1) + 1
    call dgemm('N', 'N', n, n, n, 1d0, a, n, b, n, 0d0, c, n)
    if (maxval(abs(c - matmul(a, b))) < 1d-12) then
      print '(a)', 'a product: right'
    else
      print '(a)', 'a product: WRONG'
    end if
  end do
end program products
