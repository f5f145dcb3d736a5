package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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
	Arch        types.String  `tfsdk:"architecture"`
	Exec        types.Map     `tfsdk:"exec"`
	SourceFile  types.String  `tfsdk:"source_file"`
	Source      types.Object  `tfsdk:"source_instance"`
	WaitFor     []waitModel   `tfsdk:"wait_for"`
	Devices     []deviceModel `tfsdk:"device"`
	Files       []fileModel   `tfsdk:"file"`
}

type waitModel struct {
	Type  types.String `tfsdk:"type"`
	Delay types.String `tfsdk:"delay"`
	Nic   types.String `tfsdk:"nic"`
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
			"name":        schema.StringAttribute{Required: true}, // which changes in place
			"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("")},
			"type": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("container"), PlanModifiers: fixed,
				Validators: []validator.String{oneOf("container", "virtual-machine")},
			},
			"image": schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"ephemeral": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()},
			},
			"running": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true)},
			"profiles": schema.ListAttribute{
				Optional: true, Computed: true, ElementType: types.StringType, Validators: []validator.List{allFilled},
			},
			"config": schema.MapAttribute{
				Optional: true, Computed: true, ElementType: types.StringType,
				Default:    mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{})),
				Validators: []validator.Map{ofTheUser},
			},
			"project": schema.StringAttribute{Optional: true, PlanModifiers: fixed, Validators: []validator.String{filled}},
			"remote":  schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"target": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured()},
				Validators: []validator.String{filled},
			},
			"architecture": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{idle},
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
			},
			"ipv4_address": schema.StringAttribute{Computed: true},
			"ipv6_address": schema.StringAttribute{Computed: true},
			"mac_address":  schema.StringAttribute{Computed: true},
			"status":       schema.StringAttribute{Computed: true},
			"exec": schema.MapNestedAttribute{
				Optional: true, Validators: []validator.Map{idle},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"command":     schema.ListAttribute{Required: true, ElementType: types.StringType},
					"environment": schema.MapAttribute{Optional: true, ElementType: types.StringType},
					"working_dir": schema.StringAttribute{Optional: true},
					"uid":         schema.Int64Attribute{Optional: true},
					"gid":         schema.Int64Attribute{Optional: true},
					"timeout":     schema.StringAttribute{Optional: true},
					"trigger":     schema.StringAttribute{Optional: true},
				}},
			},
			"source_file": schema.StringAttribute{Optional: true, PlanModifiers: fixed, Validators: []validator.String{idle}},
			"source_instance": schema.SingleNestedAttribute{
				Optional: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplace()}, Validators: []validator.Object{idle},
				Attributes: map[string]schema.Attribute{
					"project":  schema.StringAttribute{Required: true},
					"name":     schema.StringAttribute{Required: true},
					"snapshot": schema.StringAttribute{Optional: true},
				},
			},
		},
		Blocks: map[string]schema.Block{
			"wait_for": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"type": schema.StringAttribute{
					Required: true, Validators: []validator.String{oneOf("agent", "cloud-init", "delay", "ipv4", "ipv6", "ready")},
				},
				"delay": schema.StringAttribute{Optional: true},
				"nic":   schema.StringAttribute{Optional: true},
			}}},
			"device": deviceBlock(), "file": fileBlock(),
		},
	}
}

// ModifyPlan has an instance of which nobody says otherwise use the profile that
// every project has.
func (*instance) ModifyPlan(ctx context.Context, q resource.ModifyPlanRequest, r *resource.ModifyPlanResponse) {
	if q.Config.Raw.IsNull() {
		return
	}
	var profiles types.List
	r.Diagnostics.Append(q.Config.GetAttribute(ctx, path.Root("profiles"), &profiles)...)
	if profiles.IsNull() {
		r.Diagnostics.Append(r.Plan.SetAttribute(ctx, path.Root("profiles"), []string{"default"})...)
	}
}

// ValidateConfig refuses what does not go together.
func (*instance) ValidateConfig(ctx context.Context, q resource.ValidateConfigRequest, r *resource.ValidateConfigResponse) {
	var kind types.String
	var running types.Bool
	var ephemeral types.Bool
	var files, waits types.Set
	for name, into := range map[string]any{"type": &kind, "running": &running, "ephemeral": &ephemeral, "file": &files, "wait_for": &waits} {
		r.Diagnostics.Append(q.Config.GetAttribute(ctx, path.Root(name), into)...)
	}
	refuse := func(why string) { r.Diagnostics.AddError("Invalid Configuration", why) }
	stopped := !running.IsNull() && !running.IsUnknown() && !running.ValueBool()
	vm := kind.ValueString() == "virtual-machine"
	if stopped && ephemeral.ValueBool() {
		refuse("an ephemeral instance cannot be stopped")
	}
	if stopped && len(files.Elements()) > 0 {
		refuse("Files can only be pushed to running instances.")
	}
	agent := false
	for _, one := range waits.Elements() {
		o, _ := one.(types.Object)
		of := func(name string) string { return plain(o.Attributes()[name]) }
		agent = agent || of("type") == "agent"
		switch {
		case of("type") == "agent" && !vm:
			refuse(`"type" can only be set to "delay","ipv4" or "ipv6" when type is set to "container".`)
		case of("type") == "ready" && vm:
			refuse(`"type" can only be set to "agent","ipv4" or "ipv6" when type is set to "virtual-machine".`)
		case of("type") == "delay" && of("delay") == "":
			refuse(`"delay" is required when type is set to "delay".`)
		case of("nic") != "" && !strings.HasPrefix(of("type"), "ipv"):
			refuse(`"nic" can only be set when type is set to "ipv4" or "ipv6".`)
		}
	}
	if vm && len(files.Elements()) > 0 && !agent {
		refuse(`Wait for "agent" is required when files are uploaded to the instance.`)
	}
}

func (m *instanceModel) path(more ...string) string {
	return "/1.0/instances/" + url.PathEscape(m.Name.ValueString()) + strings.Join(more, "")
}

func (m *instanceModel) query() url.Values { return in(m.Project.ValueString()) }
