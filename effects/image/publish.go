package image

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// step is what is to be done about one image.
type step struct {
	built
	upload bool   // the server has it not
	fixed  bool   // it lacks the name that stays
	moves  bool   // the name that moves stands for another
	before string // what that stands for now; may be empty
}

func (s step) idle() bool { return !s.upload && !s.fixed && !s.moves }

// look finds out what is to be done. It changes nothing.
func (r *run) look(ctx context.Context, c *incus.Client, b built) (step, error) {
	s := step{built: b}
	fail := func(err error) (step, error) {
		return s, &report.Fault{Code: report.Unknown, What: "look for image " + b.Name, Where: c.Address(), Why: err}
	}
	there, err := c.Alias(ctx, r.fixed(b))
	if err != nil {
		return fail(err)
	}
	// The name says what went in. Where that was built elsewhere, and not to the
	// same bits, the image that is there is as good.
	s.fixed = there == ""
	if there != "" {
		s.Fingerprint = there
	}
	has, err := c.HasImage(ctx, s.Fingerprint)
	if err != nil {
		return fail(err)
	}
	s.upload = !has
	if s.before, err = c.Alias(ctx, r.moving(b)); err != nil {
		return fail(err)
	}
	s.moves = s.before != s.Fingerprint
	return s, nil
}

// connect connects to the server, and refuses a project that is not there: what it is
// asked for of one would only be absent.
func (r *run) connect(ctx context.Context, run *task.Run) (*incus.Client, error) {
	c, err := r.server.Connect(ctx, run.Log)
	if err != nil {
		return nil, err
	}
	if err := there(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func there(ctx context.Context, c *incus.Client) error {
	const always = "default"
	if c.Project() == always {
		return nil
	}
	_, err := c.Get(ctx, "", "projects", c.Project())
	switch {
	case err == nil, incus.Forbidden(err): // what one may not see is there
		return nil
	case !incus.Absent(err):
		return &report.Fault{Code: report.Unknown, What: "look for project " + c.Project(), Where: c.Address(), Why: err}
	}
	return report.Refuse("publish images", fmt.Errorf("%s has no project %s that we may see", c.Address(), c.Project()),
		"make the project first; or, where it is to be made with a machine, name it for that machine alone (WEB_INCUS_PROJECT and WEB_INCUS_MAKES for web): its images are those of "+always+"; nothing was changed")
}

// publish brings the server to have every image under both of its names.
func (r *run) publish(ctx context.Context, run *task.Run, all []built) error {
	c, err := r.connect(ctx, run)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, b := range all {
		s, err := r.look(ctx, c, b)
		if err == nil {
			err = r.bring(ctx, run, c, s)
		}
		if err == nil {
			err = r.prune(ctx, run, c, s)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(run.Out, "%s %s\n", r.fixed(b), s.Fingerprint); err != nil {
			return err
		}
	}
	return r.stream(ctx, run, all)
}

// bring does what is to be done about one image, the name that moves last.
func (r *run) bring(ctx context.Context, run *task.Run, c *incus.Client, s step) error {
	log := run.Log.In("publish")
	if s.idle() {
		log.Infof("%s is published: nothing sent", r.fixed(s.built))
		return nil
	}
	fail := func(what string, err error) error {
		return report.Fail(what, err, r.moving(s.built)+" stands for what it stood for; publish goes on from here")
	}
	if s.upload {
		if err := r.upload(ctx, run, c, s); err != nil {
			return fail("upload image "+s.Name, err)
		}
		run.Record.Changed = true
	}
	if err := c.SetAlias(ctx, r.fixed(s.built), s.Fingerprint, s.Description); err != nil {
		return fail("name image "+s.Name, err)
	}
	if err := c.SetAlias(ctx, r.moving(s.built), s.Fingerprint, s.Description); err != nil {
		return fail("move the name of image "+s.Name, err)
	}
	run.Record.Changed = true
	log.Infof("%s is %s", r.moving(s.built), s.Fingerprint)
	return nil
}

func (r *run) upload(ctx context.Context, run *task.Run, c *incus.Client, s step) error {
	size, err := s.Size()
	if err != nil {
		return err
	}
	run.Log.In("publish").Infof("sending %s, %d MiB", s.Name, size>>20)
	defer run.Record.Time("upload")()
	got, err := c.Upload(ctx, s.Files, s.Fingerprint, s.properties())
	if err == nil && got != s.Fingerprint {
		err = errors.New("the server calls it " + got + ", and it is " + s.Fingerprint + ": what arrived is not what was sent")
	}
	return err
}

// pathProperty is the property by which an image is known to be one of ours.
const pathProperty = "slipway.path"

// properties say what the image is, and what it takes to run it.
func (s step) properties() map[string]string {
	all := map[string]string{"os": "NixOS", "description": s.Description, pathProperty: s.Path}
	if s.Files.VM {
		all["requirements.secureboot"] = "false"
	} else {
		all["requirements.nesting"] = "true"
	}
	return all
}

// plan says what publish would do.
func (r *run) plan(ctx context.Context, run *task.Run, all []built) error {
	c, err := r.connect(ctx, run)
	if err != nil {
		return err
	}
	defer c.Close()
	run.Record.Plan = &report.Plan{}
	for _, b := range all {
		s, err := r.look(ctx, c, b)
		if err != nil {
			return err
		}
		words := []string{r.words(s)}
		old, err := r.stale(ctx, c, s)
		if err != nil {
			return &report.Fault{Code: report.Unknown, What: "look for older versions of image " + b.Name, Where: c.Address(), Why: err}
		}
		for _, i := range old {
			words = append(words, fmt.Sprintf("would remove %s, %s", strings.Join(i.Names, " "), i.Fingerprint))
		}
		run.Record.Plan.Changes = run.Record.Plan.Changes || !s.idle() || len(old) > 0
		if _, err := fmt.Fprintln(run.Out, strings.Join(words, "\n")); err != nil {
			return err
		}
	}
	return r.streamPlan(run, all)
}

func (r *run) words(s step) string {
	switch {
	case s.idle():
		return fmt.Sprintf("no changes: %s is %s", r.moving(s.built), s.Fingerprint)
	case s.upload:
		return fmt.Sprintf("would send %s, name it %s, and make %s stand for it", s.Fingerprint, r.fixed(s.built), r.moving(s.built))
	}
	return fmt.Sprintf("would make %s and %s stand for %s, which is there", r.fixed(s.built), r.moving(s.built), s.Fingerprint)
}
