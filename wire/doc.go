// Package wire speaks the PostgreSQL frontend/backend protocol, version 3.0, for any Backend.
package wire
