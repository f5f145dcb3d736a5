package statebackend

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
)

// errAbsent says that there is no state of that name. OpenTofu takes the answer
// for a first run, so nothing else may be answered in this way.
var errAbsent = errors.New("no such state")

// errUnauthorized says that the caller gave no credentials, or wrong ones.
var errUnauthorized = errors.New("user or password missing or wrong")

// inputError is a request that no server could serve.
type inputError struct{ why error }

func (e *inputError) Error() string { return e.why.Error() }
func (e *inputError) Unwrap() error { return e.why }

// methodError is a method that the address does not have.
type methodError struct{ method, allowed string }

func (e *methodError) Error() string {
	return fmt.Sprintf("method %.40q: must be %s here", e.method, e.allowed)
}

// sizeError is a state that is larger than allowed.
type sizeError struct{ limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("the state is larger than %d bytes, the limit of this backend", e.limit)
}

// lockedError is a request that does not hold the lock.
type lockedError struct{ holder lockInfo }

func (e *lockedError) Error() string {
	return fmt.Sprintf("locked by %s", e.holder)
}

// conflictError is a state that would overwrite what it does not follow.
type conflictError struct{ why string }

func (e *conflictError) Error() string {
	return e.why + "; to replace it all the same, add ?" + forceParameter + "=true to the address"
}

// status is the HTTP status of an error.
func status(err error) int {
	switch {
	case is[*inputError](err):
		return http.StatusBadRequest
	case is[*methodError](err):
		return http.StatusMethodNotAllowed
	case errors.Is(err, errUnauthorized):
		return http.StatusUnauthorized
	case errors.Is(err, errAbsent):
		return http.StatusNotFound
	case is[*conflictError](err):
		return http.StatusConflict
	case is[*sizeError](err):
		return http.StatusRequestEntityTooLarge
	case is[*lockedError](err):
		return http.StatusLocked
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
