package fake

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

const (
	transipLogin = "fake-login"
	transipToken = "token-of-the-fake-transip"
)

// transipKey is the key of the account.
var transipKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func transipEnvironment(url string) map[string]string {
	der, err := x509.MarshalPKCS8PrivateKey(transipKey())
	if err != nil {
		panic(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return map[string]string{"TRANSIP_URL": url + "/v6", "TRANSIP_LOGIN": transipLogin, "TRANSIP_KEY": text}
}

type transipServer struct {
	Hostname string `json:"hostname"`
	IPv4     string `json:"ipv4"`
	IPv6     string `json:"ipv6"`
}

type transipEntry struct {
	Tag       int64  `json:"keyTag"`
	Flags     int64  `json:"flags"`
	Algorithm int64  `json:"algorithm"`
	Public    string `json:"publicKey"`
}

func transip(r *Registry) http.Handler {
	mux := http.NewServeMux()
	var labels sync.Map
	mux.HandleFunc("POST /v6/auth", func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			Login      string `json:"login"`
			Nonce      string `json:"nonce"`
			ReadOnly   bool   `json:"read_only"`
			Expiration string `json:"expiration_time"`
			Label      string `json:"label"`
			Global     bool   `json:"global_key"`
		}
		raw, _ := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(raw))
		signature, err := base64.StdEncoding.DecodeString(request.Header.Get("Signature"))
		hash := sha512.Sum512(raw)
		if err == nil {
			err = rsa.VerifyPKCS1v15(&transipKey().PublicKey, crypto.SHA512, hash[:], signature)
		}
		if err != nil || take(request, &body) != nil || body.Login != transipLogin || len(body.Nonce) < 6 || len(body.Nonce) > 32 {
			reply(w, http.StatusUnauthorized, map[string]any{"error": "The request is not authenticated"})
			return
		}
		if _, used := labels.LoadOrStore(body.Label, true); used {
			reply(w, http.StatusConflict, map[string]any{"error": "The label is in use"})
			return
		}
		reply(w, http.StatusCreated, map[string]any{"token": transipToken})
	})
	handle := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /v6/domains/{domain}/"+path, func(w http.ResponseWriter, request *http.Request) {
			err := errMissing
			switch {
			case request.Header.Get("Authorization") != "Bearer "+transipToken:
				reply(w, http.StatusUnauthorized, map[string]any{"error": "Your access token has been revoked."})
				return
			case request.PathValue("domain") == r.Domain:
				err = serve(w, request)
			}
			if err != nil {
				reply(w, status(err), map[string]any{"error": err.Error()})
			}
		})
	}
	handle("GET nameservers", func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		list := []transipServer{}
		for _, name := range s.Servers {
			server := transipServer{Hostname: name}
			for _, text := range s.Hosts[name] {
				if strings.Contains(text, ":") {
					server.IPv6 = text
				} else {
					server.IPv4 = text
				}
			}
			list = append(list, server)
		}
		reply(w, http.StatusOK, map[string]any{"nameservers": list})
		return nil
	})
	handle("PUT nameservers", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			List []transipServer `json:"nameservers"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		var names []string
		hosts := map[string][]string{}
		for _, server := range body.List {
			names = append(names, server.Hostname)
			addresses := slices.DeleteFunc([]string{server.IPv4, server.IPv6}, func(text string) bool { return text == "" })
			if len(addresses) > 0 {
				hosts[server.Hostname] = addresses
			}
		}
		err := r.setServers(names, hosts)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
	transipKeys(r, handle)
	return mux
}

func transipKeys(r *Registry, handle handle) {
	handle("GET dnssec", func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		list := []transipEntry{}
		for _, k := range s.Keys {
			list = append(list, transipEntry{tagOf(k), k.Flags, k.Algorithm, k.Public})
		}
		reply(w, http.StatusOK, map[string]any{"dnsSecEntries": list})
		return nil
	})
	handle("PUT dnssec", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			List *[]transipEntry `json:"dnsSecEntries"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		if body.List == nil {
			return errInvalid
		}
		var keys []Key
		for _, entry := range *body.List {
			k := Key{Flags: entry.Flags, Algorithm: entry.Algorithm, Public: entry.Public}
			if tagOf(k) != entry.Tag {
				return fmt.Errorf("%w: key tag %d", errInvalid, entry.Tag)
			}
			keys = append(keys, k)
		}
		err := r.setKeys(keys, 8)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
}

// tagOf is the tag of a stored key.
func tagOf(k Key) int64 {
	return int64((&dns.DNSKEY{Flags: uint16(k.Flags), Protocol: 3, Algorithm: uint8(k.Algorithm), PublicKey: k.Public}).KeyTag())
}
