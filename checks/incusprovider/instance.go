package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// instance is a container or a virtual machine.
type instance struct{ server *server }

type instanceModel struct {
	Name        types.String  `tfsdk:"name"`
	Description types.String  `tfsdk:"description"`
	Type        types.String  `tfsdk:"type"`
	Image       types.String  `tfsdk:"image"`
	Ephemeral   types.Bool    `tfsdk:"ephemeral"`
	Running     types.Bool    `tfsdk:"running"`
	Profiles    types.List    `tfsdk:"profiles"`
	Config      types.Map     `tfsdk:"config"`
	Project     types.String  `tfsdk:"project"`
	Remote      types.String  `tfsdk:"remote"`
	Target      types.String  `tfsdk:"target"`
	IPv4        types.String  `tfsdk:"ipv4_address"`
	IPv6        types.String  `tfsdk:"ipv6_address"`
	MAC         types.String  `tfsdk:"mac_address"`
	Status      types.String  `tfsdk:"status"`
	WaitFor     []waitModel   `tfsdk:"wait_for"`
	Devices     []deviceModel `tfsdk:"device"`
	Files       []fileModel   `tfsdk:"file"`
}

type waitModel struct {
	Type  types.String `tfsdk:"type"`
	Delay types.String `tfsdk:"delay"`
	Nic   types.String `tfsdk:"nic"`
}

type deviceModel struct {
	Name       types.String      `tfsdk:"name"`
	Type       types.String      `tfsdk:"type"`
	Properties map[string]string `tfsdk:"properties"`
}

type fileModel struct {
	Content types.String `tfsdk:"content"`
	Source  types.String `tfsdk:"source_path"`
	Target  types.String `tfsdk:"target_path"`
	UID     types.Int64  `tfsdk:"uid"`
	GID     types.Int64  `tfsdk:"gid"`
	Mode    types.String `tfsdk:"mode"`
	Create  types.Bool   `tfsdk:"create_directories"`
	Append  types.Bool   `tfsdk:"append"`
}

func (*instance) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "incus_instance"
}

func (i *instance) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	i.server, _ = q.ProviderData.(*server)
}

func (*instance) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	fixed := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	r.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"name":        schema.StringAttribute{Required: true, PlanModifiers: fixed},
			"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("")},
			"type":        schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("container"), PlanModifiers: fixed},
			"image":       schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"ephemeral":   schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false)},
			"running":     schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true)},
			"profiles":    schema.ListAttribute{Optional: true, Computed: true, ElementType: types.StringType},
			"config": schema.MapAttribute{
				Optional: true, Computed: true, ElementType: types.StringType,
				Default: mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{})),
			},
			"project": schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"remote":  schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"target": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured()},
			},
			"ipv4_address": schema.StringAttribute{Computed: true},
			"ipv6_address": schema.StringAttribute{Computed: true},
			"mac_address":  schema.StringAttribute{Computed: true},
			"status":       schema.StringAttribute{Computed: true},
		},
		Blocks: map[string]schema.Block{
			"wait_for": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"type":  schema.StringAttribute{Required: true},
				"delay": schema.StringAttribute{Optional: true},
				"nic":   schema.StringAttribute{Optional: true},
			}}},
			"device": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"name":       schema.StringAttribute{Required: true},
				"type":       schema.StringAttribute{Required: true},
				"properties": schema.MapAttribute{Required: true, ElementType: types.StringType},
			}}},
			"file": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"content":     schema.StringAttribute{Optional: true},
				"source_path": schema.StringAttribute{Optional: true},
				"target_path": schema.StringAttribute{Required: true},
				"uid":         schema.Int64Attribute{Optional: true},
				"gid":         schema.Int64Attribute{Optional: true},
				"mode": schema.StringAttribute{
					Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
				},
				"create_directories": schema.BoolAttribute{Optional: true},
				"append":             schema.BoolAttribute{Computed: true, Default: booldefault.StaticBool(false)},
			}}},
		},
	}
}

func (m *instanceModel) path(more ...string) string {
	return "/1.0/instances/" + url.PathEscape(m.Name.ValueString()) + strings.Join(more, "")
}

func (m *instanceModel) query() url.Values { return in(m.Project.ValueString()) }

// put is the instance as the server wants it.
func (m *instanceModel) put(ctx context.Context, own map[string]string) map[string]any {
	config, profiles, devices := maps.Clone(own), []string{}, map[string]map[string]string{}
	if config == nil {
		config = map[string]string{}
	}
	var given map[string]string
	m.Config.ElementsAs(ctx, &given, false)
	maps.Copy(config, given)
	m.Profiles.ElementsAs(ctx, &profiles, false)
	for _, d := range m.Devices {
		properties := maps.Clone(d.Properties)
		properties["type"] = d.Type.ValueString()
		devices[d.Name.ValueString()] = properties
	}
	return map[string]any{
		"description": m.Description.ValueString(), "config": config, "profiles": profiles, "devices": devices, "ephemeral": m.Ephemeral.ValueBool(),
	}
}

// Create makes the instance, starts it, and then sends it its files: as the real
// provider does, which knows of it from the moment it is made.
func (i *instance) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	body := m.put(ctx, nil)
	body["name"], body["type"] = m.Name.ValueString(), m.Type.ValueString()
	image := m.Image.ValueString()
	body["source"] = map[string]string{"type": "image", "fingerprint": image}
	if strings.Contains(image, "/") {
		body["source"] = map[string]string{"type": "image", "alias": image}
	}
	query := m.query()
	if target := m.Target.ValueString(); target != "" {
		query.Set("target", target)
	}
	if err := i.server.call(ctx, http.MethodPost, "/1.0/instances", query, nil, body, nil); err != nil {
		r.Diagnostics.AddError("create instance", err.Error())
		return
	}
	err := i.run(ctx, &m)
	for _, f := range m.Files {
		if err == nil {
			err = i.send(ctx, &m, f)
		}
	}
	if err != nil {
		r.Diagnostics.AddError("start instance", err.Error())
	}
	i.sync(ctx, m, &r.State, &r.Diagnostics)
}

// run starts or stops it.
func (i *instance) run(ctx context.Context, m *instanceModel) error {
	action := "stop"
	if m.Running.ValueBool() {
		action = "start"
	}
	return i.server.call(ctx, http.MethodPut, m.path("/state"), m.query(), nil, map[string]any{"action": action, "timeout": 60, "force": action == "stop"}, nil)
}

// send puts a file into the instance.
func (i *instance) send(ctx context.Context, m *instanceModel, f fileModel) error {
	target := f.Target.ValueString()
	put := func(name, kind, mode string, content []byte) error {
		query := m.query()
		query.Set("path", name)
		return i.server.call(ctx, http.MethodPost, m.path("/files"), query, http.Header{
			"X-Incus-Type": {kind}, "X-Incus-Mode": {mode}, "X-Incus-Uid": {strconv.FormatInt(f.UID.ValueInt64(), 10)}, "X-Incus-Gid": {strconv.FormatInt(f.GID.ValueInt64(), 10)},
		}, content, nil)
	}
	if f.Create.ValueBool() {
		for at, c := range target {
			if c != '/' || at == 0 {
				continue
			}
			if err := put(target[:at], "directory", "0755", nil); err != nil && !strings.Contains(err.Error(), "exists") {
				return err
			}
		}
	}
	return put(target, "file", f.Mode.ValueString(), []byte(f.Content.ValueString()))
}

func (i *instance) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if !r.Diagnostics.HasError() {
		i.sync(ctx, m, &r.State, &r.Diagnostics)
	}
}

func (i *instance) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var m, before instanceModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	r.Diagnostics.Append(q.State.Get(ctx, &before)...)
	if r.Diagnostics.HasError() {
		return
	}
	var err error
	if m.Running.ValueBool() != before.Running.ValueBool() {
		err = i.run(ctx, &m)
	}
	var there struct {
		Config map[string]string `json:"config"`
	}
	if err == nil {
		err = i.server.call(ctx, http.MethodGet, m.path(), m.query(), nil, nil, &there)
	}
	if err == nil {
		maps.DeleteFunc(there.Config, func(name, _ string) bool { return !computed(name) })
		err = i.server.call(ctx, http.MethodPut, m.path(), m.query(), nil, m.put(ctx, there.Config), nil)
	}
	for n, f := range m.Files {
		if err == nil && (n >= len(before.Files) || !f.Content.Equal(before.Files[n].Content)) {
			err = i.send(ctx, &m, f)
		}
	}
	if err != nil {
		r.Diagnostics.AddError("update instance", err.Error())
		return
	}
	i.sync(ctx, m, &r.State, &r.Diagnostics)
}

// computed are the settings that are the server's own.
func computed(name string) bool {
	return strings.HasPrefix(name, "image.") || strings.HasPrefix(name, "volatile.")
}

// sync brings a state in line with the server.
func (i *instance) sync(ctx context.Context, m instanceModel, state *tfsdk.State, d *diag.Diagnostics) {
	var there struct {
		Description string                       `json:"description"`
		Type        string                       `json:"type"`
		Status      string                       `json:"status"`
		Location    string                       `json:"location"`
		Ephemeral   bool                         `json:"ephemeral"`
		Profiles    []string                     `json:"profiles"`
		Config      map[string]string            `json:"config"`
		Devices     map[string]map[string]string `json:"devices"`
	}
	err := i.server.call(ctx, http.MethodGet, m.path(), m.query(), nil, nil, &there)
	if errors.Is(err, errAbsent) {
		state.RemoveResource(ctx)
		return
	}
	if err != nil {
		d.AddError("read instance", err.Error())
		return
	}
	maps.DeleteFunc(there.Config, func(name, _ string) bool { return computed(name) })
	config, more := types.MapValueFrom(ctx, types.StringType, there.Config)
	d.Append(more...)
	profiles, more := types.ListValueFrom(ctx, types.StringType, append([]string{}, there.Profiles...))
	d.Append(more...)
	m.Config, m.Profiles, m.Devices = config, profiles, nil
	for name, properties := range there.Devices {
		kind := properties["type"]
		delete(properties, "type")
		m.Devices = append(m.Devices, deviceModel{types.StringValue(name), types.StringValue(kind), properties})
	}
	m.Description, m.Type, m.Status = types.StringValue(there.Description), types.StringValue(there.Type), types.StringValue(there.Status)
	m.Ephemeral, m.Running = types.BoolValue(there.Ephemeral), types.BoolValue(there.Status == "Running")
	m.Target = types.StringValue("")
	if there.Location != "none" {
		m.Target = types.StringValue(there.Location)
	}
	// Nothing here asks for an address.
	m.IPv4, m.IPv6 = types.StringNull(), types.StringNull()
	m.MAC = types.StringNull()
	for n := range m.Files {
		m.Files[n].Append = types.BoolValue(false)
	}
	d.Append(state.Set(ctx, &m)...)
}

// Delete stops it by force, as the real provider does, and removes it.
func (i *instance) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	m.Running = types.BoolValue(false)
	_ = i.run(ctx, &m) // it may be stopped already
	err := i.server.call(ctx, http.MethodDelete, m.path(), m.query(), nil, nil, nil)
	if err != nil && !errors.Is(err, errAbsent) {
		r.Diagnostics.AddError("delete instance", err.Error())
	}
}

func (i *instance) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	identified(ctx, q.ID, []string{"project", "name"}, r)
}
