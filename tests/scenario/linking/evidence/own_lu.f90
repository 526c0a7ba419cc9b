! A program with a factorization of its own under LAPACK's name, as codes have that carry their LAPACK. The build chooses
! the size of integers (-fdefault-integer-8).
subroutine xerbla(name, info)
  character(*) :: name
  integer :: info
  print *, name, info
end subroutine

subroutine dgetrf(m, n, a, lda, ipiv, info)
  integer :: m, n, lda, ipiv(*), info, i, j, k, p
  double precision :: a(lda, *), t
  info = 0
  if (m < 0 .or. n < 0) then
    info = -1
    call xerbla('DGETRF', -info)
    return
  end if
  do k = 1, min(m, n)
    p = k
    do i = k + 1, m
      if (abs(a(i, k)) > abs(a(p, k))) p = i
    end do
    ipiv(k) = p
    do j = 1, n
      t = a(k, j); a(k, j) = a(p, j); a(p, j) = t
    end do
    a(k + 1:m, k) = a(k + 1:m, k)/a(k, k)
    do j = k + 1, n
      a(k + 1:m, j) = a(k + 1:m, j) - a(k + 1:m, k)*a(k, j)
    end do
  end do
end subroutine

program own
  implicit none
  integer, parameter :: n = 40
  double precision :: a(n, n), x(n), b(n)
  integer :: pivots(n), info, i, k
  call random_number(a)
  call random_number(x)
  b = matmul(a, x)
  pivots = -1
  info = -1
  call dgetrf(n, n, a, n, pivots, info)
  do k = 1, n
    i = pivots(k)
    if (i < k .or. i > n) info = 99
    if (info /= 0) exit
    b([k, i]) = b([i, k])
  end do
  do k = 1, n
    b(k + 1:n) = b(k + 1:n) - b(k)*a(k + 1:n, k)
  end do
  do k = n, 1, -1
    b(k) = b(k)/a(k, k)
    b(1:k - 1) = b(1:k - 1) - b(k)*a(1:k - 1, k)
  end do
  if (info == 0 .and. maxval(abs(b - x)) < 1d-8) then
    print '(a)', 'a solution: right'
  else
    print '(a)', 'a solution: WRONG'
  end if
end program
