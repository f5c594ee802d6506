package account

import "errors"

// errNoneCame is why a wait ends.
var errNoneCame = errors.New("others have not given anything back in time")
