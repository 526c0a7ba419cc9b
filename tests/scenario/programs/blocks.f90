! Blocks in Fortran: a product of matrices, the program's own memory, and an error.
program blocks
  use, intrinsic :: iso_c_binding
  use blastoff_blocks
  implicit none
  integer, parameter :: n = 30
  real(c_double), target :: mine(n, n)
  real(c_double) :: a(n, n), b(n, n)
  type(blastoff_block) :: first, second, result
  type(blastoff_blocks_counters) :: counters
  type(c_ptr) :: address
  real(c_double), pointer :: matrix(:, :)
  integer(c_int) :: devices, place, status
  integer :: i, j
  logical :: right
  character(len=:), allocatable :: text

  right = .true.
  devices = blastoff_blocks_devices()
  place = blastoff_host
  if (devices > 0) place = 0
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 3 + j, 7)
      mine(i, j) = mod(i + j * 5, 9)
    end do
  end do
  call check(blastoff_block_create(c_sizeof(a), first), 'create')
  call check(blastoff_block_create(c_sizeof(a), result), 'create')
  call check(blastoff_block_create_over(c_loc(mine), c_sizeof(mine), second), 'create over')
  call check(blastoff_block_acquire(first, blastoff_host, blastoff_write, c_null_ptr, address), 'acquire')
  call c_f_pointer(address, matrix, [n, n])
  matrix = a
  call check(blastoff_block_release(first, blastoff_host, c_null_ptr), 'release')
  call check(blastoff_contract(1d0, first, 'ik', [n, n], second, 'kj', [n, n], 0d0, result, 'ij', [n, n], place), 'contract')
  mine(2, 3) = 100
  call check(blastoff_contract(2d0, first, 'ik', [n, n], second, 'kj', [n, n], -1d0, result, 'ij', [n, n], place), 'contract')
  b = mine
  b(2, 3) = mod(2 + 3 * 5, 9)
  call check(blastoff_block_acquire(result, blastoff_host, blastoff_read, c_null_ptr, address), 'acquire')
  call c_f_pointer(address, matrix, [n, n])
  right = right .and. all(abs(matrix - (2 * matmul(a, mine) - matmul(a, b))) < 1d-9)
  call check(blastoff_block_release(result, blastoff_host, c_null_ptr), 'release')
  call check(blastoff_fill(result, 2.5d0, place), 'fill')
  call check(blastoff_block_acquire(result, blastoff_host, blastoff_read, c_null_ptr, address), 'acquire')
  right = right .and. all(abs(matrix - 2.5d0) < 1d-15)
  call check(blastoff_block_release(result, blastoff_host, c_null_ptr), 'release')
  status = blastoff_block_release(result, blastoff_host, c_null_ptr)
  right = right .and. status == blastoff_not_held
  text = blastoff_blocks_text()
  right = right .and. index(text, 'nobody holds it') > 0
  status = blastoff_contract(1d0, first, 'ik', [n], second, 'kj', [n, n], 0d0, result, 'ij', [n, n], place)
  right = right .and. status == blastoff_bad_argument
  call check(blastoff_blocks_get_counters(counters), 'counters')
  right = right .and. counters%contractions == 2 .and. counters%flops > 0
  call check(blastoff_block_destroy(first), 'destroy')
  call check(blastoff_block_destroy(second), 'destroy')
  call check(blastoff_block_destroy(result), 'destroy')
  print '(i0, a)', devices, ' devices: ' // merge('right', 'WRONG', right)
  if (.not. right) error stop 1

contains

  subroutine check(status, what)
    integer(c_int), intent(in) :: status
    character(len=*), intent(in) :: what
    if (status == blastoff_ok) return
    print '(3a)', what, ': WRONG: ', blastoff_blocks_text()
    right = .false.
  end subroutine
end program
