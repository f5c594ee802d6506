// Sets of integer keys: built once, asked by many threads.
//
// A set starts as a bitmap that grows with its range and turns into a hash table when the range gets too wide for that;
// csm_keys_finish takes the table also where it is much smaller, because it then stays in the cache.
#include "memory.h"
#include "scan.h"
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS ((uint64_t)8 << 20) // a bitmap of 64 MiB
#define CACHED_WORDS ((uint64_t)16 << 10) // 128 KiB: a bitmap that is fast whatever it holds

// room_for reports whether the process may have so many words more (D8).
static bool room_for(uint64_t words) { return words < ((uint64_t)1 << 17) || csm_memory_admit((int64_t)(words * 8)); }

struct csm_keys *csm_keys_new(void) { return calloc(1, sizeof(struct csm_keys)); }

void csm_keys_free(struct csm_keys *keys) {
	free(keys->bits);
	free(keys->slots);
	free(keys->sieve);
	free(keys);
}

static inline uint64_t slot_of(const struct csm_keys *keys, int64_t key) {
	uint64_t h = (uint64_t)key * 0x9E3779B97F4A7C15u;
	return (h ^ (h >> 32)) & keys->slot_mask;
}

bool csm_keys_contain(const struct csm_keys *keys, int64_t key) {
	if (keys->words) {
		uint64_t bit = (uint64_t)key - (uint64_t)keys->min;
		return bit < keys->words * 64 && ((keys->bits[bit >> 6] >> (bit & 63)) & 1);
	}
	if (key == 0) return keys->has_zero;
	if (!keys->slots) return false;
	for (uint64_t at = slot_of(keys, key);; at = (at + 1) & keys->slot_mask) {
		if (keys->slots[at] == key) return true;
		if (keys->slots[at] == 0) return false;
	}
}

// grow_table makes room for a number of keys, so that at least half of the slots stay free.
static int grow_table(struct csm_keys *keys, uint64_t count) {
	uint64_t size = 16;
	while (size < count * 2) size *= 2;
	if (keys->slots && keys->slot_mask + 1 >= size) return 0;
	int64_t *old = keys->slots;
	uint64_t old_size = old ? keys->slot_mask + 1 : 0;
	keys->slots = room_for(size) ? calloc(size, sizeof(int64_t)) : NULL;
	if (!keys->slots) {
		keys->slots = old;
		return -1;
	}
	keys->slot_mask = size - 1;
	for (uint64_t i = 0; i < old_size; i++) {
		if (old[i] == 0) continue;
		uint64_t at = slot_of(keys, old[i]);
		while (keys->slots[at]) at = (at + 1) & keys->slot_mask;
		keys->slots[at] = old[i];
	}
	free(old);
	return 0;
}

static void put_slot(struct csm_keys *keys, int64_t key) {
	if (key == 0) {
		keys->count += !keys->has_zero;
		keys->has_zero = 1;
		return;
	}
	uint64_t at = slot_of(keys, key);
	while (keys->slots[at]) {
		if (keys->slots[at] == key) return;
		at = (at + 1) & keys->slot_mask;
	}
	keys->slots[at] = key;
	keys->count++;
}

// to_table turns a bitmap into a table.
static int to_table(struct csm_keys *keys) {
	struct csm_keys table = {.rows = keys->rows};
	if (grow_table(&table, (uint64_t)keys->count) != 0) return -1;
	for (uint64_t w = 0; w < keys->words; w++)
		for (uint64_t bits = keys->bits[w]; bits; bits &= bits - 1)
			put_slot(&table, (int64_t)((uint64_t)keys->min + w * 64 + (uint64_t)__builtin_ctzll(bits)));
	free(keys->bits);
	*keys = table;
	return 0;
}

static inline int64_t floor64(int64_t v) { return (int64_t)((uint64_t)v & ~(uint64_t)63); }

// cover makes the bitmap reach from low to high: 0, 1 when the range is too wide, -1 when memory is short.
static int cover(struct csm_keys *keys, int64_t low, int64_t high) {
	int64_t from = floor64(low), last = floor64(high);
	if (keys->words) {
		int64_t end = (int64_t)((uint64_t)keys->min + (keys->words - 1) * 64);
		if (from >= keys->min && last <= end) return 0;
		if (keys->min < from) from = keys->min;
		if (end > last) last = end;
	}
	uint64_t words = ((uint64_t)last - (uint64_t)from) / 64 + 1;
	if (words > MAX_WORDS) return 1;
	uint64_t room = keys->words * 2 > words ? keys->words * 2 : words; // grows at the upper end, where keys mostly do
	if (room > MAX_WORDS || (uint64_t)INT64_MAX - (uint64_t)from < room * 64) room = words;
	uint64_t *bits = room_for(room) ? calloc(room, 8) : NULL;
	if (!bits) return -1;
	if (keys->words) memcpy(bits + ((uint64_t)keys->min - (uint64_t)from) / 64, keys->bits, keys->words * 8);
	free(keys->bits);
	keys->bits = bits;
	keys->min = from;
	keys->words = room;
	return 0;
}

int csm_keys_add(struct csm_keys *keys, const int64_t *values, int64_t count) {
	if (count == 0) return 0;
	keys->rows += count;
	if (!keys->slots) {
		int64_t low = values[0], high = values[0];
		for (int64_t i = 1; i < count; i++) {
			low = values[i] < low ? values[i] : low;
			high = values[i] > high ? values[i] : high;
		}
		int wide = cover(keys, low, high);
		if (wide < 0) return -1;
		if (wide > 0 && to_table(keys) != 0) return -1;
	}
	if (keys->slots) {
		if (grow_table(keys, (uint64_t)(keys->count + count)) != 0) return -1;
		for (int64_t i = 0; i < count; i++) put_slot(keys, values[i]);
		return 0;
	}
	int64_t added = 0;
	for (int64_t i = 0; i < count; i++) {
		uint64_t bit = (uint64_t)values[i] - (uint64_t)keys->min, mask = (uint64_t)1 << (bit & 63);
		added += !(keys->bits[bit >> 6] & mask);
		keys->bits[bit >> 6] |= mask;
	}
	keys->count += added;
	return 0;
}

int csm_keys_merge(struct csm_keys *into, const struct csm_keys *from) {
	int64_t values[1024], n = 0, rows = into->rows + from->rows;
	for (uint64_t w = 0; w < from->words; w++)
		for (uint64_t bits = from->bits[w]; bits; bits &= bits - 1) {
			values[n++] = (int64_t)((uint64_t)from->min + w * 64 + (uint64_t)__builtin_ctzll(bits));
			if (n == 1024 && (csm_keys_add(into, values, n) != 0 || (n = 0))) return -1;
		}
	if (from->has_zero) values[n++] = 0;
	for (uint64_t i = 0; from->slots && i <= from->slot_mask; i++) {
		if (n == 1024 && (csm_keys_add(into, values, n) != 0 || (n = 0))) return -1;
		if (from->slots[i]) values[n++] = from->slots[i];
	}
	int failed = csm_keys_add(into, values, n);
	into->rows = rows;
	return failed;
}

int csm_keys_finish(struct csm_keys *keys) {
	if (keys->words > CACHED_WORDS && (uint64_t)keys->count * 4 * 8 < keys->words && to_table(keys) != 0) return -1;
	csm_keys_make_sieve(keys);
	return 0;
}
