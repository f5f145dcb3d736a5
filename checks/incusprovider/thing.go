package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// kind is what kinds of thing differ in that are a name and settings.
type kind struct {
	name  string
	own   map[string]schema.Attribute // beside those that all have
	files bool
	bare  bool                                 // its settings have no default
	keys  computed                             // settings that the server sets by itself
	parts []string                             // of the id by which it is imported
	set   map[string]any                       // by an import
	path  func(get func(string) string) string // of one
}

var fixed = []planmodifier.String{stringplanmodifier.RequiresReplace()}

var (
	ofProject = schema.StringAttribute{Optional: true, PlanModifiers: fixed, Validators: []validator.String{filled}}
	project   = kind{
		name: "project", parts: []string{"name"}, set: map[string]any{"force_destroy": false},
		own: map[string]schema.Attribute{
			"force_destroy": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), Validators: []validator.Bool{idle}},
		},
		keys: computed{"features.images", "features.profiles", "features.storage.volumes", "features.storage.buckets"},
		path: func(get func(string) string) string { return "/1.0/projects/" + url.PathEscape(get("name")) },
	}
	network = kind{
		name: "network", parts: []string{"project", "name"}, bare: true,
		own: map[string]schema.Attribute{
			"project": ofProject,
			"target":  schema.StringAttribute{Optional: true, PlanModifiers: fixed, Validators: []validator.String{filled, idle}},
			"type": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{oneOf("bridge", "macvlan", "sriov", "ovn", "physical")},
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace(), stringplanmodifier.UseStateForUnknown()},
			},
			"managed": schema.BoolAttribute{Computed: true, PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()}},
		},
		keys: computed{"bridge.mtu", "ipv4.address", "ipv4.nat", "ipv6.address", "ipv6.nat", "network", "tunnel.", "volatile."},
		path: func(get func(string) string) string { return "/1.0/networks/" + url.PathEscape(get("name")) },
	}
	volume = kind{
		name: "storage_volume", parts: []string{"project", "pool", "name"}, set: map[string]any{"type": "custom"}, files: true,
		own: map[string]schema.Attribute{
			"pool":    schema.StringAttribute{Required: true, PlanModifiers: fixed},
			"project": ofProject,
			"type":    schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("custom"), PlanModifiers: fixed},
			"content_type": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("filesystem"), PlanModifiers: fixed,
				Validators: []validator.String{oneOf("filesystem", "block")},
			},
			"target": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured()},
				Validators: []validator.String{filled, idle},
			},
			"location":    schema.StringAttribute{Computed: true},
			"source_file": schema.StringAttribute{Optional: true, PlanModifiers: fixed, Validators: []validator.String{idle}},
			"source_volume": schema.SingleNestedAttribute{
				Optional: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplace()}, Validators: []validator.Object{idle},
				Attributes: map[string]schema.Attribute{
					"pool":   schema.StringAttribute{Required: true},
					"name":   schema.StringAttribute{Required: true},
					"remote": schema.StringAttribute{Optional: true},
				},
			},
		},
		keys: computed{"block.filesystem", "block.mount_options", "volatile."},
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
	config := schema.MapAttribute{Optional: true, Computed: true, ElementType: types.StringType}
	if !t.kind.bare {
		config.Default = mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{}))
	}
	all := map[string]schema.Attribute{
		"name":        schema.StringAttribute{Required: true, PlanModifiers: fixed},
		"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("")},
		"remote":      schema.StringAttribute{Optional: true, PlanModifiers: fixed},
		"config":      config,
	}
	maps.Copy(all, t.kind.own)
	r.Schema = schema.Schema{Attributes: all}
	if t.kind.files {
		files := fileBlock()
		files.Validators = []validator.Set{idleBlock}
		r.Schema.Blocks = map[string]schema.Block{"file": files}
	}
}

// ValidateConfig refuses addresses of a network that its server is to choose: what it
// chose would be another result than was planned.
func (t *thing) ValidateConfig(ctx context.Context, q resource.ValidateConfigRequest, r *resource.ValidateConfigResponse) {
	var config types.Map
	r.Diagnostics.Append(q.Config.GetAttribute(ctx, path.Root("config"), &config)...)
	for _, name := range []string{"ipv4.address", "ipv6.address"} {
		if t.kind.name == network.name && plain(config.Elements()[name]) == "auto" {
			r.Diagnostics.AddError("Invalid Configuration", fmt.Sprintf("%q cannot be set to %q", name, "auto"))
		}
	}
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
func settings(ctx context.Context, from source) types.Map {
	var m types.Map
	_ = from.GetAttribute(ctx, path.Root("config"), &m)
	return m
}

func (t *thing) getter(ctx context.Context, from source) func(string) string {
	return func(name string) string {
		if _, ok := t.kind.own[name]; !ok && name != "name" && name != "description" {
			return ""
		}
		return text(ctx, from, name)
	}
}

func (t *thing) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	get := t.getter(ctx, q.Plan)
	one := t.kind.path(get)
	many := one[:strings.LastIndex(one, "/")]
	body := map[string]any{"name": get("name"), "description": get("description"), "config": given(ctx, settings(ctx, q.Plan))}
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
		config := t.kind.keys.merged(there.Config, given(ctx, settings(ctx, q.Plan)))
		err = t.server.call(ctx, http.MethodPut, t.kind.path(get), in(get("project")), nil, map[string]any{"description": get("description"), "config": config}, nil)
	}
	if err != nil {
		r.Diagnostics.AddError("update "+t.kind.name, err.Error())
		return
	}
	r.State.Raw = q.Plan.Raw
	t.sync(ctx, get, settings(ctx, q.Plan), &r.State, &r.Diagnostics)
}

// sync brings a state in line with the server.
func (t *thing) sync(ctx context.Context, get func(string) string, asked types.Map, state *tfsdk.State, d *diag.Diagnostics) {
	var there struct {
		Description string            `json:"description"`
		Config      map[string]string `json:"config"`
		Type        string            `json:"type"`
		ContentType string            `json:"content_type"`
		Location    string            `json:"location"`
		Managed     bool              `json:"managed"`
	}
	err := t.server.call(ctx, http.MethodGet, t.kind.path(get), in(get("project")), nil, nil, &there)
	keys := t.kind.keys
	if err == nil && t.kind.name == volume.name {
		var inherited computed
		inherited, err = t.inherited(ctx, get)
		keys = append(inherited, keys...)
	}
	if errors.Is(err, errAbsent) {
		state.RemoveResource(ctx)
		return
	}
	if err != nil {
		d.AddError("read "+t.kind.name, err.Error())
		return
	}
	where := ""
	if there.Location != "none" {
		where = there.Location
	}
	is := map[string]any{
		"description": there.Description, "config": keys.shown(ctx, there.Config, asked), "type": there.Type,
		"content_type": there.ContentType, "location": there.Location, "managed": there.Managed,
	}
	if t.kind.name == volume.name {
		is["target"] = where
	}
	for name, value := range is {
		if _, own := t.kind.own[name]; own || name == "description" || name == "config" {
			d.Append(state.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
}

// inherited are settings that volumes have from their pool.
func (t *thing) inherited(ctx context.Context, get func(string) string) (computed, error) {
	var pool struct {
		Config map[string]string `json:"config"`
	}
	err := t.server.call(ctx, http.MethodGet, "/1.0/storage-pools/"+url.PathEscape(get("pool")), nil, nil, nil, &pool)
	var all computed
	for name := range pool.Config {
		if of, ok := strings.CutPrefix(name, "volume."); ok {
			all = append(all, of)
		}
	}
	return all, err
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
	for name, value := range t.kind.set {
		r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root(name), value)...)
	}
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
