package incus

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// token is what a server gives to somebody whom it will take in once (Incus
// documentation, "Adding client certificates using tokens").
type token struct {
	Name        string `json:"client_name"`
	Fingerprint string `json:"fingerprint"` // of the server
}

func parseToken(s env.Secret) (token, error) {
	var t token
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s.Reveal()))
	if err != nil || json.Unmarshal(text, &t) != nil || !hexFingerprint.MatchString(t.Fingerprint) {
		return t, errors.New("is none that Incus gives")
	}
	return t, nil
}

// enrol makes sure that the server knows our certificate.
func (c *Client) enrol(ctx context.Context, secret env.Secret, log *report.Log) error {
	known, err := c.trusted(ctx)
	if err != nil || known {
		return err
	}
	if !secret.IsSet() {
		return report.Refuse("connect to Incus", errors.New("the server does not know our certificate"),
			"add INCUS_CLIENT_CERTIFICATE there, or give a token of the server's as INCUS_TOKEN; nothing was changed")
	}
	err = c.call(ctx, http.MethodPost, path(nil, "certificates"), map[string]any{"type": "client", "trust_token": secret.Reveal()}, nil)
	if err != nil {
		// Another member of this run may have spent the token, or its answer was lost.
		if known, again := c.trusted(ctx); again != nil || known {
			return again
		}
		return report.Refuse("be taken in by Incus", err, "a token serves once and for a time: ask for a new one; nothing was changed")
	}
	log.Infof("the Incus server has taken in our certificate; INCUS_TOKEN is spent")
	return nil
}

// trusted tells whether the server knows our certificate.
func (c *Client) trusted(ctx context.Context) (bool, error) {
	var server struct {
		Auth string `json:"auth"`
	}
	if err := c.call(ctx, http.MethodGet, path(nil), nil, &server); err != nil {
		return false, c.unreached(err)
	}
	return server.Auth == "trusted", nil
}

// unreached says what a server that gives no answer may be.
func (c *Client) unreached(err error) error {
	if errors.Is(err, ErrStranger) {
		return report.Refuse("connect to Incus at "+c.base, err, "look whether it is the right server; nothing was changed")
	}
	return &report.Fault{
		Code: report.Unknown, What: "connect to Incus", Where: c.base, Why: err,
		Hint: "INCUS_ADDRESS names a server that listens there (core.https_address); nothing was changed",
	}
}
