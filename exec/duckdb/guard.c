// The guard against a region whose backing goes away under a scan (D4).
//
// A load from a page of a mapped file that was truncated raises SIGBUS, in whichever thread made the load: a DuckDB
// worker that knows nothing of Go, or a goroutine. The handler looks whether the address lies in a guarded region. If so
// it puts a page of zeros there, so that the load goes on, and counts; the query compares the counter before and after and fails instead
// of handing out the zeros. The page can be written, too: a lender may be storing into it, and finds out when it seals. Any other address goes to the handler that was there before: the Go runtime's.
//
// Only async-signal-safe things happen in the handler: atomic loads, mmap (a plain system call), and the old handler.
#define _GNU_SOURCE
#include "guard.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

struct guarded {
	_Atomic uintptr_t base; // 0: free
	_Atomic uintptr_t length;
	_Atomic uint64_t faults;
};

static struct guarded table[CSM_GUARD_MAX];
static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards adding and removing; the handler takes no lock

static struct guarded *find(uintptr_t address) {
	for (int i = 0; i < CSM_GUARD_MAX; i++) {
		uintptr_t base = atomic_load(&table[i].base);
		if (base && address >= base && address - base < atomic_load(&table[i].length)) return &table[i];
	}
	return NULL;
}

static void on_bus_error(int signal, siginfo_t *info, void *context) {
	uintptr_t address = (uintptr_t)info->si_addr;
	struct guarded *region = find(address);
	if (region) {
		void *page = (void *)(address & ~(uintptr_t)4095);
		void *got = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (got == page) {
			atomic_fetch_add(&region->faults, 1);
			return;
		}
	}
	if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
	else sigaction(SIGBUS, &before, NULL); // the load is repeated and ends the process as it would have without us
}

static void install(void) {
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	sigfillset(&action.sa_mask);
	sigaction(SIGBUS, &action, &before);
}

int csm_guard_add(uintptr_t base, uintptr_t length) {
	pthread_once(&once, install);
	pthread_mutex_lock(&lock);
	int result = -1;
	for (int i = 0; i < CSM_GUARD_MAX; i++) {
		if (atomic_load(&table[i].base)) continue;
		atomic_store(&table[i].faults, 0);
		atomic_store(&table[i].length, length);
		atomic_store(&table[i].base, base); // last: the handler looks at base first
		result = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int csm_guard_remove(uintptr_t base) {
	pthread_mutex_lock(&lock);
	int result = -1;
	for (int i = 0; i < CSM_GUARD_MAX; i++) {
		if (atomic_load(&table[i].base) != base) continue;
		atomic_store(&table[i].base, 0);
		result = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

uint64_t csm_guard_faults(uintptr_t base) {
	struct guarded *region = find(base);
	return region ? atomic_load(&region->faults) : 0;
}
