package netbox

import (
	"cmp"

	"fediversity.eu/slipway/targets/env"
)

// Keys are the coordinates of a NetBox, and of what is a deployment's in it.
type Keys struct {
	URL     env.URL      `env:"NETBOX_URL,required" desc:"address of the NetBox that holds the inventory, without /api"`
	Token   env.Secret   `env:"NETBOX_TOKEN,required" desc:"API token of NetBox that may write: nbt_KEY.TOKEN (v2), or the 40 characters of a v1 token"`
	CA      env.Text     `env:"NETBOX_CA" desc:"certificate authorities that may vouch for NetBox beside the usual ones, in PEM"`
	Tag     string       `env:"NETBOX_TAG" desc:"tag that marks what is this deployment's; by default managed-by- and the name of the group"`
	Timeout env.Duration `env:"NETBOX_TIMEOUT,default=30m" desc:"how long one run against NetBox may take"`
}

// InventoryKeys are the coordinates of what a NetBox is to hold: what only the
// caller knows, and what is called otherwise in this NetBox than the group has it.
type InventoryKeys struct {
	Domain  env.Domain `env:"DNS_DOMAIN,required" desc:"domain that the machines of the group live under"`
	Tenant  string     `env:"NETBOX_TENANT" desc:"tenant in NetBox, instead of the group's"`
	Site    string     `env:"NETBOX_SITE" desc:"site in NetBox, instead of the group's"`
	Cluster string     `env:"NETBOX_CLUSTER" desc:"cluster in NetBox, instead of the group's"`
	Prune   env.Bool   `env:"NETBOX_PRUNE,default=false" desc:"whether what bears the tag is deleted when it hangs on no machine of the group any more, such as a machine that left the group"`
}

// tag is the name of the tag that marks what belongs to a group's deployment.
func (k Keys) tag(group string) string { return cmp.Or(k.Tag, "managed-by-"+group) }
