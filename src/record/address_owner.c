/* record/address_owner.c - see address_owner.h. */
#include "record/address_owner.h"

_Alignas(64) _Atomic uint64_t address_owner_free_stamps[ADDRESS_OWNER_N_STAMPS];
