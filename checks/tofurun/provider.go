package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/internal/wait"
)

// traces is a provider of this very program whose things leave a trace when they
// are made and removed, and which are found by their name when they are there.
type traces struct{}

const (
	tracesAddress = "example.org/slipway/traces"
	tracesType    = "traces_thing"
)

func (traces) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "traces"
}
func (traces) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (traces) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (traces) DataSources(context.Context) []func() datasource.DataSource                        { return nil }

func (traces) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &thing{} }}
}

type thing struct{}

type model struct {
	ID    types.String `tfsdk:"id"`
	Trace types.String `tfsdk:"trace"`
}

func (*thing) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = tracesType
}

func (*thing) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{Required: true}, "trace": schema.StringAttribute{Required: true},
	}}
}

// Create takes as many tenths of a second as its id says, leaves the trace, and
// takes as long again before it answers: a program that is killed then has made
// what nobody has heard of. While there is a file beside the trace whose name ends in
// .hold, the fourth is made and does not answer, and none is made after it.
func (*thing) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m model
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	if !m.there() {
		m.rest(ctx)
		m.held(ctx, 4)
		m.leave("+")
		m.held(ctx, 3)
		m.rest(ctx)
	}
	r.Diagnostics.Append(r.State.Set(ctx, m)...)
}

func (*thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*thing) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

func (*thing) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var m model
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	m.leave("-")
}

// tracing keeps one thing's look and leave from another's.
var tracing sync.Mutex

func (m model) leave(sign string) {
	tracing.Lock()
	defer tracing.Unlock()
	file, err := os.OpenFile(m.Trace.ValueString(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(file, "%s %s\n", sign, m.ID.ValueString())
	_ = file.Close()
}

func (m model) there() bool {
	tracing.Lock()
	defer tracing.Unlock()
	text, _ := os.ReadFile(m.Trace.ValueString())
	return strings.Count(string(text), "+ "+m.ID.ValueString()+"\n") > strings.Count(string(text), "- "+m.ID.ValueString()+"\n")
}

// held waits while things from this id on are held.
func (m model) held(ctx context.Context, from int) {
	id, _ := strconv.Atoi(m.ID.ValueString())
	if id < from {
		return
	}
	_ = wait.For{What: "the end of the hold", Limit: time.Hour, Interval: 50 * time.Millisecond}.Until(ctx, func(context.Context) error {
		if _, err := os.Stat(m.Trace.ValueString() + ".hold"); err == nil {
			return errors.New("it holds")
		}
		return nil
	})
}

func (m model) rest(ctx context.Context) {
	tenths, _ := time.ParseDuration(m.ID.ValueString() + "00ms")
	pause := time.NewTimer(tenths)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
}
