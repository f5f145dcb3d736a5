package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// kind is what kinds of thing differ in that are a name and settings.
type kind struct {
	name     string
	texts    map[string]string                    // further texts: none of them changes, and these are their defaults
	computed []string                             // texts that the server gives
	parts    []string                             // of the id by which it is imported
	path     func(get func(string) string) string // of one
}

var (
	project = kind{name: "project", parts: []string{"name"}, path: func(get func(string) string) string {
		return "/1.0/projects/" + url.PathEscape(get("name"))
	}}
	network = kind{
		name: "network", texts: map[string]string{"type": "bridge", "project": "", "target": ""}, parts: []string{"project", "name"},
		path: func(get func(string) string) string { return "/1.0/networks/" + url.PathEscape(get("name")) },
	}
	volume = kind{
		name: "storage_volume", texts: map[string]string{"pool": "", "type": "custom", "content_type": "filesystem", "project": "", "target": ""},
		computed: []string{"location"}, parts: []string{"project", "pool", "name"},
		path: func(get func(string) string) string {
			return "/1.0/storage-pools/" + url.PathEscape(get("pool")) + "/volumes/custom/" + url.PathEscape(get("name"))
		},
	}
)

// thing is a resource of such a kind.
type thing struct {
	kind   kind
	server *server
}

func (t *thing) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "incus_" + t.kind.name
}

func (t *thing) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	t.server, _ = q.ProviderData.(*server)
}

func (t *thing) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	fixed := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	all := map[string]schema.Attribute{
		"name":        schema.StringAttribute{Required: true, PlanModifiers: fixed},
		"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("")},
		"remote":      schema.StringAttribute{Optional: true, PlanModifiers: fixed},
		"config": schema.MapAttribute{
			Optional: true, Computed: true, ElementType: types.StringType,
			Default: mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{})),
		},
	}
	for name, standard := range t.kind.texts {
		a := schema.StringAttribute{Optional: true, PlanModifiers: fixed}
		if standard != "" {
			a.Computed, a.Default = true, stringdefault.StaticString(standard)
		}
		all[name] = a
	}
	for _, name := range t.kind.computed {
		all[name] = schema.StringAttribute{Computed: true}
	}
	r.Schema = schema.Schema{Attributes: all}
}

// source is a plan or a state.
type source interface {
	GetAttribute(ctx context.Context, path path.Path, into any) diag.Diagnostics
}

// text reads a text of a plan or a state.
func text(ctx context.Context, from source, name string) string {
	var s types.String
	_ = from.GetAttribute(ctx, path.Root(name), &s)
	return s.ValueString()
}

// settings read the settings.
func settings(ctx context.Context, from source) map[string]string {
	var m types.Map
	_ = from.GetAttribute(ctx, path.Root("config"), &m)
	all := map[string]string{}
	for name, value := range m.Elements() {
		if s, ok := value.(types.String); ok {
			all[name] = s.ValueString()
		}
	}
	return all
}

func (t *thing) getter(ctx context.Context, from source) func(string) string {
	return func(name string) string {
		if name != "name" && name != "description" {
			if _, ok := t.kind.texts[name]; !ok {
				return ""
			}
		}
		return text(ctx, from, name)
	}
}

func (t *thing) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	get := t.getter(ctx, q.Plan)
	one := t.kind.path(get)
	many := one[:strings.LastIndex(one, "/")]
	body := map[string]any{"name": get("name"), "description": get("description"), "config": settings(ctx, q.Plan)}
	for _, name := range []string{"type", "content_type"} {
		if value := get(name); value != "" {
			body[name] = value
		}
	}
	if err := t.server.call(ctx, http.MethodPost, many, in(get("project")), nil, body, nil); err != nil {
		r.Diagnostics.AddError("create "+t.kind.name, err.Error())
		return
	}
	r.State.Raw = q.Plan.Raw
	t.sync(ctx, get, settings(ctx, q.Plan), &r.State, &r.Diagnostics)
}

func (t *thing) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	t.sync(ctx, t.getter(ctx, q.State), settings(ctx, q.State), &r.State, &r.Diagnostics)
}

func (t *thing) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	get := t.getter(ctx, q.Plan)
	var there struct {
		Config map[string]string `json:"config"`
	}
	err := t.server.call(ctx, http.MethodGet, t.kind.path(get), in(get("project")), nil, nil, &there)
	if err == nil {
		config := settings(ctx, q.Plan)
		for name, value := range there.Config {
			if _, old := settings(ctx, q.State)[name]; !old && config[name] == "" {
				config[name] = value // the server's own
			}
		}
		err = t.server.call(ctx, http.MethodPut, t.kind.path(get), in(get("project")), nil, map[string]any{"description": get("description"), "config": config}, nil)
	}
	if err != nil {
		r.Diagnostics.AddError("update "+t.kind.name, err.Error())
		return
	}
	r.State.Raw = q.Plan.Raw
	t.sync(ctx, get, settings(ctx, q.Plan), &r.State, &r.Diagnostics)
}

// sync brings a state in line with the server. Settings that nobody asked for are
// the server's own.
func (t *thing) sync(ctx context.Context, get func(string) string, asked map[string]string, state *tfsdk.State, d *diag.Diagnostics) {
	var there struct {
		Description string            `json:"description"`
		Config      map[string]string `json:"config"`
		Type        string            `json:"type"`
		ContentType string            `json:"content_type"`
		Location    string            `json:"location"`
	}
	err := t.server.call(ctx, http.MethodGet, t.kind.path(get), in(get("project")), nil, nil, &there)
	if errors.Is(err, errAbsent) {
		state.RemoveResource(ctx)
		return
	}
	if err != nil {
		d.AddError("read "+t.kind.name, err.Error())
		return
	}
	d.Append(state.SetAttribute(ctx, path.Root("description"), there.Description)...)
	maps.DeleteFunc(there.Config, func(name, _ string) bool { _, ok := asked[name]; return !ok })
	d.Append(state.SetAttribute(ctx, path.Root("config"), there.Config)...)
	for name, value := range map[string]string{"type": there.Type, "content_type": there.ContentType} {
		if _, ok := t.kind.texts[name]; ok {
			d.Append(state.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
	for _, name := range t.kind.computed {
		d.Append(state.SetAttribute(ctx, path.Root(name), there.Location)...)
	}
}

func (t *thing) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	get := t.getter(ctx, q.State)
	err := t.server.call(ctx, http.MethodDelete, t.kind.path(get), in(get("project")), nil, nil, nil)
	if err != nil && !errors.Is(err, errAbsent) {
		r.Diagnostics.AddError("delete "+t.kind.name, err.Error())
	}
}

func (t *thing) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	identified(ctx, q.ID, t.kind.parts, r)
}

// identified takes an id apart: [remote:]part/part[,option=value]. As with the real
// provider (1.1.1), the remote is kept: a configuration that names none, or another,
// then wants the object made again.
func identified(ctx context.Context, id string, parts []string, r *resource.ImportStateResponse) {
	id, option, _ := strings.Cut(id, ",")
	if remote, rest, ok := strings.Cut(id, ":"); ok {
		id = rest
		if remote != "" {
			r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root("remote"), remote)...)
		}
	}
	values := strings.Split(id, "/")
	if len(values) != len(parts) {
		r.Diagnostics.AddError("import", "the id is not made of "+strings.Join(parts, "/"))
		return
	}
	for i, name := range parts {
		r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root(name), values[i])...)
	}
	if name, value, ok := strings.Cut(option, "="); ok {
		r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root(name), value)...)
	}
}
