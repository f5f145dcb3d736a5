package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// api is the API of a server (OpenBao API documentation).
type api struct {
	address, token, namespace, ca string
	limit                         time.Duration
}

var errAbsent = errors.New("there is none")

// call asks, and reads what is in data.
func (a *api) call(ctx context.Context, method, what string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.address, "/")+"/v1/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("X-Vault-Token", a.token)
	if a.namespace != "" {
		request.Header.Set("X-Vault-Namespace", a.namespace)
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", method, what, response.Status, answer)
		if response.StatusCode == http.StatusBadRequest && bytes.Contains(answer, []byte("No secret engine mount")) {
			err = errAbsent
		}
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, &struct {
		Data any `json:"data"`
	}{into})
}

func (a *api) client() (*http.Client, error) {
	if a.ca == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(a.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", a.ca)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}}, nil
}
