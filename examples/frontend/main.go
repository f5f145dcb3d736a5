// Command frontend is an example of a front-end: it knows the programs by the
// contract alone, which is baked in, and imports nothing of Slipway.
//
// It rejects a program that does not exist or is not published, a variable that
// the program does not read, a secret that comes over the network, and a request
// that lacks what is required, all before anything is started. What it starts
// gets the variables of the request, the files of secrets, and a short fixed
// list.
//
// Some variables name an address that a secret is sent to, and some what is run
// here (TOFU_PATH, the module sources, what Go and pip fetch from). A request may
// set those that -may lists and no others: the rest are the front-end's own, from
// the file that -own names.
//
// Everybody may ask who reaches the port, which is why it is on loopback. A page of
// another site may not, under whatever name it reaches the port: a request must
// name the address that is served, or a name that -host lists. A program that is
// built upon this one adds who may do what.
//
//	slipway contract > contract.json
//	go build
//	frontend -run bin/slipway -secrets /run/secrets -own settings -may SSH_HOST,SSH_HOST_KEY
//	curl localhost:8080/programs
//	curl localhost:8080/programs/operator-ssh-web-plan -d '{"variables":{"SSH_HOST":"192.0.2.7"}}'
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve")
	run := flag.String("run", "slipway", "the binary of all programs")
	secrets := flag.String("secrets", "", "folder with a file for each secret, named like its variable")
	own := flag.String("own", "", "file of the front-end's own variables, NAME=value on a line each")
	may := flag.String("may", "", "variables that a request may set, separated by commas, in each form of them")
	hosts := flag.String("host", "", "names that the front-end is asked by, beside its address, separated by commas")
	flag.Parse()
	f := frontend{contract: baked(), secrets: *secrets, may: list(*may)}
	var err error
	if f.run, err = exec.LookPath(*run); err == nil {
		f.run, err = filepath.Abs(f.run)
	}
	if err == nil {
		f.own, err = settings(*own)
	}
	if err == nil {
		err = serve(*listen, list(*hosts), f)
	}
	log.Fatal(err)
}

// list reads names separated by commas.
func list(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
}

// settings reads a file of variables.
func settings(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s:%d: not NAME=value", path, i+1)
		}
		all[name] = value
	}
	return all, nil
}

func serve(address string, names []string, f frontend) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "http://%s/programs\n", listener.Addr())
	asked := askedBy(listener.Addr().String(), names, http.NewCrossOriginProtection().Handler(f.routes()))
	// No WriteTimeout: a job answers for as long as it runs.
	server := &http.Server{Handler: asked, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	return server.Serve(listener)
}

// askedBy refuses requests to another name than those of this server: a page of
// another site whose name leads here would count as one of its own (DNS rebinding).
func askedBy(address string, names []string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	names = append(slices.Clone(names), address, "localhost:"+port)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(names, r.Host) {
			answer(w, http.StatusMisdirectedRequest, refusal{Error: fmt.Sprintf("this is not %q: -host lists the names of this front-end", r.Host)})
			return
		}
		next.ServeHTTP(w, r)
	})
}
