package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
)

// server is a remote that was configured.
type server struct {
	base string
	http *http.Client
}

// open reads a configuration folder as the client library of Incus does.
func open(dir, remote, address string) (*server, error) {
	identity, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "servercerts", remote+".crt"))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the server's certificate is none")
	}
	return &server{base: address, http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{identity},
		InsecureSkipVerify: true, // pinned below
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("the server has another certificate than the one in servercerts")
			}
			return nil
		},
	}}}}, nil
}

var errAbsent = errors.New("not found")

// call sends JSON, a file, or nothing, waits for what that sets off, and reads JSON.
func (s *server) call(ctx context.Context, method, path string, query url.Values, header http.Header, body, into any) error {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(b)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, method, s.base+path+"?"+query.Encode(), reader)
	if err != nil {
		return err
	}
	for name := range header {
		q.Header.Set(name, header.Get(name))
	}
	r, err := s.http.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	var a struct {
		Type      string          `json:"type"`
		Operation string          `json:"operation"`
		Error     string          `json:"error"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s %s: %s", method, path, r.Status)
	}
	switch {
	case r.StatusCode == http.StatusNotFound:
		return errAbsent
	case r.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s", method, path, a.Error)
	case a.Type == "async":
		return s.wait(ctx, a.Operation)
	case into == nil:
		return nil
	}
	return json.Unmarshal(a.Metadata, into)
}

func (s *server) wait(ctx context.Context, operation string) error {
	var o struct {
		StatusCode int    `json:"status_code"`
		Err        string `json:"err"`
	}
	err := s.call(ctx, http.MethodGet, operation+"/wait", nil, nil, nil, &o)
	if err == nil && o.StatusCode != http.StatusOK {
		err = errors.New(o.Err)
	}
	return err
}

func in(project string) url.Values {
	if project == "" {
		return nil
	}
	return url.Values{"project": {project}}
}
