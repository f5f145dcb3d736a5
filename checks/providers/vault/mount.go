package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/checks/providers/legacy"
	"fediversity.eu/slipway/internal/wait"
)

// mount is vault_mount.
type mount struct{ *api }

type model struct {
	ID                types.String `tfsdk:"id"`
	Path              types.String `tfsdk:"path"`
	Type              types.String `tfsdk:"type"`
	Options           types.Map    `tfsdk:"options"`
	Accessor          types.String `tfsdk:"accessor"`
	Namespace         types.String `tfsdk:"namespace"`
	Description       types.String `tfsdk:"description"`
	DefaultTTL        types.Int64  `tfsdk:"default_lease_ttl_seconds"`
	MaxTTL            types.Int64  `tfsdk:"max_lease_ttl_seconds"`
	NoCache           types.Bool   `tfsdk:"force_no_cache"`
	RequestKeys       types.List   `tfsdk:"audit_non_hmac_request_keys"`
	ResponseKeys      types.List   `tfsdk:"audit_non_hmac_response_keys"`
	Visibility        types.String `tfsdk:"listing_visibility"`
	RequestHeaders    types.List   `tfsdk:"passthrough_request_headers"`
	ResponseHeaders   types.List   `tfsdk:"allowed_response_headers"`
	PluginVersion     types.String `tfsdk:"plugin_version"`
	ManagedKeys       types.Set    `tfsdk:"allowed_managed_keys"`
	DelegatedAccessor types.List   `tfsdk:"delegated_auth_accessors"`
	IdentityTokenKey  types.String `tfsdk:"identity_token_key"`
	SealWrap          types.Bool   `tfsdk:"seal_wrap"`
	Entropy           types.Bool   `tfsdk:"external_entropy_access"`
	Local             types.Bool   `tfsdk:"local"`
}

func (*mount) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "vault_mount"
}

func (*mount) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	idle, read := legacy.As{Optional: true, Idle: true}, legacy.As{Optional: true, Computed: true, Idle: true}
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": legacy.String(legacy.ID), "accessor": legacy.String(legacy.As{Computed: true}),
		"path": legacy.String(legacy.As{Required: true}), "type": legacy.String(legacy.As{Required: true, ForceNew: true}),
		"options":     legacy.Map(legacy.As{Optional: true}),
		"namespace":   legacy.String(legacy.As{Optional: true, Idle: true, ForceNew: true}),
		"description": legacy.String(idle), "default_lease_ttl_seconds": legacy.Int(read), "max_lease_ttl_seconds": legacy.Int(read),
		"force_no_cache": legacy.Bool(read), "audit_non_hmac_request_keys": legacy.List(read), "audit_non_hmac_response_keys": legacy.List(read),
		"listing_visibility": legacy.String(idle), "passthrough_request_headers": legacy.List(idle), "allowed_response_headers": legacy.List(idle),
		"plugin_version": legacy.String(idle), "allowed_managed_keys": legacy.Set(idle), "delegated_auth_accessors": legacy.List(idle),
		"identity_token_key": legacy.String(idle),
		"seal_wrap":          legacy.Bool(legacy.As{Optional: true, Computed: true, Idle: true, ForceNew: true}),
		"external_entropy_access": legacy.Bool(legacy.As{
			Optional: true, Idle: true, ForceNew: true, Default: types.BoolValue(false),
		}),
		"local": legacy.Bool(legacy.As{Optional: true, Idle: true, ForceNew: true}),
	}}
}

func (o *mount) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.api, _ = q.ProviderData.(*api)
}

// sync reads what is there.
func (o *mount) sync(ctx context.Context, m *model) error {
	var there struct {
		Type, Description, Accessor string
		Options                     map[string]string
		Local                       bool
		SealWrap                    bool `json:"seal_wrap"`
		Entropy                     bool `json:"external_entropy_access"`
		Config                      struct {
			Default    int64  `json:"default_lease_ttl"`
			Max        int64  `json:"max_lease_ttl"`
			NoCache    bool   `json:"force_no_cache"`
			Visibility string `json:"listing_visibility"`
		}
	}
	if err := o.call(ctx, http.MethodGet, "sys/mounts/"+m.ID.ValueString(), nil, &there); err != nil {
		return err
	}
	if m.Type.ValueString() == "kv-v2" && there.Type == "kv" && there.Options["version"] == "2" {
		there.Type = "kv-v2" // another name of it
		if m.given(ctx)["version"] == "" {
			delete(there.Options, "version")
		}
	}
	if len(there.Options) > 0 || !m.Options.IsNull() {
		options, faults := types.MapValueFrom(ctx, types.StringType, there.Options)
		if faults.HasError() {
			return errors.New(faults.Errors()[0].Detail())
		}
		m.Options = options
	}
	m.Path, m.Type, m.Accessor = m.ID, types.StringValue(there.Type), types.StringValue(there.Accessor)
	m.Description, m.Visibility = types.StringValue(there.Description), types.StringValue(there.Config.Visibility)
	m.DefaultTTL, m.MaxTTL = types.Int64Value(there.Config.Default), types.Int64Value(there.Config.Max)
	m.NoCache, m.SealWrap = types.BoolValue(there.Config.NoCache), types.BoolValue(there.SealWrap)
	m.Entropy, m.Local = types.BoolValue(there.Entropy), types.BoolValue(there.Local)
	m.IdentityTokenKey = types.StringValue("")
	m.RequestKeys, m.ResponseKeys = types.ListValueMust(types.StringType, nil), types.ListValueMust(types.StringType, nil)
	return nil
}

// empties are collections that stay unset in the run that made it, and read as empty.
func (m *model) empties() {
	if m.Options.IsNull() {
		m.Options = types.MapValueMust(types.StringType, nil)
	}
	none := types.ListValueMust(types.StringType, nil)
	m.RequestHeaders, m.ResponseHeaders, m.DelegatedAccessor = none, none, none
	m.ManagedKeys = types.SetValueMust(types.StringType, nil)
}

func (m *model) given(ctx context.Context) map[string]string {
	all := map[string]string{}
	m.Options.ElementsAs(ctx, &all, false)
	return all
}

func (o *mount) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan model
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	if r.Diagnostics.HasError() {
		return
	}
	err := o.call(ctx, http.MethodPost, "sys/mounts/"+plan.Path.ValueString(),
		map[string]any{"type": plan.Type.ValueString(), "options": plan.given(ctx)}, nil)
	if err == nil {
		plan.ID = plan.Path
		err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error writing to Vault", err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *mount) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	switch err := o.sync(ctx, &state); {
	case errors.Is(err, errAbsent):
		r.State.RemoveResource(ctx)
	case err != nil:
		r.Diagnostics.AddError("read mount", err.Error())
	default:
		state.empties()
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

// Update moves the mount in place, and tunes it whatever has changed.
func (o *mount) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, state model
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if r.Diagnostics.HasError() {
		return
	}
	var err error
	if !plan.Path.Equal(state.Path) {
		if err = o.move(ctx, state.ID.ValueString(), plan.Path.ValueString()); err == nil {
			plan.ID = plan.Path
		}
	}
	if err == nil {
		err = o.call(ctx, http.MethodPost, "sys/mounts/"+plan.ID.ValueString()+"/tune", map[string]any{
			"default_lease_ttl": fmt.Sprintf("%ds", plan.DefaultTTL.ValueInt64()), "max_lease_ttl": fmt.Sprintf("%ds", plan.MaxTTL.ValueInt64()),
			"options": plan.given(ctx),
		}, nil)
	}
	if err == nil {
		err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error updating Vault", err.Error())
	}
	// The older SDK keeps what was planned where an update fails.
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

// move waits until the server has moved it.
func (o *mount) move(ctx context.Context, from, to string) error {
	var begun struct {
		ID string `json:"migration_id"`
	}
	if err := o.call(ctx, http.MethodPost, "sys/remount", map[string]string{"from": from, "to": to}, &begun); err != nil {
		return err
	}
	return wait.For{What: "the mount to be moved", Limit: 5 * time.Minute}.Until(ctx, func(ctx context.Context) error {
		var now struct {
			Info struct {
				Status string `json:"status"`
			} `json:"migration_info"`
		}
		err := o.call(ctx, http.MethodGet, "sys/remount/status/"+begun.ID, nil, &now)
		switch {
		case err != nil:
			return wait.Stop(err)
		case now.Info.Status == "failure":
			return wait.Stop(fmt.Errorf("moving mount %s to %s: it failed", from, to))
		case now.Info.Status != "success":
			return errors.New(now.Info.Status)
		}
		return nil
	})
}

func (o *mount) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if err := o.call(ctx, http.MethodDelete, "sys/mounts/"+state.ID.ValueString(), nil, nil); err != nil {
		r.Diagnostics.AddError("error deleting from Vault", err.Error())
	}
}

func (*mount) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
