package netbox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"fediversity.eu/slipway/targets/report"
)

// contactError is what keeps an answer of NetBox's from coming, or makes it none.
func contactError(method, path string, err error) error {
	return &lostError{method: method, path: path, err: err}
}

type lostError struct {
	method, path string
	err          error
}

func (e *lostError) Error() string { return e.method + " " + e.path + ": " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// timeoutError is the cause of a context that NETBOX_TIMEOUT ended.
type timeoutError struct{ after fmt.Stringer }

func (e *timeoutError) Error() string {
	return "not done after " + e.after.String()
}

// classify gives an error its exit code: refused where NetBox turned us down
// before anything was changed, failed where it would not take a change, and
// unknown where nobody can tell what it holds.
func classify(ctx context.Context, what string, err error, changed bool) error {
	var fault *report.Fault
	var answer *answerError
	var lost *lostError
	var late *timeoutError
	switch {
	case err == nil || errors.As(err, &fault):
		return err
	case errors.As(err, &late) || errors.As(context.Cause(ctx), &late):
		return &report.Fault{Code: report.Unknown, What: what, Why: late, Hint: "NETBOX_TIMEOUT says how long it may take; run it again to go on"}
	case ctx.Err() != nil:
		return err
	case errors.As(err, &answer):
		return judged(what, err, answer, changed)
	case errors.As(err, &lost):
		return &report.Fault{Code: report.Unknown, What: what, Why: err, Hint: contactHint(err)}
	}
	return err
}

// judged gives its exit code to what NetBox answered.
func judged(what string, err error, answer *answerError, changed bool) error {
	fault := &report.Fault{Code: report.Failed, What: what, Why: err}
	look := answer.method == http.MethodGet
	switch {
	case answer.status == http.StatusUnauthorized || answer.status == http.StatusForbidden:
		fault.Hint = "NETBOX_TOKEN must be valid, enabled, allowed from this address and may write; its user may view, add, change and delete what the inventory has"
		switch {
		case !changed:
			fault.Code = report.Refused
		case look:
			fault.Code = report.Unknown
		}
	case answer.status >= 300 && answer.status < 400:
		fault.Code, fault.Hint = report.Unknown, "NETBOX_URL must be the address that NetBox has in the end, with https where it redirects there"
	case answer.passing():
		fault.Code, fault.Hint = report.Unknown, "NetBox is out of order or busy; run it again later: what is done is found then"
	case look:
		fault.Code, fault.Hint = report.Unknown, "NETBOX_URL must be the address of NetBox itself, without /api"
	}
	return fault
}

func contactHint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "NETBOX_CA takes the certificate authority that vouches for NetBox"
	}
	return "NETBOX_URL must name a NetBox that answers; run it again: what is done is found then"
}
