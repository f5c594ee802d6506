package account

import "errors"

// errNoneCame is why a wait ends.
var errNoneCame = errors.New("account: others have not given anything back in time")

// Error is a refusal, as clients are told it.
type Error struct {
	State   string // SQLSTATE: 53200 when others, or what the session holds, are in the way; 54000 when it can never be
	Message string
	Facts   string
	Help    string
}

func (e *Error) Error() string { return e.Message }

// SQLState returns the SQLSTATE.
func (e *Error) SQLState() string { return e.State }

// Detail says who holds how much.
func (e *Error) Detail() string { return e.Facts }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Help }
