package frontend

import (
	"fmt"

	"github.com/csmsql/csmsql/wire"
)

func optionError(format string, args ...any) error {
	return &wire.Error{State: "22023", Message: fmt.Sprintf(format, args...)}
}
