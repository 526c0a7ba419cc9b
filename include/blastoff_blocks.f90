! Blocks in Fortran: the functions of blastoff_blocks.h, which says what each of them does. Compile this file with the
! program. Places are blastoff_host or a device, counted from 0. Functions return blastoff_ok or another status; the text
! of the latest error of a thread is blastoff_blocks_text().
!
!   type(blastoff_block) :: block
!   real(c_double), pointer :: a(:)
!   status = blastoff_block_create(8_c_size_t * n, block)
!   status = blastoff_block_acquire(block, blastoff_host, blastoff_write, c_null_ptr, address)
!   call c_f_pointer(address, a, [n])
module blastoff_blocks
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int), parameter, public :: blastoff_host = -1
  integer(c_int), parameter, public :: blastoff_read = 0, blastoff_write = 1, blastoff_update = 2
  integer(c_int), parameter, public :: blastoff_ok = 0, blastoff_bad_argument = 1, blastoff_conflict = 2, &
      blastoff_not_held = 3, blastoff_nothing_there = 4, blastoff_out_of_memory = 5, blastoff_device_lost = 6, &
      blastoff_unsupported = 7, blastoff_communication = 8
  integer(c_int), parameter, public :: blastoff_float = 0, blastoff_double = 1, blastoff_complex_float = 2, &
      blastoff_complex_double = 3

  type, bind(c), public :: blastoff_block
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(c), public :: blastoff_blocks_options
    integer(c_int) :: intents, pinned, pooled, asynchronous
    integer(c_size_t) :: device_memory, pinned_memory
    integer(c_int) :: direct
    integer(c_int) :: streams
  end type

  type, bind(c), public :: blastoff_blocks_counters
    integer(c_long_long) :: acquisitions, found_current
    integer(c_long_long) :: copies_to_device, bytes_to_device
    integer(c_long_long) :: copies_from_device, bytes_from_device
    integer(c_long_long) :: copies_between_devices, bytes_between_devices
    integer(c_long_long) :: evictions, evicted_bytes
    integer(c_long_long) :: contractions
    real(c_double) :: flops
    real(c_double) :: waiting_seconds
    integer(c_long_long) :: host_hits, host_misses, host_bytes
    real(c_double) :: host_seconds
    integer(c_long_long) :: host_plain
    integer(c_long_long) :: device_hits, device_misses, device_bytes
    real(c_double) :: device_seconds
  end type

  public :: blastoff_blocks_devices, blastoff_blocks_text, blastoff_blocks_get_options, blastoff_blocks_set_options, &
      blastoff_blocks_get_counters, blastoff_blocks_synchronize, blastoff_blocks_trim, blastoff_block_create, &
      blastoff_block_create_over, blastoff_block_destroy, blastoff_block_bytes, blastoff_block_acquire, &
      blastoff_block_release, blastoff_block_prefetch, blastoff_block_evict, blastoff_block_is_current, &
      blastoff_block_newest, blastoff_block_store, blastoff_fill, blastoff_contract

  interface
    integer(c_int) function blastoff_blocks_devices() bind(c)
      import
    end function
    integer(c_int) function blastoff_blocks_get_options(options) bind(c)
      import
      type(blastoff_blocks_options), intent(out) :: options
    end function
    integer(c_int) function blastoff_blocks_set_options(options) bind(c)
      import
      type(blastoff_blocks_options), intent(in) :: options
    end function
    integer(c_int) function blastoff_blocks_get_counters(counters) bind(c)
      import
      type(blastoff_blocks_counters), intent(out) :: counters
    end function
    integer(c_int) function blastoff_blocks_synchronize() bind(c)
      import
    end function
    integer(c_int) function blastoff_blocks_trim() bind(c)
      import
    end function
    integer(c_int) function blastoff_block_create(bytes, block) bind(c)
      import
      integer(c_size_t), value :: bytes
      type(blastoff_block), intent(out) :: block
    end function
    ! `memory`: c_loc() of a contiguous array with the target attribute
    integer(c_int) function blastoff_block_create_over(memory, bytes, block) bind(c)
      import
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
      type(blastoff_block), intent(out) :: block
    end function
    integer(c_int) function blastoff_block_destroy(block) bind(c)
      import
      type(blastoff_block), value :: block
    end function
    integer(c_size_t) function blastoff_block_bytes(block) bind(c)
      import
      type(blastoff_block), value :: block
    end function
    integer(c_int) function blastoff_block_acquire(block, place, access, stream, address) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: place, access
      type(c_ptr), value :: stream
      type(c_ptr), intent(out) :: address
    end function
    integer(c_int) function blastoff_block_release(block, place, stream) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: place
      type(c_ptr), value :: stream
    end function
    integer(c_int) function blastoff_block_prefetch(block, place) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: place
    end function
    integer(c_int) function blastoff_block_evict(block, place) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: place
    end function
    integer(c_int) function blastoff_block_is_current(block, place) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: place
    end function
    integer(c_int) function blastoff_block_newest(block) bind(c)
      import
      type(blastoff_block), value :: block
    end function
    integer(c_int) function blastoff_block_store(block) bind(c)
      import
      type(blastoff_block), value :: block
    end function
    type(c_ptr) function blastoff_blocks_message() bind(c)
      import
    end function
    integer(c_int) function blastoff_block_fill(block, element, value, place) bind(c)
      import
      type(blastoff_block), value :: block
      integer(c_int), value :: element, place
      type(c_ptr), value :: value
    end function
    integer(c_int) function blastoff_block_contract(element, alpha, a, b, beta, c, place) bind(c)
      import
      integer(c_int), value :: element, place
      type(c_ptr), value :: alpha, a, b, beta, c
    end function
    pure integer(c_size_t) function text_length(text) bind(c, name="strlen")
      import
      type(c_ptr), value, intent(in) :: text
    end function
  end interface

  ! struct blastoff_tensor
  type, bind(c) :: tensor
    type(blastoff_block) :: block
    type(c_ptr) :: labels, extents
  end type

  ! Sets all elements; see blastoff_block_fill(). value is real(c_double) for blastoff_double.
  interface blastoff_fill
    module procedure fill_double
    module procedure fill_complex_double
  end interface

  ! C = alpha A B + beta C; see blastoff_block_contract(). alpha and beta are real(c_double) for blastoff_double.
  interface blastoff_contract
    module procedure contract_double
    module procedure contract_complex_double
  end interface

contains

  function blastoff_blocks_text() result(text)
    character(len=:), allocatable :: text
    type(c_ptr) :: message
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    message = blastoff_blocks_message()
    call c_f_pointer(message, letters, [text_length(message)])
    allocate(character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  integer(c_int) function fill_double(block, value, place) result(status)
    type(blastoff_block), intent(in) :: block
    real(c_double), intent(in), target :: value
    integer(c_int), intent(in) :: place
    status = blastoff_block_fill(block, blastoff_double, c_loc(value), place)
  end function

  integer(c_int) function fill_complex_double(block, value, place) result(status)
    type(blastoff_block), intent(in) :: block
    complex(c_double_complex), intent(in), target :: value
    integer(c_int), intent(in) :: place
    status = blastoff_block_fill(block, blastoff_complex_double, c_loc(value), place)
  end function

  ! `labels_a` has one letter for each of `extents_a`, and so on.
  integer(c_int) function contract_double(alpha, a, labels_a, extents_a, b, labels_b, extents_b, beta, c, labels_c, &
      extents_c, place) result(status)
    real(c_double), intent(in), target :: alpha, beta
    type(blastoff_block), intent(in) :: a, b, c
    character(len=*), intent(in) :: labels_a, labels_b, labels_c
    integer, intent(in) :: extents_a(:), extents_b(:), extents_c(:)
    integer(c_int), intent(in) :: place
    status = contract_any(blastoff_double, c_loc(alpha), a, labels_a, extents_a, b, labels_b, extents_b, c_loc(beta), c, &
        labels_c, extents_c, place)
  end function

  integer(c_int) function contract_complex_double(alpha, a, labels_a, extents_a, b, labels_b, extents_b, beta, c, &
      labels_c, extents_c, place) result(status)
    complex(c_double_complex), intent(in), target :: alpha, beta
    type(blastoff_block), intent(in) :: a, b, c
    character(len=*), intent(in) :: labels_a, labels_b, labels_c
    integer, intent(in) :: extents_a(:), extents_b(:), extents_c(:)
    integer(c_int), intent(in) :: place
    status = contract_any(blastoff_complex_double, c_loc(alpha), a, labels_a, extents_a, b, labels_b, extents_b, &
        c_loc(beta), c, labels_c, extents_c, place)
  end function

  integer(c_int) function contract_any(element, alpha, a, labels_a, extents_a, b, labels_b, extents_b, beta, c, labels_c, &
      extents_c, place) result(status)
    integer(c_int), intent(in) :: element, place
    type(c_ptr), intent(in) :: alpha, beta
    type(blastoff_block), intent(in) :: a, b, c
    character(len=*), intent(in) :: labels_a, labels_b, labels_c
    integer, intent(in) :: extents_a(:), extents_b(:), extents_c(:)
    character(kind=c_char), target :: letters(9, 3)
    integer(c_long_long), target :: extents(8, 3)
    type(tensor), target :: tensors(3)
    logical :: fits
    fits = .true.
    call fill(1, a, labels_a, extents_a)
    call fill(2, b, labels_b, extents_b)
    call fill(3, c, labels_c, extents_c)
    status = blastoff_bad_argument
    if (fits) status = blastoff_block_contract(element, alpha, c_loc(tensors(1)), c_loc(tensors(2)), beta, &
        c_loc(tensors(3)), place)

  contains

    subroutine fill(which, block, labels, lengths)
      integer, intent(in) :: which, lengths(:)
      type(blastoff_block), intent(in) :: block
      character(len=*), intent(in) :: labels
      integer :: i
      fits = fits .and. len(labels) <= 8 .and. len(labels) == size(lengths)
      if (.not. fits) return
      do i = 1, len(labels)
        letters(i, which) = labels(i:i)
        extents(i, which) = lengths(i)
      end do
      letters(len(labels) + 1, which) = c_null_char
      tensors(which) = tensor(block, c_loc(letters(1, which)), c_loc(extents(1, which)))
    end subroutine
  end function
end module
