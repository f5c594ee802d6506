package testmalloc

/*
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
extern void *duckdb_je_malloc(size_t size);
extern void duckdb_je_free(void *block);

static int64_t csm_test_number(const char *name) {
	uint64_t epoch = 1;
	duckdb_je_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
	uint64_t value = 0; // options are numbers of one, four and eight bytes
	for (size_t length = 8; length > 0; length /= 2) {
		size_t got = length;
		if (duckdb_je_mallctl(name, &value, &got, NULL, 0) == 0) return (int64_t)value;
	}
	return -1;
}

static void csm_test_fill_cache(size_t count, size_t bytes) {
	void *blocks[count];
	for (size_t i = 0; i < count; i++) blocks[i] = duckdb_je_malloc(bytes);
	for (size_t i = 0; i < count; i++) duckdb_je_free(blocks[i]);
}

static void csm_test_use_stack(size_t bytes) {
	volatile char used[bytes];
	for (size_t i = 0; i < bytes; i += 4096) used[i] = 1;
	used[bytes - 1] = 1;
}

// csm_test_stack is how much of the stack below here is resident.
static int64_t csm_test_stack(void) {
	pthread_attr_t attributes;
	void *low;
	size_t size, guard;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_getguardsize(&attributes, &guard);
	pthread_attr_destroy(&attributes);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)low + guard + page - 1) & ~(page - 1);
	uintptr_t to = (uintptr_t)__builtin_frame_address(0) & ~(page - 1);
	unsigned char resident[(to - from) / page + 1];
	if (mincore((void *)from, to - from, resident) != 0) return -1;
	int64_t bytes = 0;
	for (size_t i = 0; i < (to - from) / page; i++) bytes += (resident[i] & 1) * (int64_t)page;
	return bytes;
}
*/
import "C"

import "unsafe"

// JemallocNumber is an option or a statistic of jemalloc's, by its name in mallctl; -1: there is none.
func JemallocNumber(name string) int64 {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return int64(C.csm_test_number(text))
}

// FillCache has jemalloc keep count blocks of so many bytes for the calling thread, if it keeps that many.
func FillCache(count, bytes int) { C.csm_test_fill_cache(C.size_t(count), C.size_t(bytes)) }

// UseStack uses so many bytes of the calling thread's stack, for a moment.
func UseStack(bytes int) { C.csm_test_use_stack(C.size_t(bytes)) }

// Stack is how much memory the calling thread's stack has that it does not use.
func Stack() int64 { return int64(C.csm_test_stack()) }
