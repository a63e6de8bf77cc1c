package shape

import "math"

// Requests about tables and their settings.

var (
	someTable     = tableName(3)
	keyName       = text(1, 255) // the name of an attribute that is part of a key
	positive      = number(longKind, 1, math.MaxInt64)
	units         = number(longKind, math.MinInt64, unbounded) // bounded later, with another message
	timeToLive    = text(1, 255)
	tableClass    = anyText // refused later, with another message
	billingMode   = enumOf("PROVISIONED", "PAY_PER_REQUEST")
	resourceARN   = text(1, 1283)
	pageOfHundred = number(integerKind, 1, 100)
	keyType       = enumOf("HASH", "RANGE")
	attributeName = text(0, 65535)

	attributeDefinitions = listOf(structure("AttributeDefinition",
		required("AttributeName", keyName),
		required("AttributeType", enumOf("B", "N", "S"))), 0, unbounded)

	keySchemaElement = structure("KeySchemaElement",
		required("AttributeName", keyName),
		required("KeyType", keyType))
	keySchema = listOf(keySchemaElement, 1, 2)
	// A global secondary index may have four attributes of each key type.
	globalKeySchema = listOf(keySchemaElement, 1, 8)

	projection = structure("Projection",
		member("ProjectionType", enumOf("ALL", "INCLUDE", "KEYS_ONLY")),
		member("NonKeyAttributes", listOf(text(1, 255), 1, 20)))

	provisionedThroughput = structure("ProvisionedThroughput",
		required("WriteCapacityUnits", positive),
		required("ReadCapacityUnits", positive))
	onDemandThroughput = structure("OnDemandThroughput",
		member("MaxReadRequestUnits", units),
		member("MaxWriteRequestUnits", units))
	warmThroughput = structure("WarmThroughput",
		member("ReadUnitsPerSecond", units),
		member("WriteUnitsPerSecond", units))

	streamSpecification = structure("StreamSpecification",
		required("StreamEnabled", flag),
		member("StreamViewType", enumOf("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")))
	sseSpecification = structure("SSESpecification",
		member("Enabled", flag),
		member("SSEType", enumOf("AES256", "KMS")),
		member("KMSMasterKeyId", text(1, unbounded)))

	tags = listOf(structure("Tag", // checked later, with other messages
		member("Key", anyText),
		member("Value", anyText)), 0, unbounded)
)

func createTable() *shape {
	return structure("CreateTableInput",
		required("AttributeDefinitions", attributeDefinitions),
		required("TableName", someTable),
		member("ProvisionedThroughput", provisionedThroughput),
		required("KeySchema", keySchema),
		member("BillingMode", billingMode),
		member("GlobalSecondaryIndexes", listOf(structure("GlobalSecondaryIndex",
			required("Projection", projection),
			required("IndexName", indexName),
			member("ProvisionedThroughput", provisionedThroughput),
			required("KeySchema", globalKeySchema),
			member("OnDemandThroughput", onDemandThroughput),
			member("WarmThroughput", warmThroughput)), 0, unbounded)),
		member("LocalSecondaryIndexes", listOf(structure("LocalSecondaryIndex",
			required("Projection", projection),
			required("IndexName", indexName),
			required("KeySchema", keySchema)), 0, unbounded)),
		member("StreamSpecification", streamSpecification),
		member("SSESpecification", sseSpecification),
		member("Tags", tags),
		member("TableClass", tableClass),
		member("DeletionProtectionEnabled", flag),
		member("OnDemandThroughput", onDemandThroughput),
		member("WarmThroughput", warmThroughput),
		member("ResourcePolicy", anyText),
		member("VectorIndexes", listOf(vectorIndex("VectorIndex"), 0, unbounded)))
}

// vectorIndex returns the shape of a vector index in a request that creates it.
func vectorIndex(class string) *shape {
	return structure(class,
		required("Projection", projection),
		required("IndexName", indexName),
		required("VectorAttribute", structure("VectorAttributeDefinition", required("AttributeName", attributeName))),
		required("Dimensions", number(longKind, 1, unbounded)),
		required("DistanceFunction", enumOf("COSINE", "DOT_PRODUCT", "EUCLIDEAN")),
		member("SearchSchema", listOf(structure("SearchSchemaElement",
			required("AttributeName", attributeName),
			required("SearchSchemaElementType", enumOf("HASH", "INLINE_FILTER"))), 1, unbounded)))
}

func updateTable() *shape {
	return structure("UpdateTableInput",
		member("AttributeDefinitions", attributeDefinitions),
		required("TableName", someTable),
		member("BillingMode", billingMode),
		member("ProvisionedThroughput", provisionedThroughput),
		member("GlobalSecondaryIndexUpdates", listOf(structure("GlobalSecondaryIndexUpdate",
			member("Update", structure("UpdateGlobalSecondaryIndexAction",
				required("IndexName", indexName),
				member("ProvisionedThroughput", provisionedThroughput),
				member("OnDemandThroughput", onDemandThroughput),
				member("WarmThroughput", warmThroughput))),
			member("Create", structure("CreateGlobalSecondaryIndexAction",
				required("Projection", projection),
				required("IndexName", indexName),
				member("ProvisionedThroughput", provisionedThroughput),
				required("KeySchema", globalKeySchema),
				member("OnDemandThroughput", onDemandThroughput),
				member("WarmThroughput", warmThroughput))),
			member("Delete", structure("DeleteGlobalSecondaryIndexAction",
				required("IndexName", indexName)))), 0, unbounded)),
		member("StreamSpecification", streamSpecification),
		member("SSESpecification", sseSpecification),
		member("ReplicaUpdates", listOf(structure("ReplicationGroupUpdate",
			member("Create", replica("CreateReplicationGroupMemberAction")),
			member("Update", replica("UpdateReplicationGroupMemberAction")),
			member("Delete", replica("DeleteReplicationGroupMemberAction"))), 1, unbounded)),
		member("TableClass", tableClass),
		member("DeletionProtectionEnabled", flag),
		member("OnDemandThroughput", onDemandThroughput),
		member("WarmThroughput", warmThroughput),
		member("VectorIndexUpdates", listOf(structure("VectorIndexUpdate",
			member("Create", vectorIndex("CreateVectorIndexAction")),
			member("Delete", structure("DeleteVectorIndexAction", required("IndexName", indexName)))), 0, unbounded)))
}

// replica returns the shape of a change of one replica.
func replica(class string) *shape { return structure(class, required("RegionName", anyText)) }

// onTable returns the shape of requests that only name a table.
func onTable(class string, more ...field) *shape {
	return structure(class, append([]field{required("TableName", someTable)}, more...)...)
}

func deleteTable() *shape { return onTable("DeleteTableInput") }

func describeTable() *shape { return onTable("DescribeTableInput") }

func describeTimeToLive() *shape { return onTable("DescribeTimeToLiveInput") }

func describeContinuousBackups() *shape { return onTable("DescribeContinuousBackupsInput") }

func updateContinuousBackups() *shape {
	return onTable("UpdateContinuousBackupsInput",
		required("PointInTimeRecoverySpecification", structure("PointInTimeRecoverySpecification",
			required("PointInTimeRecoveryEnabled", flag),
			member("RecoveryPeriodInDays", number(integerKind, 1, 35)))))
}

func updateTimeToLive() *shape {
	return onTable("UpdateTimeToLiveInput",
		required("TimeToLiveSpecification", structure("TimeToLiveSpecification",
			required("AttributeName", timeToLive),
			required("Enabled", flag))))
}

func listTables() *shape {
	return structure("ListTablesInput",
		member("ExclusiveStartTableName", indexName),
		member("Limit", pageOfHundred))
}

func tagResource() *shape {
	return structure("TagResourceInput",
		required("ResourceArn", resourceARN),
		required("Tags", tags))
}

func untagResource() *shape {
	return structure("UntagResourceInput",
		required("ResourceArn", resourceARN),
		required("TagKeys", listOf(anyText, 0, unbounded)))
}

func listTagsOfResource() *shape {
	return structure("ListTagsOfResourceInput",
		required("ResourceArn", resourceARN),
		member("NextToken", anyText))
}

func describeLimits() *shape { return structure("DescribeLimitsInput") }

func describeEndpoints() *shape { return structure("DescribeEndpointsRequest") }
