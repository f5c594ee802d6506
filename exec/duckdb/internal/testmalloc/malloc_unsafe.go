package testmalloc

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void csm_test_free_large(size_t bytes) {
	char *volatile block = malloc(bytes);
	if (block) memset(block, 1, bytes);
	free(block);
}

struct csm_test_churn {
	size_t count, bytes;
	int complete;
	pthread_barrier_t *full;
};

static void *csm_test_churn_one(void *argument) {
	struct csm_test_churn *c = argument;
	char **blocks = calloc(c->count, sizeof *blocks);
	size_t got = 0;
	while (blocks && got < c->count && (blocks[got] = malloc(c->bytes))) memset(blocks[got++], 1, c->bytes);
	c->complete = got == c->count;
	pthread_barrier_wait(c->full);
	while (got > 0) free(blocks[--got]);
	free(blocks);
	return NULL;
}

static int csm_test_churn(unsigned threads, size_t count, size_t bytes) {
	pthread_t ids[threads];
	struct csm_test_churn churns[threads];
	pthread_barrier_t full;
	int complete = pthread_barrier_init(&full, NULL, threads) == 0;
	if (!complete) return 0;
	for (unsigned i = 0; i < threads; i++) {
		churns[i] = (struct csm_test_churn){.count = count, .bytes = bytes, .full = &full};
		if (pthread_create(&ids[i], NULL, csm_test_churn_one, &churns[i]) != 0) abort(); // the others wait for it
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		complete = complete && churns[i].complete;
	}
	pthread_barrier_destroy(&full);
	return complete;
}
*/
import "C"

// FreeLarge frees one block of so many bytes. glibc takes its size for its thresholds, unless they were set: blocks up
// to this size then come from arenas, and arenas keep twice as much at their end.
func FreeLarge(bytes int) { C.csm_test_free_large(C.size_t(bytes)) }

// Churn has each of so many new threads, all at once so that each has an arena of its own if there are enough, take
// count blocks of so many bytes, write to them, and free them, the last first. False: malloc refused one.
func Churn(threads, count, bytes int) bool {
	return C.csm_test_churn(C.uint(threads), C.size_t(count), C.size_t(bytes)) != 0
}
