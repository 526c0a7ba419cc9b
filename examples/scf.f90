! A self-consistent loop as plane-wave and multiple-scattering codes have it, reduced to its linear algebra: complex products and
! a triangular solve with matrices that stay the same, a density built from orbitals, and a Hamiltonian of which the CPU changes
! the diagonal between iterations. Usage: scf [ORDER [ITERATIONS]]
program scf
  implicit none
  integer, parameter :: dp = kind(1d0)
  complex(dp), parameter :: one = (1, 0), zero = (0, 0)
  real(dp), parameter :: mixing = 0.3_dp
  integer :: n, bands, iterations, i, j, iteration
  integer(8) :: start, finish, rate
  complex(dp), allocatable :: hamiltonian(:, :), overlap(:, :), orbitals(:, :), applied(:, :), projected(:, :)
  real(dp), allocatable :: projector(:, :), weights(:, :), populations(:, :), density(:), potential(:)
  real(dp) :: energy

  n = argument(1, 1200)
  iterations = argument(2, 20)
  bands = max(1, n / 2)
  allocate (hamiltonian(n, n), overlap(bands, bands), orbitals(n, bands), applied(n, bands), projected(bands, bands))
  allocate (projector(n, bands), weights(n, bands), populations(bands, bands), density(n), potential(n))

  do j = 1, n
    do i = 1, n
      hamiltonian(i, j) = cmplx(wave(i + j), wave(i - j), dp) / n
    end do
    hamiltonian(j, j) = 2 + wave(j)
  end do
  do j = 1, bands
    do i = 1, n
      orbitals(i, j) = cmplx(wave(3 * i + 7 * j), wave(5 * i - 2 * j), dp)
      projector(i, j) = wave(2 * i + 11 * j) / n
    end do
  end do
  overlap = zero
  do j = 1, bands
    do i = 1, j
      overlap(i, j) = cmplx(wave(i * j), wave(i + 2 * j), dp) / n
    end do
    overlap(j, j) = 1.5_dp
  end do
  potential = 0
  call system_clock(start, rate)

  do iteration = 1, iterations
    call zgemm('N', 'N', n, bands, n, one, hamiltonian, n, orbitals, n, zero, applied, n)
    call zgemm('C', 'N', bands, bands, n, one, orbitals, n, applied, n, zero, projected, bands)
    call ztrsm('R', 'U', 'N', 'N', n, bands, one, overlap, bands, applied, n)

    ! On the CPU: normalise, and read the result.
    energy = 0
    do j = 1, bands
      energy = energy + real(projected(j, j), dp) / bands
      applied(:, j) = applied(:, j) / sqrt(sum(abs(applied(:, j))**2))
      weights(:, j) = abs(applied(:, j))**2
    end do
    orbitals = (1 - mixing) * orbitals + mixing * applied

    ! Real products with a projector that never changes.
    call dgemm('T', 'N', bands, bands, n, 1d0, projector, n, weights, n, 0d0, populations, bands)
    density = sum(weights, 2)
    potential = potential + mixing * (density - potential)
    do i = 1, n
      hamiltonian(i, i) = 2 + wave(i) + potential(i)
    end do
  end do

  call system_clock(finish)
  print '(a, es22.14)', 'energy =', energy
  print '(a, es22.14)', 'density =', sum(density * [(wave(i), i=1, n)])
  print '(a, es22.14)', 'populations =', sum(abs(populations)) / bands
  print '(a, f9.3)', 'seconds: ', real(finish - start, dp) / real(rate, dp)

contains

  integer function argument(position, default)
    integer, intent(in) :: position, default
    character(32) :: text
    argument = default
    if (command_argument_count() < position) return
    call get_command_argument(position, text)
    read (text, *) argument
  end function

  ! Reproducible numbers in [-1, 1].
  real(dp) function wave(index)
    integer, intent(in) :: index
    wave = sin(0.7_dp * index)
  end function
end program
