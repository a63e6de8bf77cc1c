package catalog

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// UpdateRequest is an UpdateTable request that has passed the checks which need no table.
type UpdateRequest struct {
	definitions definitions
	defined     bool // the request has AttributeDefinitions
	billing     Billing
	throughput  *Throughput
	indexes     []indexUpdate
	vectors     []vectorUpdate
	stream      *streamSpec
	encryption  *encryptionSpec
	class       string
	protected   *bool
	demand      onDemandSpec
	warm        warmSpec
	present     presence
}

// presence records the members that a request has.
type presence struct {
	billing, throughput, indexes, stream, encryption, replicas, class, protected, demand, warm bool
}

// indexUpdate is an element of GlobalSecondaryIndexUpdates: one of three.
type indexUpdate struct {
	create *indexSpec
	change *indexSpec // without schema and projection
	remove string
}

func (u *indexUpdate) name() string {
	switch {
	case u.create != nil:
		return u.create.name
	case u.change != nil:
		return u.change.name
	}
	return u.remove
}

// nothingToDo lists the changes that UpdateTable supports, as the service does.
const nothingToDo = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, " +
	"SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, " +
	"DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"

// ReadUpdate reads the body of an UpdateTable request and makes all checks that need no
// table.
func ReadUpdate(body []byte, p Place) (*UpdateRequest, error) {
	m, err := members(body, "AttributeDefinitions", "BillingMode", "ProvisionedThroughput", "GlobalSecondaryIndexUpdates",
		"StreamSpecification", "SSESpecification", "ReplicaUpdates", "TableClass", "DeletionProtectionEnabled",
		"OnDemandThroughput", "WarmThroughput", "MultiRegionConsistency", "GlobalTableWitnessUpdates", "GlobalTableSettingsReplicationMode",
		"VectorIndexUpdates")
	if err != nil {
		return nil, err
	}
	updates, vectors := elements(m[3]), elements(m[14])
	r := &UpdateRequest{
		defined: m[0] != nil, billing: Billing(text(m[1])), class: text(m[7]),
		present: presence{
			billing: m[1] != nil, throughput: m[2] != nil, indexes: len(updates)+len(vectors) > 0, stream: m[4] != nil, encryption: m[5] != nil,
			replicas: m[6] != nil || m[11] != nil || m[12] != nil || m[13] != nil,
			class:    m[7] != nil, protected: m[8] != nil, demand: m[9] != nil, warm: m[10] != nil,
		},
	}
	switch lone := (presence{replicas: true}); {
	case r.present == (presence{}):
		return nil, wire.Invalid(nothingToDo)
	case r.present == lone && m[6] == nil && m[11] != nil:
		return nil, wire.Invalid("%s", strings.Replace(nothingToDo, "MultiRegionConsistency, ", "", 1))
	}
	if r.throughput, err = readThroughput(m[2]); err != nil {
		return nil, err
	}
	if err := r.throughput.checkBounds(""); err != nil {
		return nil, err
	}
	if r.present.replicas {
		return nil, refuseReplicas(m[6], p)
	}
	if m[3] != nil && len(updates) == 0 {
		return nil, invalid("List of GlobalSecondaryIndexUpdates is empty")
	}
	if err := r.readIndexUpdates(updates); err != nil {
		return nil, err
	}
	if err := r.readVectorUpdates(m[14]); err != nil {
		return nil, err
	}
	if err := r.readFeatures(m[0], m[4], m[5], m[9], m[10], p); err != nil {
		return nil, err
	}
	if m[8] != nil {
		protected := flag(m[8])
		r.protected = &protected
	}
	return r, r.checkAlone()
}

// refuseReplicas returns the reason why a table can't be made global.
func refuseReplicas(v []byte, p Place) error {
	for _, e := range elements(v) {
		actions, err := members(e, "Create", "Update", "Delete")
		if err != nil {
			return err
		}
		for _, action := range actions {
			if action == nil {
				continue
			}
			m, err := members(action, "RegionName")
			if err != nil {
				return err
			}
			if region := text(m[0]); region != p.Region {
				return wire.Invalid("Region %s is not supported. "+
					"The latest version of global tables are only supported in the following regions: [%s]", region, p.Region)
			}
		}
	}
	return wire.Invalid("Cannot add or delete the local region through ReplicaUpdates. " +
		"Use CreateTable, DeleteTable, or UpdateTable as required.")
}

func (r *UpdateRequest) readIndexUpdates(updates [][]byte) error {
	seen := map[string]bool{}
	for _, e := range updates {
		m, err := members(e, "Create", "Update", "Delete")
		if err != nil {
			return err
		}
		u, n := indexUpdate{}, 0
		for i, v := range m {
			if v == nil {
				continue
			}
			n++
			if err := u.read(i, v); err != nil {
				return err
			}
		}
		switch {
		case n == 0:
			return invalid("One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, " +
				"GlobalSecondaryIndexUpdate.Delete must not be null")
		case n > 1:
			return invalid("Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
		case seen[u.name()]:
			return invalid("Only one global secondary index update per index is allowed simultaneously. Index: %s", u.name())
		}
		seen[u.name()] = true
		r.indexes = append(r.indexes, u)
	}
	return nil
}

// read reads the action; action is its index among Create, Update and Delete.
func (u *indexUpdate) read(action int, v []byte) error {
	switch action {
	case 0:
		x, err := readIndex(v, false)
		u.create = &x
		return err
	case 1:
		m, err := members(v, "IndexName", "ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
		if err != nil {
			return err
		}
		u.change = &indexSpec{name: text(m[0])}
		if err := u.change.readCapacity(m[1], m[2], m[3]); err != nil {
			return err
		}
		if w := u.change.warm; w.requested != nil && w.given == [2]bool{} {
			return invalid("WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index: %s", u.change.name)
		}
		return nil
	}
	m, err := members(v, "IndexName")
	if err != nil {
		return err
	}
	u.remove = text(m[0])
	return nil
}

// readFeatures reads the members that are not about capacity or indexes.
func (r *UpdateRequest) readFeatures(defs, stream, encryption, onDemand, warm []byte, p Place) (err error) {
	if r.definitions, err = readDefinitions(defs); err != nil {
		return err
	}
	if r.stream, err = readStreamSpec(stream); err != nil {
		return err
	}
	if err := r.stream.checkChange(); err != nil {
		return err
	}
	if r.encryption, err = readEncryption(encryption, p); err != nil {
		return err
	}
	if err := r.encryption.check(); err != nil {
		return err
	}
	if err := checkClass(r.class); err != nil {
		return err
	}
	if r.demand, err = readOnDemand(onDemand, "table", ""); err != nil {
		return err
	}
	r.warm, err = readWarm(warm, "table")
	return err
}

// checkAlone checks that the request makes one change, or changes that the service allows
// together.
func (r *UpdateRequest) checkAlone() error {
	p := r.present
	iops := p.throughput || r.billing == Provisioned
	rest := p
	rest.protected, rest.class, rest.encryption, rest.warm = false, false, false, false
	others := rest != presence{}
	alone := 0
	for _, there := range []bool{p.protected, p.class, p.encryption, p.warm} {
		if there {
			alone++
		}
	}
	if alone > 1 || alone == 1 && others {
		switch {
		case p.encryption:
			return invalid("Server-Side Encryption modification must be the only operation in the request")
		case p.class:
			return invalid("TableClass modification must be the only operation in the request")
		case p.protected:
			return invalid("DeletionProtection modification must be the only operation in the request")
		case r.changesIndexes():
			return invalid("Create global secondary index cannot be specified when updating WarmThroughput")
		}
		return invalid("WarmThroughput must be the only operation in the request")
	}
	switch {
	case p.demand && (p.stream || p.throughput || p.indexes):
		return invalid("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
	case p.stream && iops:
		return invalid("You cannot modify stream status while updating table IOPS")
	case r.changesIndexes() && p.throughput:
		return invalid("You cannot create or delete index while updating table IOPS")
	case r.changesIndexes() && p.stream:
		return invalid("You cannot create or delete index while changing stream status")
	case r.billing == PayPerRequest && p.throughput:
		return invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case r.billing == Provisioned && !p.throughput:
		return invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	}
	return nil
}

func (r *UpdateRequest) changesIndexes() bool { return r.countIndexChanges() > 0 }

// countIndexChanges returns the number of indexes that are created or deleted.
func (r *UpdateRequest) countIndexChanges() int {
	n := len(r.vectors)
	for i := range r.indexes {
		if r.indexes[i].change == nil {
			n++
		}
	}
	return n
}

// pending returns the names of the table's global indexes for which the request has no
// capacity.
func (r *UpdateRequest) pending(t *Table) string {
	var names []string
	for _, x := range t.Indexes {
		if !x.Local && r.changeOf(x.Name) == nil {
			names = append(names, x.Name)
		}
	}
	return strings.Join(names, ",")
}

// changeOf returns the request's capacity for the index called name; nil for none.
func (r *UpdateRequest) changeOf(name string) *Throughput {
	for i := range r.indexes {
		if c := r.indexes[i].change; c != nil && c.name == name {
			return c.throughput
		}
	}
	return nil
}
