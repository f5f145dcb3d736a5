package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// frontend starts published programs for whoever asks.
type frontend struct {
	contract contract
	run      string            // the binary of all programs
	secrets  string            // folder of secrets; empty means none
	own      map[string]string // the front-end's own variables
	may      []string          // what a request may set
}

func (f frontend) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /programs", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, f.contract.published()) })
	mux.HandleFunc("POST /programs/{name}", f.start)
	return mux
}

// start looks at a request and starts its job. The answer is what the job says,
// and ends with its exit code, which is the verdict.
func (f frontend) start(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	p, ok := f.contract.find(name)
	if !ok || !p.Published {
		var names []string
		for _, other := range f.contract.published() {
			names = append(names, other.Name)
			if other.Short != "" {
				names = append(names, other.Short)
			}
		}
		answer(w, http.StatusNotFound, refusal{Error: "no program is called " + name, Close: near(name, names)})
		return
	}
	var request struct {
		Variables map[string]string `json:"variables"`
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	body.DisallowUnknownFields()
	if err := body.Decode(&request); err != nil {
		answer(w, http.StatusBadRequest, refusal{Error: fmt.Sprintf("the body is not {\"variables\": {…}}: %v", err)})
		return
	}
	environment, no := f.environment(p, request.Variables)
	if no != nil {
		answer(w, http.StatusUnprocessableEntity, no)
		return
	}
	// Whoever asked and went away has the job stopped in order.
	job := exec.CommandContext(r.Context(), f.run, p.Name)
	job.Env = environment
	job.Cancel = func() error { return job.Process.Signal(syscall.SIGTERM) }
	job.WaitDelay = 15 * time.Minute
	out := &flushed{to: w}
	job.Stdout, job.Stderr = out, out
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	err := job.Run()
	if job.ProcessState == nil {
		answer(w, http.StatusBadGateway, refusal{Error: fmt.Sprintf("start the job: %v", err)})
		return
	}
	_, _ = fmt.Fprintf(out, "exit code %d\n", job.ProcessState.ExitCode())
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // whoever asked may be gone
}

// flushed hands on every line as it comes. A reader that is gone ends nothing.
type flushed struct{ to http.ResponseWriter }

var _ io.Writer = (*flushed)(nil)

func (f *flushed) Write(p []byte) (int, error) {
	_, _ = f.to.Write(p)
	_ = http.NewResponseController(f.to).Flush()
	return len(p), nil
}
