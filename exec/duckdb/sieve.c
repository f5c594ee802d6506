// Sets of keys asked for whole slices, without branches: a bitmap exactly, a table through a sieve of bits that few other keys pass.
#include "memory.h"
#include "scan.h"
#include <stdlib.h>

#define SIEVE_BITS_PER_KEY 16      // one key in sixteen passes by chance, at worst
#define SIEVE_LEAST 12             // 512 bytes
#define SIEVE_MOST 21              // 256 KiB: stays in the cache; for more keys it would let too many pass
#define SPREAD 0x9E3779B97F4A7C15u // the upper bits of a product are spread well

static inline uint64_t place_of(int64_t key, int32_t shift) { return ((uint64_t)key * SPREAD) >> shift; }

static void put(struct csm_keys *keys, int64_t key) {
	uint64_t at = place_of(key, keys->sieve_shift);
	keys->sieve[at >> 5] |= (uint32_t)1 << (at & 31);
}

void csm_keys_make_sieve(struct csm_keys *keys) {
	int32_t bits = SIEVE_LEAST;
	while (bits < SIEVE_MOST && ((int64_t)1 << bits) < keys->count * SIEVE_BITS_PER_KEY) bits++;
	if (!keys->slots || ((int64_t)1 << bits) < keys->count * SIEVE_BITS_PER_KEY) return;
	keys->sieve = calloc((size_t)1 << (bits - 5), sizeof *keys->sieve);
	if (!keys->sieve) return; // it does without
	keys->sieve_shift = 64 - bits;
	if (keys->has_zero) put(keys, 0);
	for (uint64_t i = 0; i <= keys->slot_mask; i++)
		if (keys->slots[i]) put(keys, keys->slots[i]);
}

// A key outside of the bitmap reads its first bit, and ignores it.
#define BITMAP_LOOP(name, type)                                                                                                      \
	CSM_WIDE static void name(const type *values, int64_t count, int64_t min, uint64_t size, const uint32_t *bits, uint8_t *pass) { \
		for (int64_t i = 0; i < count; i++) {                                                                                       \
			uint64_t bit = (uint64_t)(int64_t)values[i] - (uint64_t)min, inside = bit < size, at = inside ? bit : 0;                \
			pass[i] &= (uint8_t)((bits[at >> 5] >> (at & 31)) & inside);                                                            \
		}                                                                                                                           \
	}
BITMAP_LOOP(bitmap32, int32_t)
BITMAP_LOOP(bitmap64, int64_t)

#define SIEVE_LOOP(name, type)                                                                                        \
	CSM_WIDE static void name(const type *values, int64_t count, int32_t shift, const uint32_t *sieve, uint8_t *pass) { \
		for (int64_t i = 0; i < count; i++) {                                                                        \
			uint64_t at = place_of((int64_t)values[i], shift);                                                       \
			pass[i] &= (uint8_t)((sieve[at >> 5] >> (at & 31)) & 1);                                                 \
		}                                                                                                            \
	}
SIEVE_LOOP(sieve32, int32_t)
SIEVE_LOOP(sieve64, int64_t)

bool csm_keys_dense(const struct csm_filter *f) {
	return (f->keys->words > 0 || f->keys->sieve) && (f->width == 8 || (f->width == 4 && f->is_signed));
}

void csm_test_keys(const struct csm_filter *f, const void *values, int64_t count, uint8_t *pass) {
	const struct csm_keys *keys = f->keys;
	if (keys->words > 0) {
		const uint32_t *bits = (const uint32_t *)keys->bits; // the same bits in the same order: little-endian machines only
		if (f->width == 8) bitmap64(values, count, keys->min, keys->words * 64, bits, pass);
		else bitmap32(values, count, keys->min, keys->words * 64, bits, pass);
	} else if (f->width == 8) {
		sieve64(values, count, keys->sieve_shift, keys->sieve, pass);
	} else {
		sieve32(values, count, keys->sieve_shift, keys->sieve, pass);
	}
}
