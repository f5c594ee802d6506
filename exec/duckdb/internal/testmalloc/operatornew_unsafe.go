package testmalloc

/*
#include <stdint.h>
#include <stdlib.h>

struct nothrow;
extern void *_Znwm(size_t);
extern void *_Znam(size_t);
extern void *_ZnwmRKSt9nothrow_t(size_t, const struct nothrow *);
extern void *_ZnamRKSt9nothrow_t(size_t, const struct nothrow *);
extern void _ZdlPv(void *);
extern void _ZdaPv(void *);
extern void _ZdlPvm(void *, size_t);
extern void _ZdaPvm(void *, size_t);
extern void _ZdlPvRKSt9nothrow_t(void *, const struct nothrow *);
extern void _ZdaPvRKSt9nothrow_t(void *, const struct nothrow *);

static int csm_test_operator_new(size_t size) {
	_ZdlPv(NULL);
	_ZdaPv(NULL);
	_ZdlPvm(NULL, size);
	_ZdaPvm(NULL, size);
	char *blocks[] = {
		_Znwm(size), _Znam(size), _Znwm(size), _Znam(size),
		_ZnwmRKSt9nothrow_t(size, NULL), _ZnamRKSt9nothrow_t(size, NULL),
	};
	for (size_t i = 0; i < 6; i++) {
		if (!blocks[i]) return 0;
		for (size_t k = 0; k < i; k++) if (blocks[k] == blocks[i]) return 0;
		for (size_t at = 0; at < size; at++) blocks[i][at] = (char)i;
	}
	for (size_t i = 0; i < 6; i++) {
		for (size_t at = 0; at < size; at++) if (blocks[i][at] != (char)i) return 0;
	}
	_ZdlPv(blocks[0]);
	_ZdaPv(blocks[1]);
	_ZdlPvm(blocks[2], size);
	_ZdaPvm(blocks[3], size);
	_ZdlPvRKSt9nothrow_t(blocks[4], NULL);
	_ZdaPvRKSt9nothrow_t(blocks[5], NULL);
	return 1;
}

static int csm_test_operator_new_refuses(void) {
	size_t most = SIZE_MAX / 4;
	return !_ZnwmRKSt9nothrow_t(most, NULL) && !_ZnamRKSt9nothrow_t(most, NULL);
}
*/
import "C"

// OperatorNew takes a block of so many bytes from each of C++'s operators new, writes to all of them, and gives each to
// an operator delete that may free it. False: one of them is not a block of its own.
func OperatorNew(bytes int) bool { return C.csm_test_operator_new(C.size_t(bytes)) != 0 }

// OperatorNewRefuses reports whether those that do not throw give nothing for what no machine has.
func OperatorNewRefuses() bool { return C.csm_test_operator_new_refuses() != 0 }
